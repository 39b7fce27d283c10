"""Memories from elsewhere: exports of chat services, mem0, LangChain, Markdown, messages, coding agents, JSON lines."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, Protocol, Unpack, cast, get_args

from fivefold.errors import Call, InvalidFile, InvalidInput
from fivefold.settings import Settings
from fivefold.text.display import bar
from fivefold.transfer.importers.chats import ChatGPT, Claude, LangChain, Messages
from fivefold.transfer.importers.notes import Markdown, Mem0, is_markdown
from fivefold.transfer.importers.sources import (
    CONVERSATIONS,
    HEADER,
    Gap,
    ImportLog,
    SourceReader,
    columns,
    files_below,
    first_bytes,
    is_utf8,
    items,
    json_object,
    matching_files,
    open_source_file,
    stored_digest,
)
from fivefold.transfer.importers.transcripts import TRANSCRIPTS
from fivefold.transfer.jsonl import draft_of, read_lines
from fivefold.transfer.markdown import is_export, read_folder
from fivefold.values.memory import Memory, Record, RecordChanges, RecordInput
from fivefold.values.open_files import refuse_open_store
from fivefold.values.reports import Merged, Report
from fivefold.values.times import content_hash
from fivefold.writing.draft import Draft
from fivefold.writing.messages import is_message
from fivefold.writing.pipeline import batches

__all__ = ["FORMATS", "NAMES", "Format", "Gap", "ImportLog", "ImportReport", "detect_format", "import_from", "read"]


# What a file or folder is, by its contents.

Format = Literal[
    "chatgpt",
    "claude",
    "mem0",
    "langchain",
    "markdown",
    "messages",
    "claude-code",
    "codex",
    "cursor",
    "gemini-cli",
    "jsonl",
    "export",
]
FORMATS: tuple[Format, ...] = get_args(Format)

MAX_FIRST_LINES = 50
"""Lines of a file by which a transcript is known."""


def detect_format(source: str | os.PathLike[str]) -> Format:
    """The format of what lies at a path; objects that are nothing else are taken for JSON lines."""
    path = Path(source)
    if path.is_dir():
        return _folder(path)
    start = first_bytes(path)
    if start.startswith(HEADER):
        return _database(path)
    if zipfile.is_zipfile(path):
        talks = matching_files(path, CONVERSATIONS)
        if talks:
            return _document(path, talks[0])
        raise InvalidFile(path, "is an archive without conversations.json; unpack it and name the folder")
    if is_markdown(path.name):
        return "markdown"
    if not is_utf8(start):
        raise _unknown(path, "is neither text nor an archive nor a SQLite file")
    return _text(path, start)


def _folder(path: Path) -> Format:
    if is_export(path):
        return "export"
    talks = matching_files(path, CONVERSATIONS)
    if talks:
        return _document(path, talks[0])
    if files_below(path, is_markdown):
        return "markdown"
    for name in matching_files(path, "*.json"):
        with suppress(InvalidInput):
            if _document(path, name) == "langchain":
                return "langchain"
    for name in matching_files(path, "*.jsonl"):
        transcript = _transcript(first_bytes(path, name))
        if transcript is not None:
            return transcript
    raise InvalidFile(
        path,
        "is a folder; name a file of JSON lines, or a folder with conversations.json, Markdown notes, LangChain "
        "histories or transcripts of a coding agent",
    )


def _database(path: Path) -> Format:
    tables = columns(path)
    if LangChain.table in tables:
        return "langchain"
    if set(tables.get("history", [])) >= Mem0.columns:
        return "mem0"
    if {"memories", "namespaces"} <= set(tables):
        raise InvalidFile(path, "is a store of fivefold", advice="copy it with {call}", call=Call("migrate"))
    raise InvalidFile(path, f"is a SQLite file without LangChain's {LangChain.table} or mem0's history")


def _text(path: Path, start: bytes) -> Format:
    """A whole JSON document, or else lines."""
    text = start.decode("utf-8-sig", "ignore").lstrip()
    if text.startswith("["):
        return _document(path, "")
    if text.startswith("{"):
        first = json_object(text.split("\n", 1)[0])
        if first is not None:
            return _transcript(start) or _shape(first) or "jsonl"
        with suppress(InvalidInput), open_source_file(path, "") as (stream, label):
            return _shape(next(items(stream, label))) or "jsonl"  # it is spread over several lines, or very long
        return "jsonl"
    if text:
        raise _unknown(path, "holds neither JSON nor JSON lines")
    return "jsonl"


def _transcript(start: bytes) -> Format | None:
    """The coding agent whose transcript begins like this; its first lines may be of any kind."""
    for line in start.decode("utf-8-sig", "ignore").splitlines()[:MAX_FIRST_LINES]:
        data = json_object(line)
        for name, known in TRANSCRIPTS.items():
            if data is not None and known.is_line(data):
                return cast(Format, name)
    return None


def _document(path: Path, name: str) -> Format:
    with open_source_file(path, name) as (stream, label):
        first = next(items(stream, label), None)
    shape = _shape(first)
    if shape is None or (name and shape == "mem0"):
        hint = "; JSON lines have one object a line, not a list" if first is not None else ""
        raise _unknown(label, f"is not a known list of conversations, messages or memories{hint}")
    return shape


def _unknown(file: object, reason: str) -> InvalidFile:
    """The error for a format that is not recognized, with all formats that can be named."""
    call = Call(arguments={"format": "|".join(FORMATS)})
    return InvalidFile(file, reason, advice="name its format with {call}", call=call)


def _shape(value: object) -> Format | None:
    """The format of an object, such as the first of a list."""
    if not isinstance(value, dict):
        return None
    if "mapping" in value:
        return "chatgpt"
    if "chat_messages" in value:
        return "claude"
    if isinstance(value.get("results"), list) or ("memory" in value and "id" in value):
        return "mem0"
    if "type" in value and isinstance(value.get("data"), dict):
        return "langchain"
    if is_message(value) and ("role" in value or isinstance(value.get("messages"), list)):
        return "messages"
    if value and all(isinstance(item, list) and item and _shape(item[0]) == "langchain" for item in value.values()):
        return "langchain"
    return None


# Import a source into a namespace, batch by batch: an import that is killed and repeated loses or doubles nothing.


def read(
    path: str | os.PathLike[str], format: str = "auto", *, strict: bool = False, log: ImportLog | None = None
) -> Iterator[Record]:
    """The records of a file, folder or archive. `log` records what is left out or skipped."""
    source = Path(path)
    yield from _READERS[resolve_format(source, format)].read(source, log or ImportLog(strict))


def resolve_format(path: Path, format: str) -> Format:
    """The format by its name, or the one `path` seems to have."""
    if not path.exists():
        raise InvalidFile(path, "does not exist; name the file to import")
    if format == "auto":
        return detect_format(path)
    choice = next((known for known in FORMATS if known == format), None)
    if choice is None:
        raise InvalidInput(f"{format!r} is unknown; it is auto or one of {', '.join(FORMATS)}", field="format")
    if path.is_dir() and choice in ("jsonl", "mem0", "messages"):
        raise InvalidFile(path, f"is a folder; name a file of {choice}")
    return choice


class JsonLines:
    """Lines of any kind as records; what an export says of whole sessions follows from their turns."""

    source: str = "jsonl"
    label: str = "JSON lines"

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]:
        for item in read_lines(path, "default"):
            record = item.record if isinstance(item, Draft) else item
            if record.kind == "session":
                log.left_out["session memories"] += 1
            else:
                yield record


class MarkdownExport:
    """A folder that `export_markdown` wrote, as records."""

    source: str = "export"
    label: str = "a Markdown export"

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]:
        for line, _ in read_folder(path):
            record = draft_of(line, "default").record
            if record.kind == "session":
                log.left_out["session memories"] += 1
            else:
                yield record


_KNOWN: tuple[SourceReader, ...] = (
    *(ChatGPT(), Claude(), Mem0(), LangChain(), Markdown(), Messages()),
    *TRANSCRIPTS.values(),
    JsonLines(),
    MarkdownExport(),
)
_READERS = {cast(Format, known.source): known for known in _KNOWN}
NAMES = {format: known.label for format, known in _READERS.items()}

BATCH_RECORDS = 250
"""Records that are looked up and stored together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport(Report):
    """The result of an import, or of a rehearsal: the report of the writes, and the rest of the source."""

    format: Format
    dry_run: bool
    records: int
    updated: tuple[str, ...] = ()
    skipped: tuple[Gap, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


class Target(Protocol):
    """The target of an import: an engine."""

    @property
    def settings(self) -> Settings: ...
    def get(self, id: str) -> Memory: ...
    def stored_ids(self, ids: Sequence[str]) -> set[str]: ...
    def stored_notes(self, content_hashes: Sequence[bytes]) -> set[bytes]: ...
    def update(self, id: str, **changes: Unpack[RecordChanges]) -> Memory: ...
    def remember_many(self, records: Iterable[RecordInput], *, progress: bool = False) -> Report: ...
    def import_jsonl(self, path: str | os.PathLike[str], *, progress: bool = False) -> Report: ...
    def import_markdown(self, folder: str | os.PathLike[str], *, progress: bool = False) -> Report: ...


def import_from(
    engine: Target | None,
    path: str | os.PathLike[str],
    format: str = "auto",
    *,
    strict: bool = False,
    dry_run: bool = False,
    progress: bool = False,
) -> ImportReport:
    """Remember the records of a source. It is read once to check it, and again to store it.

    A dry run stores nothing; without an engine it reports what a new namespace would get.
    """
    if engine is None and not dry_run:
        raise InvalidInput("an import needs an engine to write with; only a dry run works without one")
    source = Path(path)
    refuse_open_store(source)
    kind = resolve_format(source, format)
    if kind in ("jsonl", "export") and engine is not None and not dry_run:
        load = engine.import_jsonl if kind == "jsonl" else engine.import_markdown
        return _joined_report([load(source, progress=progress)], [], kind, dry_run, ImportLog())
    settings = Settings() if engine is None else engine.settings
    log = ImportLog(strict, settings=settings)
    count = sum(1 for _ in _READERS[kind].read(source, log))
    if count == 0 and format != "auto":
        _check_format(source, kind, log)
    reports: list[Report] = []
    updated: list[str] = []
    note_hashes: set[bytes] = set()
    with bar(f"Importing {NAMES[kind]}", count, show=progress and not dry_run) as advance:
        for records in batches(_READERS[kind].read(source, ImportLog(strict, settings=settings)), BATCH_RECORDS):
            new, changed, merged = _sort(engine, records, note_hashes)
            updated += [str(record.id) for record in changed]
            reports.append(Report(merged=tuple(merged)))
            if dry_run or engine is None:
                reports.append(Report(stored=tuple(str(record.id) for record in new)))
            else:
                for record in changed:
                    id = str(record.id)
                    metadata = {**engine.get(id).metadata, **record.metadata}  # what was added here stays
                    changes: RecordChanges = {"content": record.content, "tags": record.tags, "metadata": metadata}
                    if record.speaker is not None:
                        changes["speaker"] = record.speaker
                    if record.event_at is not None:
                        changes["event_at"] = record.event_at
                    engine.update(id, **changes)
                reports.append(engine.remember_many(new))
            advance(len(records))
    return _joined_report(reports, updated, kind, dry_run, log)


def _check_format(source: Path, kind: Format, log: ImportLog) -> None:
    """If every part is skipped and the source looks like another format, the format is wrong."""
    if log.parts == 0 or log.parts > len(log.skipped):
        return
    try:
        other = detect_format(source)
    except InvalidInput:
        return
    if other != kind:
        call = Call(arguments={"format": other})
        raise InvalidFile(source, f"is not {NAMES[kind]} but {NAMES[other]}", advice="import it with {call}", call=call)


def _joined_report(
    reports: list[Report], updated: list[str], kind: Format, dry_run: bool, log: ImportLog
) -> ImportReport:
    joined = {
        part.name: tuple(item for report in reports for item in getattr(report, part.name)) for part in fields(Report)
    }
    for name in ("entities", "sessions", "notes"):
        joined[name] = tuple(dict.fromkeys(joined[name]))
    return ImportReport(
        format=kind,
        dry_run=dry_run,
        records=len(joined["stored"]) + len(joined["merged"]) + len(joined["quarantined"]) + len(updated),
        updated=tuple(updated),
        skipped=tuple(log.skipped),
        left_out=dict(sorted((+log.left_out).items())),
        **joined,
    )


def _sort(
    engine: Target | None, records: list[Record], note_hashes: set[bytes]
) -> tuple[list[Record], list[Record], list[Merged]]:
    """Splits the records into those that are new, those that have changed in the source, and those already stored.

    A note with the text of another note is merged, so that importing twice counts nothing twice; turns may repeat
    each other.
    """
    hashes = [None if record.session_id else content_hash(record.speaker, record.content) for record in records]
    known = engine.stored_ids([str(record.id) for record in records]) if engine else set()
    note_hashes |= engine.stored_notes([item for item in hashes if item]) if engine else set()
    stored = {id: engine.get(id) for id in known} if engine else {}
    new: list[Record] = []
    changed: list[Record] = []
    merged: list[Merged] = []
    for record, hash in zip(records, hashes, strict=True):
        id = str(record.id)
        if id in known:
            if id in stored and stored_digest(stored[id]) not in (None, stored_digest(record)):
                changed.append(record)
            else:
                merged.append(Merged(id, "a memory with this id is already stored"))
        elif hash in note_hashes:
            merged.append(Merged(id, "another note says the same"))
        else:
            new.append(record)
        known.add(id)
        if hash:
            note_hashes.add(hash)
    return new, changed, merged
