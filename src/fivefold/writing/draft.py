"""Drafts: the memories that records become, with their index entries and vectors, and the secrets they may not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from fivefold.errors import InvalidInput
from fivefold.models.embedders import Embedder, read_passages, unit
from fivefold.settings import Settings
from fivefold.stores.interface import Writer
from fivefold.stores.records import Entry
from fivefold.text import passages
from fivefold.text.passages import PassageTexts, texts_to_embed
from fivefold.text.secrets_in_text import PASSWORD_KINDS, find_secrets, kind_of_key, mask_secrets
from fivefold.values.entities import Extraction, Extractor
from fivefold.values.memory import RECORD_FIELDS, TEXT_FIELDS, Memory, Record, origin_of
from fivefold.values.reports import Link, Merged, Report
from fivefold.values.times import content_hash, new_id
from fivefold.values.validate import MAX_EXTRACTED, MAX_NAME
from fivefold.values.vectors import PassageVectors, Vector, VectorField
from fivefold.writing.extract.facts import facts


@dataclass(frozen=True, slots=True, eq=False)
class MemoryVectors:
    """A model's reading of one memory: a vector for each of its fields, and the passages of its content."""

    fields: Mapping[VectorField, Vector] = field(default_factory=dict)
    passages: tuple[PassageVectors, ...] = ()


NO_VECTORS = MemoryVectors()


def index_entry(
    memory: Memory, extraction: Extraction, content_hash: bytes = b"", vectors: MemoryVectors = NO_VECTORS
) -> Entry:
    """The memory with its lexemes; hash and vectors only if the memory is stored and not just indexed again."""
    predicate, content = passages.lexemes_to_index(memory)
    return Entry(
        memory=memory,
        extraction=extraction,
        content_hash=content_hash,
        predicate_lexemes=predicate,
        content_lexemes=content,
        vectors=vectors.fields,
        passages=vectors.passages,
        facts=() if memory.kind == "session" else facts(memory.content[:MAX_EXTRACTED], memory.speaker, memory.type),
    )


def all_entries(txn: Writer, advance: Callable[[int], None] = lambda done: None) -> Iterator[Entry]:
    """The index entry of every stored memory, in the order of the rows."""
    after = 0
    while batch := txn.memories.scan(after):
        for memory, extraction in batch:
            yield index_entry(memory, extraction)
        after = batch[-1][0].row
        advance(len(batch))


def read_texts(texts: Sequence[PassageTexts], model: Embedder) -> list[MemoryVectors]:
    """The vectors of each memory's fields and passages; a passage that occurs more than once is read once."""
    unique = list(dict.fromkeys(passage for fields in texts for read in fields.values() for passage in read))
    reading_of = dict(zip(unique, read_passages(model, unique), strict=True))
    found = []
    for own in texts:
        vectors = {field: centre([reading_of[passage].vector for passage in read]) for field, read in own.items()}
        full = [reading_of[passage] for passage in own["full"]]
        several = len(full) > 1
        parts = tuple(PassageVectors(reading.tokens, reading.vector if several else None) for reading in full)
        found.append(MemoryVectors(vectors, parts))
    return found


def centre(vectors: Sequence[Vector]) -> Vector:
    """The common topic of several texts: the mean of their vectors, at unit length."""
    if len(vectors) == 1:
        return vectors[0]
    mean: Vector = unit(np.stack(vectors).mean(axis=0, keepdims=True, dtype=np.float32))[0]
    return mean


_EXTRACTED = {name: RECORD_FIELDS[name].checker for name in ("type", "importance", "memory_score")}


@dataclass(slots=True)
class Draft:
    """A record on its way into the store."""

    record: Record
    memory: Memory
    extraction: Extraction
    content_hash: bytes
    vectors: MemoryVectors = NO_VECTORS
    links: tuple[Link, ...] = ()
    before: Draft | Memory | None = None
    """The turn before it in its session, which is read along."""
    recalled: Memory | None = None
    """The memory that it only repeats, which was recalled a moment ago."""
    inserted: bool = False
    """True if it came after turns that follow it in its session."""

    @property
    def text_before(self) -> str:
        before = self.before.memory if isinstance(self.before, Draft) else self.before
        return "" if before is None else before.content

    def entry(self) -> Entry:
        return index_entry(self.memory, self.extraction, self.content_hash, self.vectors)


def draft(record: Record, namespace: str, extractor: Extractor, now: datetime) -> Draft:
    """Extract what the record says and lay out the memory that it becomes."""
    event_at = record.event_at or now
    extraction = extractor.extract(record if record.event_at else replace(record, event_at=event_at))
    for name, check in _EXTRACTED.items():  # an extractor may be anyone's
        check(getattr(extraction, name, None), f"the extractor's {name}")
    memory = new_memory(
        record,
        namespace,
        now,
        id=record.id or new_id(),
        kind=record.kind or ("turn" if record.session_id else "note"),
        type=extraction.type,
        predicate=extraction.predicate,
        event_at=event_at,
        importance=extraction.importance if record.importance is None else record.importance,
        memory_score=extraction.memory_score if record.memory_score is None else record.memory_score,
        confidence=1.0 if record.confidence is None else record.confidence,
        origin=record.origin or origin_of(record.speaker),
    )
    return Draft(record, memory, extraction, content_hash(record.speaker, record.content))


def new_memory(record: Record, namespace: str, now: datetime, **known: object) -> Memory:
    """A memory that nobody has used yet: what is `known` of it, and for the rest what the record says."""
    said: dict[str, Any] = {name: getattr(record, name) for name in RECORD_FIELDS}
    unused = {"superseded_by": None, "seen_count": 1, "access_count": 0, "last_accessed_at": None}
    own = {"namespace": namespace, "created_at": now, "pinned": bool(record.pinned)}
    return Memory(**{**said, **unused, **own, **known})


