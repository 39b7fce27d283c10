"""Lines of a transcript of Claude Code: a message in each, with an id, a time and its session."""

from __future__ import annotations

from fivefold.transfer.importers.import_log import ImportLog
from fivefold.values.serialize import Json

_MARKS = {
    "isSidechain": "messages of subagents",
    "isMeta": "messages of the program",
    "isCompactSummary": "summaries",
    "isApiErrorMessage": "errors of the service",
}
"""Marks of lines that neither the user nor the agent says in this session."""

_COMMANDS = (
    "<command-",
    "<local-command",
    "<bash-",
    "<system-reminder>",
    "<task-notification>",
    "[Request interrupted",
)
"""How a text begins that a command of the program leaves in the transcript."""


def message_of(line: Json, log: ImportLog) -> Json | None:
    message = line.get("message")
    if line.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    mark = next((name for name in _MARKS if line.get(name)), None)
    content = message.get("content")
    if mark is not None:
        log.left_out[_MARKS[mark]] += 1
        return None
    if isinstance(content, str) and content.lstrip().startswith(_COMMANDS):
        log.left_out["commands of the program"] += 1
        return None
    return {"role": line["type"], "content": content, "id": line.get("uuid"), "timestamp": line.get("timestamp")}


def session_of(line: Json) -> str | None:
    session = line.get("sessionId")
    return session if isinstance(session, str) and session else None


def is_line(line: Json) -> bool:
    """Whether a line is one of these transcripts."""
    return "sessionId" in line and isinstance(line.get("type"), str)
