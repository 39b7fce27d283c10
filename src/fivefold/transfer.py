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
from fivefold.memory import KINDS, TYPES, Extraction, Memory, Record
from fivefold.remember import Draft
from fivefold.stores.base import Reader
from fivefold.times import as_utc

_TIMES = ("event_at", "created_at", "valid_from", "valid_to", "last_accessed_at")


def export_lines(reader: Reader) -> Iterator[str]:
    """One memory a line, oldest first, with what was read out of it and without its vectors."""
    after = 0
    while batch := reader.scan(after):
        for memory, extraction in batch:
            shown = memory.to_dict()
            del shown["namespace"]
            yield json.dumps({**shown, "extracted": kept(extraction)}, ensure_ascii=False)
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
            except BaseException:
                part.unlink()
                raise
        part.replace(path)
    except OSError as error:
        raise StoreError(f"{str(path)!r} could not be written: {error.strerror or error}") from None
    return count


def read_lines(path: Path, namespace: str) -> list[Record | Draft]:
    """Every line checked before any is stored. Exported lines come back as they were, others as new records."""
    items: list[Record | Draft] = []
    seen: Counter[str] = Counter()
    for number, data in _objects(path):
        try:
            if "created_at" in data and "id" in data:
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
    fields = dict(data)
    extracted = fields.pop("extracted", {})
    for name in _TIMES:
        if fields.get(name) is not None:
            fields[name] = as_utc(fields[name], name)[0]
    if fields.get("kind") not in KINDS or fields.get("type") not in TYPES:
        raise InvalidInput(f"kind is one of {', '.join(KINDS)}, type one of {', '.join(TYPES)}")
    kind = fields.pop("kind")
    superseded_by, seen, used = (fields.pop(name, None) for name in ("superseded_by", "seen_count", "access_count"))
    created, accessed = fields.pop("created_at"), fields.pop("last_accessed_at", None)
    record = record_of({**fields, "kind": None})
    if superseded_by is not None:
        superseded_by = checked_name(superseded_by, "superseded_by")
    assert record.id is not None
    assert record.event_at is not None
    memory = Memory(
        id=record.id, namespace=namespace, content=record.content, kind=kind, type=fields["type"],
        speaker=record.speaker, session_id=record.session_id, turn_index=record.turn_index,
        predicate=record.predicate, user_text=record.user_text, assistant_text=record.assistant_text,
        next_user_text=record.next_user_text, tags=record.tags, task_tag=record.task_tag,
        event_at=record.event_at, created_at=created, valid_from=record.valid_from, valid_to=record.valid_to,
        superseded_by=superseded_by, importance=record.importance or 0.0, memory_score=record.memory_score or 0.0,
        confidence=1.0 if record.confidence is None else record.confidence, seen_count=int(seen or 1),
        access_count=int(used or 0), last_accessed_at=accessed, metadata=record.metadata,
    )  # fmt: skip
    return Draft(record, memory, _extraction(memory, extracted), _hash(memory))


def _extraction(memory: Memory, extracted: object) -> Extraction:
    try:
        return restored(memory, extracted if isinstance(extracted, dict) else {})
    except (TypeError, KeyError, ValueError) as error:
        raise InvalidInput(f"extracted cannot be read: {error}") from None


def _hash(memory: Memory) -> bytes:
    first = memory.session_id if memory.kind == "session" else memory.speaker
    return content_hash(first, memory.content)