def expire_by_type(item: Draft, settings: Settings) -> None:
    """A memory that is not pinned and says nothing of its end lives as long as the settings say for its type."""
    days = settings.days(item.memory.type)
    if days is not None and item.memory.expires_at is None and not item.memory.pinned:
        item.memory = replace(item.memory, expires_at=item.memory.created_at + timedelta(days=days))


def trust_relations(item: Draft, settings: Settings) -> None:
    """Limits the trust in a memory's relations to that in its origin."""
    trust = settings.trust(item.memory.origin)
    if trust < 1 and item.extraction.relations:
        lowered = tuple(replace(each, confidence=each.confidence * trust) for each in item.extraction.relations)
        item.extraction = replace(item.extraction, relations=lowered)


def embed_drafts(drafts: Sequence[Draft], model: Embedder) -> None:
    """Give the drafts their vectors."""
    texts = [texts_to_embed(item.memory, item.extraction.facets, item.text_before) for item in drafts]
    for item, vectors in zip(drafts, read_texts(texts, model), strict=True):
        item.vectors = vectors


@dataclass(slots=True)
class ReportBuilder:
    """Collects what a write stores, merges, links and supersedes; `build` makes the report."""

    stored: list[str] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)
    linked: list[Link] = field(default_factory=list)
    superseded: list[Link] = field(default_factory=list)
    entities: dict[str, None] = field(default_factory=dict)
    sessions: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)

    def include(self, part: ReportBuilder | Report) -> None:
        """Add what another transaction did."""
        for name in ("stored", "merged", "linked", "superseded", "notes", "quarantined"):
            getattr(self, name).extend(getattr(part, name))
        self.entities.update(dict.fromkeys(part.entities))
        self.sessions.update(dict.fromkeys(part.sessions))

    def build(self) -> Report:
        parts = {part.name: tuple(getattr(self, part.name)) for part in fields(self)}
        return Report(**{**parts, "notes": tuple(dict.fromkeys(self.notes))})


_NAMES = ("speaker", "session_id", "predicate", "task_tag", "tags")
SECRET_FIELDS = (*TEXT_FIELDS, *_NAMES, "metadata")
"""The fields that can hold a secret."""


def without_secrets(record: Record, settings: Settings) -> Record:
    """The record as it may be stored, with a note for each secret; an error for the first that the settings refuse."""
    changes: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in [(name, value) for name in SECRET_FIELDS if (value := getattr(record, name))]:
        found: list[str] = []
        masked = scan_secrets(value, lambda kind: _treatment(kind, settings) == "mask", found)
        treatments = {kind: done for kind in found if (done := _treatment(kind, settings)) != "keep"}
        for kind, done in treatments.items():
            if done == "refuse":
                setting = "passwords" if kind in PASSWORD_KINDS else "secrets"
                advice = f"take it out, or set {setting}='mask' to have it masked"
                raise InvalidInput(f"seems to contain {kind}; {advice}", field=name)
            notes.append(
                f"{name} seems to contain {kind}, which {'is masked' if done == 'mask' else 'is stored as it is'}"
            )
        if "mask" in treatments.values():
            if name == "tags":  # what is masked in a name or a tag still has a name's length
                changes[name] = tuple(dict.fromkeys(tag[:MAX_NAME] for tag in masked))
            else:
                changes[name] = masked[:MAX_NAME] if name in _NAMES else masked
    return replace(record, notes=(*record.notes, *notes), **changes) if notes else record


def refuse_secrets(records: Iterable[Record], settings: Settings) -> None:
    """Raise an error for the first secret that the settings refuse."""
    for record in records if "refuse" in (settings.secrets, settings.passwords) else ():
        without_secrets(record, settings)


def kinds_of_secrets(item: Record | Memory) -> tuple[str, ...]:
    """The kinds of secrets in all fields of a record or a memory, each once."""
    found: list[str] = []
    for name in SECRET_FIELDS:
        scan_secrets(getattr(item, name), lambda kind: False, found)
    return tuple(dict.fromkeys(found))


def _treatment(kind: str, settings: Settings) -> str:
    return settings.passwords if kind in PASSWORD_KINDS else settings.secrets


def scan_secrets(value: Any, mask: Callable[[str], bool], found: list[str]) -> Any:
    """A text, list or object with its secrets masked, if `mask` says so of their kind; `found` gets all kinds."""
    if isinstance(value, dict):
        masked = {}
        for key, item in value.items():
            name, kind = scan_secrets(key, mask, found), _kind_by_key(str(key), item)
            if kind:
                found.append(kind)
            masked[name] = f"[{kind}]" if kind and mask(kind) else scan_secrets(item, mask, [] if kind else found)
        return masked
    if isinstance(value, list | tuple):
        return [scan_secrets(item, mask, found) for item in value]
    if value is None or isinstance(value, bool | float):
        return value
    secrets = find_secrets(str(value))
    found += [secret.kind for secret in secrets]
    chosen = [secret for secret in secrets if mask(secret.kind)]
    return mask_secrets(str(value), chosen) if chosen else value


def _kind_by_key(key: str, item: Any) -> str | None:
    """The kind of secret that an item of metadata is by its key alone: `{"wifi_password": "…"}`."""
    if isinstance(item, bool | dict | list | tuple) or len(str(item)) < 3 or item in (None, ""):
        return None
    kind = kind_of_key(key)
    return None if kind and str(item) == f"[{kind}]" else kind
