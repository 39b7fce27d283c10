"""Transcripts of coding agents: JSON lines that an agent appends to while it works, one file for each session."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, ClassVar

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.sources import ImportLog, json_object, matching_files, open_source_file, source_id
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.writing.messages import MessageReader


class TranscriptFormat(ABC):
    """The form of an agent's transcripts."""

    source: str
    label: str
    resumes: bool
    """True if lines have ids or times, so that reading may continue from the last end."""

    @abstractmethod
    def is_line(self, line: Json) -> bool:
        """True if a line is one of these transcripts."""

    @abstractmethod
    def message_of(self, line: Json, log: ImportLog) -> Json | None:
        """The message in a line, or None after counting what it is instead."""

    @abstractmethod
    def session_of(self, line: Json) -> str | None:
        """The session that a line names."""

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]:
        """The turns of a transcript, or of a folder of them."""
        names = matching_files(path, "*.jsonl", log)
        if not names:
            raise InvalidFile(path, "holds no .jsonl file")
        for name in names:
            log.parts += 1
            reader = MessageReader(log.settings)
            with open_source_file(path, name) as (stream, label):
                try:
                    part = read_part(stream, self, log)
                    session = part.session or PurePosixPath(name or path.name).stem
                    turns = reader.conversation(part.messages, session_id(self.source, session))
                except InvalidInput as error:
                    log.skip(label, "", error)
                    continue
            log.left_out += reader.left_out
            yield from turns


class ClaudeCode(TranscriptFormat):
    """A message in each line, with an id, a time and its session."""

    source: str = "claude-code"
    label: str = "transcripts of Claude Code"
    resumes: bool = True
    _marks: ClassVar = {
        "isSidechain": "messages of subagents",
        "isMeta": "messages of the program",
        "isCompactSummary": "summaries",
        "isApiErrorMessage": "errors of the service",
    }
    """Marks of lines that neither the user nor the agent says in this session."""
    _commands = (
        "<command-",
        "<local-command",
        "<bash-",
        "<system-reminder>",
        "<task-notification>",
        "[Request interrupted",
    )
    """Beginnings of a text that a command of the program leaves in the transcript."""

    def is_line(self, line: Json) -> bool:
        return "sessionId" in line and isinstance(line.get("type"), str)

    def message_of(self, line: Json, log: ImportLog) -> Json | None:
        message = line.get("message")
        if line.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            return None
        content = message.get("content")
        kind = next((what for name, what in self._marks.items() if line.get(name)), None)
        if kind is None and isinstance(content, str) and content.lstrip().startswith(self._commands):
            kind = "commands of the program"
        if kind is not None:
            log.left_out[kind] += 1
            return None
        return {"role": line["type"], "content": content, "id": line.get("uuid"), "timestamp": line.get("timestamp")}

    def session_of(self, line: Json) -> str | None:
        session = line.get("sessionId")
        return session if isinstance(session, str) and session else None


