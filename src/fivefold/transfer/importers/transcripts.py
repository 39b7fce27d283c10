"""Transcripts of coding agents: JSON lines that an agent appends to while it works, one file for each session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers import claude_code, codex, cursor
from fivefold.transfer.importers.import_log import ImportLog
from fivefold.transfer.importers.records import source_id
from fivefold.transfer.importers.source_files import matching_files, open_source_file
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.writing.messages import MessageReader

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


CLAUDE_CODE = TranscriptFormat("claude-code", claude_code.message_of, claude_code.session_of, True)
CODEX = TranscriptFormat("codex", codex.message_of, codex.session_of, True)
CURSOR = TranscriptFormat("cursor", cursor.message_of, cursor.session_of, False)

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
