"""Transcripts of coding agents: JSON lines that an agent appends to while it works, one file for each session."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.sources import ImportLog, matching_files, open_source_file, source_id
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.writing.messages import MessageReader

# Lines of a transcript of Claude Code: a message in each, with an id, a time and its session.

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


# Lines of a transcript of Codex: envelopes with a time, a type and a payload. Items of a response are the messages.

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


def codex_message_of(line: Json, log: ImportLog) -> Json | None:
    payload = line.get("payload")
    if line.get("type") != "response_item" or not isinstance(payload, dict):
        return None
    if payload.get("role") == "user" and _first_text(payload).startswith(_INSERTED):
        log.left_out["messages of the program"] += 1
        return None
    return {**payload, "timestamp": line.get("timestamp")}


def codex_session_of(line: Json) -> str | None:
    payload = line.get("payload")
    session = payload.get("id") if line.get("type") == "session_meta" and isinstance(payload, dict) else None
    return session if isinstance(session, str) and session else None


def codex_is_line(line: Json) -> bool:
    """Whether a line is one of these transcripts."""
    return line.get("type") in _ENVELOPES and isinstance(line.get("payload"), dict)


def _first_text(payload: Json) -> str:
    content = payload.get("content")
    part = content[0] if isinstance(content, list) and content else content
    text = part.get("text") if isinstance(part, dict) else part
    return text.lstrip() if isinstance(text, str) else ""


# Lines of a transcript of Cursor: a role and a message with parts, without ids and times.

_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
"""What the user typed, among what the program adds to it."""


def cursor_message_of(line: Json, log: ImportLog) -> Json | None:
    message = line.get("message")
    if line.get("role") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    content = message.get("content")
    if line["role"] == "user" and isinstance(content, list):
        content = [_typed(part) for part in content]
    return {"role": line["role"], "content": content}


def cursor_session_of(line: Json) -> str | None:
    """A line names no session; the file's name does."""
    return None


def cursor_is_line(line: Json) -> bool:
    """Whether a line is one of these transcripts."""
    message = line.get("message")
    return line.get("role") in ("user", "assistant") and isinstance(message, dict) and "content" in message


def _typed(part: object) -> object:
    text = part.get("text") if isinstance(part, dict) else None
    found = _QUERY.findall(text) if isinstance(text, str) else []
    return {"type": "text", "text": "\n".join(found)} if found else part


MOST_LINE = 50_000_000
"""Bytes of a line; one that is longer, such as an image in full, is left out."""


@dataclass(frozen=True, slots=True)
class TranscriptFormat:
    """How an agent writes its transcripts."""

    source: str
    message_of: Callable[[Json, ImportLog], Json | None]
    """The message in a line, or None after counting what it is instead."""
    session_of: Callable[[Json], str | None]
    """The session that a line names."""
    resumes: bool
    """Whether lines have ids or times, so that reading may go on where it ended before."""


CLAUDE_CODE = TranscriptFormat("claude-code", message_of, session_of, True)
CODEX = TranscriptFormat("codex", codex_message_of, codex_session_of, True)
CURSOR = TranscriptFormat("cursor", cursor_message_of, cursor_session_of, False)

TRANSCRIPTS = {known.source: known for known in (CLAUDE_CODE, CODEX, CURSOR)}


@dataclass(frozen=True, slots=True)
class TranscriptPart:
    """The messages of a transcript from some byte on, and the byte after the last whole line."""

    messages: list[Json]
    session: str | None
    end: int


def reader_of(kind: TranscriptFormat) -> Callable[[Path, ImportLog], Iterator[Record]]:
    """Reads a transcript, or a folder of them, as an import does."""

    def read(path: Path, log: ImportLog) -> Iterator[Record]:
        names = matching_files(path, "*.jsonl", log)
        if not names:
            raise InvalidFile(path, "holds no .jsonl file")
        for name in names:
            yield from _session(path, name, kind, log)

    return read


def _session(path: Path, name: str, kind: TranscriptFormat, log: ImportLog) -> Iterator[Record]:
    log.parts += 1
    reader = MessageReader(log.settings)
    with open_source_file(path, name) as (stream, label):
        try:
            part = read_part(stream, kind, log)
            session = part.session or _session_in_name(name or path.name)
            turns = reader.conversation(part.messages, session_id(kind.source, session))
        except InvalidInput as error:
            log.skip(label, "", error)
            return
    log.left_out += reader.left_out
    yield from turns


def read_part(stream: BinaryIO, kind: TranscriptFormat, log: ImportLog, start: int = 0) -> TranscriptPart:
    """The messages from `start` on. A last line that is still being written is left for the next time."""
    stream.seek(start)
    messages: list[Json] = []
    session: str | None = None
    end = start
    while line := stream.readline(MOST_LINE):
        if not line.endswith(b"\n"):
            if len(line) == MOST_LINE:
                log.left_out["lines that are too long"] += 1
                end += len(line) + _skip_line(stream)
                continue
            if _parsed(line) is None:
                break
        end += len(line)
        data = _parsed(line)
        if data is None:
            log.left_out["lines that are no JSON object"] += bool(line.strip())
            continue
        session = session or kind.session_of(data)
        message = kind.message_of(data, log)
        if message is not None:
            messages.append(message)
    return TranscriptPart(messages, session, end)


def session_id(source: str, session: str) -> str:
    """The session of a transcript has the same id here, whether a hook or an import reads it."""
    return source_id(source, session)


def _session_in_name(name: str) -> str:
    return PurePosixPath(name).stem


def _skip_line(stream: BinaryIO) -> int:
    skipped = 0
    while chunk := stream.readline(MOST_LINE):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped


def _parsed(line: bytes) -> Json | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
