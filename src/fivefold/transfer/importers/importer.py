"""Import a source into a namespace, batch by batch: an import that is killed and repeated loses or doubles nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Protocol, Unpack

from fivefold.errors import Call, InvalidFile, InvalidInput
from fivefold.settings import Settings
from fivefold.text.progress import bar
from fivefold.transfer.importers import chat_services as chatgpt
from fivefold.transfer.importers import chat_services as claude
from fivefold.transfer.importers import chat_services as messages
from fivefold.transfer.importers import langchain, markdown, mem0
from fivefold.transfer.importers.detect import FORMATS, NAMES, Format, detect_format
from fivefold.transfer.importers.sources import ImportLog, Skipped, stored_digest
from fivefold.transfer.importers.transcripts import TRANSCRIPTS, reader_of
from fivefold.values.ids import content_hash
from fivefold.values.memory import Memory, Record, RecordChanges, RecordInput
from fivefold.values.open_files import refuse_open_store
from fivefold.values.reports import Link, Merged, Report
from fivefold.values.serialize import Value

# The records of a source, whatever wrote it.


def read(
    path: str | os.PathLike[str], format: str = "auto", *, strict: bool = False, log: ImportLog | None = None
) -> Iterator[Record]:
    """The records of a file, folder or archive. `log` records what is left out or skipped."""
    source = Path(path)
    yield from read_records(source, resolve_format(source, format), log or ImportLog(strict))


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


def read_records(path: Path, format: Format, log: ImportLog) -> Iterator[Record]:
    return _READERS[format](path, log)


def _lines(path: Path, log: ImportLog) -> Iterator[Record]:
    """Lines of any kind as records; what an export says of whole sessions follows from their turns."""
    from fivefold.transfer.jsonl import read_lines
    from fivefold.writing.draft import Draft

    for item in read_lines(path, "default"):
        record = item.record if isinstance(item, Draft) else item
        if record.kind == "session":
            log.left_out["session memories"] += 1
        else:
            yield record


_READERS: dict[Format, Callable[[Path, ImportLog], Iterator[Record]]] = {
    "chatgpt": chatgpt.read,
    "claude": claude.claude_read,
    "mem0": mem0.read,
    "langchain": langchain.read,
    "markdown": markdown.read,
    "messages": messages.messages_read,
    "claude-code": reader_of(TRANSCRIPTS["claude-code"]),
    "codex": reader_of(TRANSCRIPTS["codex"]),
    "cursor": reader_of(TRANSCRIPTS["cursor"]),
    "jsonl": _lines,
}


BATCH = 250
"""Records that are looked up and stored together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport(Value):
    """What an import did, or would do: the report of the writes, and what else the source holds."""

    format: Format
    dry_run: bool
    records: int
    stored: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    merged: tuple[Merged, ...] = ()
    linked: tuple[Link, ...] = ()
    superseded: tuple[Link, ...] = ()
    entities: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def report(self) -> Report:
        return Report(**{part.name: getattr(self, part.name) for part in fields(Report)})


class Target(Protocol):
    """What an import writes to: an engine."""

    @property
    def settings(self) -> Settings: ...
    def get(self, id: str) -> Memory: ...
    def stored_ids(self, ids: Sequence[str]) -> set[str]: ...
    def stored_notes(self, content_hashes: Sequence[bytes]) -> set[bytes]: ...
    def update(self, id: str, **changes: Unpack[RecordChanges]) -> Memory: ...
    def remember_many(self, records: Iterable[RecordInput], *, progress: bool = False) -> Report: ...
    def import_jsonl(self, path: str | os.PathLike[str], *, progress: bool = False) -> Report: ...


@dataclass(slots=True)
class Batch:
    """Records by what the import does with them."""

    fresh: list[Record] = field(default_factory=list)
    changed: list[Record] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)


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
    if kind == "jsonl" and engine is not None and not dry_run:
        return _joined_report([engine.import_jsonl(source, progress=progress)], [], kind, dry_run, ImportLog())
    settings = Settings() if engine is None else engine.settings
    log = ImportLog(strict, settings=settings)
    count = sum(1 for _ in read_records(source, kind, log))
    if count == 0 and format != "auto":
        _check_format(source, kind, log)
    reports: list[Report] = []
    updated: list[str] = []
    note_hashes: set[bytes] = set()
    with bar(f"Importing {NAMES[kind]}", count, show=progress and not dry_run) as advance:
        for records in _batches(read_records(source, kind, ImportLog(strict, settings=settings)), BATCH):
            batch = _sort(engine, records, note_hashes)
            updated += [str(record.id) for record in batch.changed]
            reports.append(Report(merged=tuple(batch.merged)))
            if dry_run or engine is None:
                reports.append(Report(stored=tuple(str(record.id) for record in batch.fresh)))
            else:
                for record in batch.changed:
                    _change(engine, record)
                reports.append(engine.remember_many(batch.fresh))
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
        records=len(joined["stored"]) + len(joined["merged"]) + len(updated),
        updated=tuple(updated),
        skipped=tuple(log.skipped),
        left_out=dict(sorted((+log.left_out).items())),
        **joined,
    )


def _batches(records: Iterator[Record], size: int) -> Iterable[list[Record]]:
    while batch := list(islice(records, size)):
        yield batch


def _sort(engine: Target | None, records: list[Record], note_hashes: set[bytes]) -> Batch:
    """What is new, what has changed in the source, and what is stored already.

    A note with the text of another note is merged, so that importing twice counts nothing twice.
    """
    hashes = [_hash(record) for record in records]
    known = engine.stored_ids([str(record.id) for record in records]) if engine else set()
    note_hashes |= engine.stored_notes([item for item in hashes if item]) if engine else set()
    stored = {id: engine.get(id) for id in known} if engine else {}
    batch = Batch()
    for record, hash in zip(records, hashes, strict=True):
        id = str(record.id)
        if id in known:
            if id in stored and stored_digest(stored[id]) not in (None, stored_digest(record)):
                batch.changed.append(record)
            else:
                batch.merged.append(Merged(id, "a memory with this id is already stored"))
        elif hash in note_hashes:
            batch.merged.append(Merged(id, "another note says the same"))
        else:
            batch.fresh.append(record)
        known.add(id)
        if hash:
            note_hashes.add(hash)
    return batch


def _change(engine: Target, record: Record) -> None:
    """The memory follows its source; metadata that was added here stays."""
    metadata = {**engine.get(str(record.id)).metadata, **record.metadata}
    changes: RecordChanges = {"content": record.content, "tags": record.tags, "metadata": metadata}
    if record.speaker is not None:
        changes["speaker"] = record.speaker
    if record.event_at is not None:
        changes["event_at"] = record.event_at
    engine.update(str(record.id), **changes)


def _hash(record: Record) -> bytes | None:
    """Notes with the same hash have the same text; turns may repeat each other, so they have none."""
    return None if record.session_id else content_hash(record.speaker, record.content)
