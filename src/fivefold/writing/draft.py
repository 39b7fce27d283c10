"""A draft: the memory that a record becomes, with what the extractor reads out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from fivefold.models.embedders import Embedder
from fivefold.settings import Settings
from fivefold.stores.interface import Entry
from fivefold.text.passages import texts_to_embed
from fivefold.values.entities import Extraction, Extractor
from fivefold.values.ids import content_hash, new_id
from fivefold.values.memory import RECORD_FIELDS, Memory, Record, origin_of
from fivefold.values.reports import Link, Merged, Report
from fivefold.writing.indexing import NO_VECTORS, MemoryVectors, index_entry, read_texts

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
    echo: Memory | None = None
    """The memory that it only repeats, which was recalled a moment ago."""
    inserted: bool = False
    """Whether it came after turns that follow it in its session."""

    @property
    def text_before(self) -> str:
        before = self.before.memory if isinstance(self.before, Draft) else self.before
        return "" if before is None else before.content

    def entry(self) -> Entry:
        return index_entry(self.memory, self.extraction, self.content_hash, self.vectors)


def draft(record: Record, namespace: str, extractor: Extractor, now: datetime) -> Draft:
    """Extract what the record says and lay out the memory that it becomes."""
    event_at = record.event_at or now
    extraction = _checked(extractor.extract(record if record.event_at else replace(record, event_at=event_at)))
    kind = record.kind or ("turn" if record.session_id else "note")
    memory = Memory(
        id=record.id or new_id(),
        namespace=namespace,
        content=record.content,
        kind=kind,
        type=extraction.type,
        speaker=record.speaker,
        session_id=record.session_id,
        turn_index=record.turn_index,
        predicate=extraction.predicate,
        user_text=record.user_text,
        assistant_text=record.assistant_text,
        next_user_text=record.next_user_text,
        tags=record.tags,
        task_tag=record.task_tag,
        event_at=event_at,
        created_at=now,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        superseded_by=None,
        importance=extraction.importance if record.importance is None else record.importance,
        memory_score=extraction.memory_score if record.memory_score is None else record.memory_score,
        confidence=1.0 if record.confidence is None else record.confidence,
        seen_count=1,
        access_count=0,
        last_accessed_at=None,
        expires_at=record.expires_at,
        pinned=bool(record.pinned),
        origin=record.origin or origin_of(record.speaker),
        metadata=record.metadata,
    )
    return Draft(record, memory, extraction, content_hash(record.speaker, record.content))


def _checked(extraction: Extraction) -> Extraction:
    """What an extractor gave, if its single values can be stored; an extractor may be anyone's."""
    for name, check in _EXTRACTED.items():
        check(getattr(extraction, name, None), f"the extractor's {name}")
    return extraction


def expire_by_type(item: Draft, settings: Settings) -> None:
    """A memory that is not pinned and says nothing of its end lives as long as the settings say for its type."""
    days = settings.days(item.memory.type)
    if days is not None and item.memory.expires_at is None and not item.memory.pinned:
        item.memory = replace(item.memory, expires_at=item.memory.created_at + timedelta(days=days))


def embed_drafts(drafts: Sequence[Draft], model: Embedder) -> None:
    """Give the drafts their vectors."""
    texts = [texts_to_embed(item.memory, item.extraction.facets, item.text_before) for item in drafts]
    for item, vectors in zip(drafts, read_texts(texts, model), strict=True):
        item.vectors = vectors


# The report of a write while it is under way.


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

    def include(self, part: ReportBuilder | Report) -> None:
        """Add what another transaction did."""
        self.stored.extend(part.stored)
        self.merged.extend(part.merged)
        self.linked.extend(part.linked)
        self.superseded.extend(part.superseded)
        self.entities.update(dict.fromkeys(part.entities))
        self.sessions.update(dict.fromkeys(part.sessions))
        self.notes.extend(part.notes)

    def build(self) -> Report:
        return Report(
            stored=tuple(self.stored),
            merged=tuple(self.merged),
            linked=tuple(self.linked),
            superseded=tuple(self.superseded),
            entities=tuple(self.entities),
            sessions=tuple(self.sessions),
            notes=tuple(dict.fromkeys(self.notes)),
        )
