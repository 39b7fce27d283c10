"""Memories as JSON lines: written all or not at all, read back without adding anything twice."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fivefold.errors import InvalidInput, StoreError
from fivefold.extract.kept import kept, restored
from fivefold.ids import content_hash, replay_id
from fivefold.intake import checked_name, record_of
from fivefold.memory import KINDS, RELATIONS, Extraction, Link, Memory, Record
from fivefold.remember import Draft
from fivefold.stores.base import Reader
from fivefold.times import as_utc


def export_lines(reader: Reader) -> Iterator[str]:
    """One memory a line, oldest first, with what was read out of it and without its vectors."""
    after = 0
    while batch := reader.scan(after):
        links = reader.links([memory.row for memory, _ in batch])
        for memory, extraction in batch:
            shown = memory.to_dict()
            del shown["namespace"]
            shown["extracted"] = kept(extraction)
            shown["links"] = [[link.relation, link.target, link.why] for link in links.get(memory.row, ())]
            yield json.dumps(shown, ensure_ascii=False)
        after = batch[-1][0].row


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write beside the target and rename, so that a full disk or a kill leaves no half file."""
    count = 0
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False
        ) as file:
            part = Path(file.name)
            try:
                for line in lines:
                    file.write(line + "\n")
                    count += 1
                file.flush()
                os.fsync(file.fileno())
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StoreError(f"{str(path)!r} could not be written: {error.strerror or error}") from None
    return count


def read_lines(path: Path, namespace: str) -> list[Record | Draft]:
    """Every line checked before any is stored. Exported lines come back as they were, others as new records."""
    items: list[Record | Draft] = []
    seen: Counter[str] = Counter()
    for number, data in _objects(path):
        try:
            if "extracted" in data:
                items.append(_restored(data, namespace))
            else:
                items.append(_record(data, seen))
        except InvalidInput as error:
            raise InvalidInput(f"{path}, line {number}: {error}") from None
    return items


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    data = json.loads(line)
                except ValueError as error:
                    raise InvalidInput(f"{path}, line {number}: not JSON: {error}") from None
                if not isinstance(data, dict):
                    raise InvalidInput(f'{path}, line {number}: a line must be an object, such as {{"content": …}}')
                yield number, data
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} could not be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _record(data: dict[str, Any], seen: Counter[str]) -> Record:
    """A line without an id gets one from its text and how often it came before, so a replay finds it."""
    if data.get("id") is None:
        canonical = json.dumps(data, sort_keys=True, ensure_ascii=False)
        seen[canonical] += 1
        data = {**data, "id": replay_id(canonical, seen[canonical])}
    return record_of(data)


def _restored(data: dict[str, Any], namespace: str) -> Draft:
    """An exported line as the memory it was."""
    fields = dict(data)
    extracted, links = fields.pop("extracted"), fields.pop("links", [])
    kind, created = fields.pop("kind", None), fields.pop("created_at", None)
    superseded_by, accessed = fields.pop("superseded_by", None), fields.pop("last_accessed_at", None)
    seen, used = (
        _count(fields.pop("seen_count", 1), "seen_count"),
        _count(fields.pop("access_count", 0), "access_count"),
    )
    for name in ("id", "type", "event_at"):
        if fields.get(name) is None:
            raise InvalidInput(f"{name} is missing; an exported line has it")
    record = record_of({**fields, "kind": None})
    if kind not in KINDS:
        raise InvalidInput(f"kind {kind!r} is unknown; it is one of {', '.join(KINDS)}")
    if kind != "note" and record.session_id is None:
        raise InvalidInput(f"session_id is missing; a {kind} belongs to a session")
    if created is None:
        raise InvalidInput("created_at is missing; an exported line has it")
    assert record.id is not None
    assert record.type is not None
    assert record.event_at is not None
    memory = Memory(
        id=record.id, namespace=namespace, content=record.content, kind=kind, type=record.type,
        speaker=record.speaker, session_id=record.session_id, turn_index=record.turn_index,
        predicate=record.predicate, user_text=record.user_text, assistant_text=record.assistant_text,
        next_user_text=record.next_user_text, tags=record.tags, task_tag=record.task_tag,
        event_at=record.event_at, created_at=as_utc(created, "created_at")[0], valid_from=record.valid_from,
        valid_to=record.valid_to,
        superseded_by=None if superseded_by is None else checked_name(superseded_by, "superseded_by"),
        importance=record.importance or 0.0, memory_score=record.memory_score or 0.0,
        confidence=1.0 if record.confidence is None else record.confidence, seen_count=seen, access_count=used,
        last_accessed_at=None if accessed is None else as_utc(accessed, "last_accessed_at")[0],
        metadata=record.metadata,
    )  # fmt: skip
    return Draft(record, memory, _extraction(memory, extracted), _hash(memory), links=_links(memory, links))


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise InvalidInput(f"{name} must be a whole number from 0, not {value!r}")
    return value


def _links(memory: Memory, given: object) -> tuple[Link, ...]:
    try:
        links = tuple(Link(memory.id, str(target), relation, str(why)) for relation, target, why in given)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidInput("links must be a list of [relation, target, why]") from None
    if any(link.relation not in RELATIONS for link in links):
        raise InvalidInput(f"a link's relation is one of {', '.join(RELATIONS)}")
    return links


def _extraction(memory: Memory, extracted: object) -> Extraction:
    if not isinstance(extracted, dict):
        raise InvalidInput("extracted must be an object")
    try:
        return restored(memory, extracted)
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        raise InvalidInput(f"extracted cannot be read: {error}") from None


def _hash(memory: Memory) -> bytes:
    first = memory.session_id if memory.kind == "session" else memory.speaker
    return content_hash(first, memory.content)
