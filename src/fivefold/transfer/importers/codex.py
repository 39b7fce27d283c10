"""Lines of a transcript of Codex: envelopes with a time, a type and a payload. Items of a response are the messages."""

from __future__ import annotations

from fivefold.transfer.importers.import_log import ImportLog
from fivefold.values.serialize import Json

_ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_INSERTED = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<skill>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
)
"""How a message begins that the program writes in the user's name."""


def message_of(line: Json, log: ImportLog) -> Json | None:
    payload = line.get("payload")
    if line.get("type") != "response_item" or not isinstance(payload, dict):
        return None
    if payload.get("role") == "user" and _first_text(payload).startswith(_INSERTED):
        log.left_out["messages of the program"] += 1
        return None
    return {**payload, "timestamp": line.get("timestamp")}


def session_of(line: Json) -> str | None:
    payload = line.get("payload")
    session = payload.get("id") if line.get("type") == "session_meta" and isinstance(payload, dict) else None
    return session if isinstance(session, str) and session else None


def is_line(line: Json) -> bool:
    """Whether a line is one of these transcripts."""
    return line.get("type") in _ENVELOPES and isinstance(line.get("payload"), dict)


def _first_text(payload: Json) -> str:
    content = payload.get("content")
    part = content[0] if isinstance(content, list) and content else content
    text = part.get("text") if isinstance(part, dict) else part
    return text.lstrip() if isinstance(text, str) else ""
