"""Lines of a transcript of Cursor: a role and a message with parts, without ids and times."""

from __future__ import annotations

import re

from fivefold.transfer.importers.import_log import ImportLog
from fivefold.values.serialize import Json

_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
"""What the user typed, among what the program adds to it."""


def message_of(line: Json, log: ImportLog) -> Json | None:
    message = line.get("message")
    if line.get("role") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    content = message.get("content")
    if line["role"] == "user" and isinstance(content, list):
        content = [_typed(part) for part in content]
    return {"role": line["role"], "content": content}


def session_of(line: Json) -> str | None:
    """A line names no session; the file's name does."""
    return None


def is_line(line: Json) -> bool:
    """Whether a line is one of these transcripts."""
    message = line.get("message")
    return line.get("role") in ("user", "assistant") and isinstance(message, dict) and "content" in message


def _typed(part: object) -> object:
    text = part.get("text") if isinstance(part, dict) else None
    found = _QUERY.findall(text) if isinstance(text, str) else []
    return {"type": "text", "text": "\n".join(found)} if found else part
