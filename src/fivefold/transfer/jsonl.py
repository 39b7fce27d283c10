"""Memories as JSON lines: written all or not at all, read back without adding anything twice."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from fivefold.errors import InvalidFile, InvalidInput, StoreError
from fivefold.models.embedders import Embedder
from fivefold.namespace import Namespace
from fivefold.stores.atomic_files import replacement
from fivefold.stores.interface import Reader, Writer
from fivefold.text.display import bar
from fivefold.values.entities import Extraction, extraction_data, extraction_of
from fivefold.values.fields import build, fields_of
from fivefold.values.memory import KINDS, RECORD_FIELDS, Memory, Record, record_of
from fivefold.values.open_files import refuse_open_store
from fivefold.values.reports import LINK_KINDS, WITH_CHANCE, Link, Merged, Report
from fivefold.values.serialize import Json
from fivefold.values.times import content_hash, replay_id
from fivefold.values.validate import (
    MAX_CONTENT,
    MAX_DEPTH,
    MAX_NAME,
    checked_choice,
    checked_name,
    checked_number,
    checked_text,
    exact_text,
    refusal,
    too_deep,
)
from fivefold.writing.draft import SECRET_FIELDS, Draft, ReportBuilder, refuse_secrets, scan_secrets
from fivefold.writing.pipeline import batches, write_checked
from fivefold.writing.rebuild import fill, writing_model
from fivefold.writing.relations import FORGOTTEN
from fivefold.writing.sessions import backfill_previous, drop_readings_after, log_turn, refresh_session

RECORD_NAMES = frozenset(RECORD_FIELDS)
_MEMORY = frozenset(fields_of(Memory)) - {"namespace"}
_EXPORTED = _MEMORY | {"extracted", "links"}
_NEEDED = ("id", "content", "kind", "type", "event_at", "created_at")
_ABSENT = {
    "tags": [],
    "metadata": {},
    "importance": 0,
    "memory_score": 0,
    "confidence": 1,
    "seen_count": 1,
    "access_count": 0,
    "pinned": False,
    "echo_count": 0,
}
"""Defaults of the fields that an exported line leaves out."""


def export_lines(reader: Reader) -> Iterator[str]:
    """One memory a line, oldest first, with what was read out of it and without its vectors."""
    after = 0
    while batch := reader.memories.scan(after):
        links = reader.memories.links([memory.row for memory, _ in batch])
        for memory, extraction in batch:
            yield json.dumps(line_of(memory, extraction, links.get(memory.row, ())), ensure_ascii=False)
        after = batch[-1][0].row


def line_of(memory: Memory, extraction: Extraction, links: Iterable[Link]) -> Json:
    """A memory as it is exported."""
    data = replace(memory, metadata={}).to_dict()
    del data["namespace"]
    data["metadata"] = memory.metadata
    data["extracted"] = extraction_data(extraction)
    data["links"] = [
        [link.relation, link.target, link.why, *([link.chance] if link.relation in WITH_CHANCE else [])]
        for link in links
    ]
    return data


def masked_line(line: Json) -> Json:
    """An exported line without its secrets; what was read out of a text with one goes too."""
    found: list[str] = []
    named = (*SECRET_FIELDS, "links")
    masked = {
        name: scan_secrets(line[name], lambda kind: True, found) if name in named else line[name] for name in line
    }
    return masked if not found else {**masked, "extracted": {}}


def export_jsonl(namespace: Namespace, path: Path) -> int:
    """Write every memory of the namespace to a file; returns how many."""
    store = namespace.store.location
    if any(path.resolve() == Path(store + end).resolve() for end in ("", "-wal", "-shm")):
        raise InvalidFile(path, "is the store itself; export to another file")
    return write_lines(path, export_lines(namespace.reader))


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """A full disk or a kill leaves no half file."""
    count = 0
    try:
        with replacement(path) as file:
            for line in lines:
                file.write(f"{line}\n".encode())
                count += 1
    except OSError as error:
        raise StoreError(f"{str(path)!r} could not be written: {error.strerror or error}") from None
    return count


def read_lines(path: Path, namespace: str) -> Iterator[Record | Draft]:
    """One line after the other, checked. Exported lines come back as they were, others as new records."""
    seen: Counter[str] = Counter()
    lines: dict[str, int] = {}
    for number, data in objects(path):
        try:
            item = draft_of(data, namespace) if "extracted" in data else _record(data, seen)
            id = item.memory.id if isinstance(item, Draft) else item.id
            assert id is not None
            if id in lines:
                raise InvalidInput(f"the id {id!r} is already on line {lines[id]}")
        except InvalidInput as error:
            raise InvalidFile(path, error, place=f"line {number}") from None
        lines[id] = number
        yield item


def objects(path: Path) -> Iterator[tuple[int, Json]]:
    """Each line that is not blank with its number, read and not yet checked."""
    refuse_open_store(path)
    first = True
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    data = _object(line, first)
                except InvalidInput as error:
                    raise InvalidFile(path, error, place=f"line {number}") from None
                first = False
                yield number, data
    except OSError as error:
        raise InvalidFile(path, f"could not be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidFile(path, f"is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _object(line: str, first: bool) -> Json:
    if first and line.lstrip().startswith("["):
        raise InvalidInput('the file is one JSON array; write one object a line, such as {"content": …}')
    try:
        data = json.loads(line)
        deep = isinstance(data, dict | list) and too_deep([*data.values()] if isinstance(data, dict) else data)
    except ValueError as error:
        raise InvalidInput(f"not JSON: {error}") from None
    except RecursionError:
        deep = True
    if deep:
        raise InvalidInput(f"its values are nested more than {MAX_DEPTH} levels deep")
    if not isinstance(data, dict):
        raise InvalidInput('a line must be an object, such as {"content": …}')
    return data


def _record(data: Json, seen: Counter[str]) -> Record:
    """A line without an id gets one from its text and how often it came before, so a replay finds it."""
    _check_names(data, RECORD_NAMES, "a record")
    record = record_of({"origin": "import", **data})
    if record.id is not None:
        return record
    canonical = json.dumps(data, sort_keys=True, ensure_ascii=False)
    seen[canonical] += 1
    try:
        return replace(record, id=replay_id(canonical, seen[canonical]))
    except UnicodeEncodeError:
        raise InvalidInput("a value holds half a surrogate pair; it is not valid Unicode text") from None


def _check_names(data: Json, known: frozenset[str], what: str) -> None:
    unknown = next((name for name in data if name not in known), None)
    if unknown is not None:
        close = difflib.get_close_matches(unknown[:MAX_NAME], known, 1, 0.8)
        hint = f"did you mean {close[0]!r}?" if close else f"{what} has {', '.join(sorted(known))}"
        raise InvalidInput(f"unknown field {unknown!r}; {hint}")


def draft_of(data: Json, namespace: str) -> Draft:
    """An exported line as the memory it was, each value checked as `Memory` declares it."""
    _check_names(data, _EXPORTED, "an exported line")
    values = {name: value for name, value in data.items() if value is not None}
    for name in _NEEDED:
        if name not in values:
            raise refusal(name, "is missing; an exported line has it")
    kind = checked_choice(values["kind"], KINDS, "kind")
    if kind != "note" and "session_id" not in values:
        raise refusal("session_id", f"is missing; a {kind} belongs to a session")
    checked_text(values["content"], "content", empty=kind == "session", most=MAX_CONTENT)
    own = {name: values.get(name, _ABSENT.get(name)) for name in _MEMORY}
    memory = build(Memory, {**own, "namespace": namespace})
    record = Record(**{name: getattr(memory, name) for name in RECORD_FIELDS})
    extracted, links = values.get("extracted"), values.get("links", [])
    if not isinstance(extracted, dict):
        raise InvalidInput("extracted must be an object")
    extraction = extraction_of(memory, extracted)
    if not isinstance(links, list) or not all(isinstance(link, list) and len(link) in (3, 4) for link in links):
        raise InvalidInput("links must be a list of [relation, target, why], and a chance for likely and repeats")
    hash = content_hash(memory.session_id if memory.kind == "session" else memory.speaker, memory.content)
    return Draft(record, memory, extraction, hash, links=tuple(_link(memory, *link) for link in links))


def _link(memory: Memory, relation: object, target: object, why: object, chance: object = None) -> Link:
    kind = checked_choice(relation, LINK_KINDS, "a link's relation")
    if (kind in WITH_CHANCE) != (chance is not None):
        raise InvalidInput("a link has a chance if its relation is 'likely' or 'repeats', and only then")
    return Link(
        memory.id,
        checked_name(target, "a link's target"),
        kind,
        exact_text(why, "a link's reason"),
        1.0 if chance is None else checked_number(chance, "a link's chance", 0, 1),
    )


# Importing JSON lines: exported memories are restored as they were, other records are remembered.

T = TypeVar("T", Draft, Record)


def import_jsonl(namespace: Namespace, path: Path, *, progress: bool = False) -> Report:
    """Check every line, then restore the exported memories and remember the rest. A second import adds nothing."""
    report = ReportBuilder()
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InvalidFile(path, "can be read only once; save its content to a file, and import that")
    counts = Counter(
        type(item) for item in read_lines(path, namespace.name)
    )  # each line to its end before any is stored

    def lines(kind: type[T]) -> Iterator[T]:
        return (item for item in read_lines(path, namespace.name) if isinstance(item, kind))

    refuse_secrets(lines(Record) if counts[Record] else (), namespace.settings)
    if counts[Draft]:
        report.include(restore(namespace, partial(lines, Draft), progress=progress))
    if counts[Record]:
        report.include(write_checked(namespace, lines(Record), counts[Record], progress=progress))
    return report.build()


def restore(
    namespace: Namespace, read_drafts: Callable[[], Iterable[Draft]], *, progress: bool = False
) -> ReportBuilder:
    """Restore exported memories as they were: rows first, turns before their sessions, then the vectors.

    A session that was here before keeps its own memory, which is built again from all its turns. `read_drafts`
    starts with the first of them each time, so that they need not all fit in memory.
    """
    report, model = ReportBuilder(), writing_model(namespace)
    links: list[Link] = []
    session_ids: set[str] = set()
    for sessions in (False, True):
        for batch in batches(item for item in read_drafts() if (item.memory.kind == "session") == sessions):
            _restore_batch(namespace, model, batch, report)
            links += [link for item in batch for link in item.links]
            session_ids.update(item.memory.session_id for item in batch if item.memory.session_id)
    with namespace.transaction(model) as txn:
        for link in links:
            source, target = txn.memories.get(link.source), txn.memories.get(link.target)
            if source is not None and target is not None:
                txn.memories.link(source.row, target.row, link.relation, link.why, link.chance)
        txn.statements.end_superseded()
    with bar("Embedding", len(report.stored), show=progress) as advance:
        fill(namespace, model, "active", advance)
    with namespace.transaction() as txn:
        for session_id in sorted(session_ids):
            turns, built_from, _ = txn.sessions.size(session_id)
            if turns != built_from:
                refresh_session(session_id, namespace, txn, at_once=True)
    return report


def _restore_batch(namespace: Namespace, model: Embedder, batch: Sequence[Draft], report: ReportBuilder) -> None:
    """One transaction over those that are not stored yet, also not by another who writes at the same time."""
    part = ReportBuilder()
    with namespace.transaction(model) as txn:
        known = txn.memories.existing_ids([item.memory.id for item in batch])
        new = [item for item in batch if item.memory.id not in known]
        stored = (item.memory.id for item in batch if item.memory.id in known)
        part.merged += [Merged(id, "a memory with this id is already stored") for id in stored]
        txn.forgotten.look_up([(item.memory, item.content_hash) for item in new])
        for item in new:
            if txn.forgotten.has(item.memory, item.content_hash):
                part.merged.append(Merged(item.memory.id, FORGOTTEN))
            else:
                _restore_one(txn, item, part)
        if new:
            drop_readings_after(new, txn)
    report.include(part)


def _restore_one(txn: Writer, item: Draft, report: ReportBuilder) -> None:
    memory = item.memory
    lacks_turns = memory.session_id is not None and txn.forgotten.has_session(memory.session_id)
    if memory.kind == "session" and lacks_turns:
        why = f"turns of session {memory.session_id!r} were forgotten; its memory is built from those that are stored"
        report.merged.append(Merged(memory.id, why))
        return
    if memory.kind == "turn" and memory.session_id:
        if lacks_turns:  # the reply may be what was forgotten
            item.memory = replace(memory, next_user_text=None)
        log_turn(item, txn)
        report.sessions.setdefault(memory.session_id)
    if memory.kind == "session" and memory.session_id and txn.sessions.memory_row(memory.session_id) is not None:
        report.merged.append(Merged(memory.id, f"session {memory.session_id!r} has a memory of its own already"))
        return
    row = txn.memories.add(item.entry())
    item.memory = replace(item.memory, row=row)
    if memory.kind == "turn" and lacks_turns:
        backfill_previous(item, txn)
    if memory.kind == "session" and memory.session_id:
        turns, _, _ = txn.sessions.size(memory.session_id)
        txn.sessions.mark_built(memory.session_id, row, turns)
    report.stored.append(memory.id)