class Codex(TranscriptFormat):
    """Envelopes with a time, a type and a payload. Items of a response are the messages."""

    source: str = "codex"
    label: str = "transcripts of Codex"
    resumes: bool = True
    _envelopes = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
    _inserted = (
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
    """Beginnings of a message that the program writes in the user's name."""

    def is_line(self, line: Json) -> bool:
        return line.get("type") in self._envelopes and isinstance(line.get("payload"), dict)

    def message_of(self, line: Json, log: ImportLog) -> Json | None:
        payload = line.get("payload")
        if line.get("type") != "response_item" or not isinstance(payload, dict):
            return None
        content = payload.get("content")
        part = content[0] if isinstance(content, list) and content else content
        text = part.get("text") if isinstance(part, dict) else part
        if payload.get("role") == "user" and isinstance(text, str) and text.lstrip().startswith(self._inserted):
            log.left_out["messages of the program"] += 1
            return None
        return {**payload, "timestamp": line.get("timestamp")}

    def session_of(self, line: Json) -> str | None:
        payload = line.get("payload")
        session = payload.get("id") if line.get("type") == "session_meta" and isinstance(payload, dict) else None
        return session if isinstance(session, str) and session else None


class Cursor(TranscriptFormat):
    """A role and a message with parts in each line, without ids and times. The file's name is the session."""

    source: str = "cursor"
    label: str = "transcripts of Cursor"
    resumes: bool = False
    _query = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
    """The text that the user typed, inside the program's additions."""

    def is_line(self, line: Json) -> bool:
        message = line.get("message")
        return line.get("role") in ("user", "assistant") and isinstance(message, dict) and "content" in message

    def message_of(self, line: Json, log: ImportLog) -> Json | None:
        message = line.get("message")
        if line.get("role") not in ("user", "assistant") or not isinstance(message, dict):
            return None
        content = message.get("content")
        if line["role"] == "user" and isinstance(content, list):
            content = [self._typed(part) for part in content]
        return {"role": line["role"], "content": content}

    def session_of(self, line: Json) -> str | None:
        return None

    def _typed(self, part: object) -> object:
        text = part.get("text") if isinstance(part, dict) else None
        found = self._query.findall(text) if isinstance(text, str) else []
        return {"type": "text", "text": "\n".join(found)} if found else part


class GeminiCli(TranscriptFormat):
    """A message in each line, with an id and a time, written again when it grows; the first line names the session."""

    source: str = "gemini-cli"
    label: str = "transcripts of Gemini CLI"
    resumes: bool = True
    _inserted = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)
    """Text that hooks add to a prompt, such as memories."""

    def is_line(self, line: Json) -> bool:
        return isinstance(line.get("sessionId"), str) and "projectHash" in line

    def message_of(self, line: Json, log: ImportLog) -> Json | None:
        role = {"user": "user", "gemini": "assistant"}.get(str(line.get("type")))
        if role is None:
            return None
        content = line.get("displayContent") or line.get("content")
        parts = content if isinstance(content, list) else [content]
        texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
        text = self._inserted.sub("", "\n".join(part for part in texts if isinstance(part, str))).strip()
        log.left_out["calls of tools"] += len(line.get("toolCalls") or ())
        return (
            {"role": role, "content": text, "id": line.get("id"), "timestamp": line.get("timestamp")} if text else None
        )

    def session_of(self, line: Json) -> str | None:
        return line["sessionId"] if self.is_line(line) else None


_FORMATS: tuple[TranscriptFormat, ...] = (ClaudeCode(), Codex(), Cursor(), GeminiCli())
TRANSCRIPTS = {known.source: known for known in _FORMATS}

MAX_LINE = 50_000_000
"""Bytes of a line; one that is longer, such as an image in full, is left out."""


@dataclass(frozen=True, slots=True)
class TranscriptPart:
    """The messages of a transcript from some byte on, and the byte after the last whole line."""

    messages: list[Json]
    session: str | None
    end: int


def read_part(stream: BinaryIO, kind: TranscriptFormat, log: ImportLog, start: int = 0) -> TranscriptPart:
    """The messages from `start` on. A last line that is still being written is left for the next time."""
    stream.seek(start)
    messages: list[Json] = []
    session: str | None = None
    end = start
    while line := stream.readline(MAX_LINE):
        if not line.endswith(b"\n"):
            if len(line) == MAX_LINE:
                log.left_out["lines that are too long"] += 1
                end += len(line) + _skip_line(stream)
                continue
            if json_object(line) is None:
                break
        end += len(line)
        data = json_object(line)
        if data is None:
            log.left_out["lines that are not a JSON object"] += bool(line.strip())
            continue
        session = session or kind.session_of(data)
        message = kind.message_of(data, log)
        if message is not None:
            messages.append(message)
    latest = {message.get("id") or number: message for number, message in enumerate(messages)}
    return TranscriptPart(list(latest.values()), session, end)  # Gemini CLI writes a message again when it grows


def session_id(source: str, session: str) -> str:
    """The session of a transcript has the same id here, whether a hook or an import reads it."""
    return source_id(source, session)


def _skip_line(stream: BinaryIO) -> int:
    skipped = 0
    while chunk := stream.readline(MAX_LINE):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped
