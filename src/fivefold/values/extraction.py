"""What an extractor reads out of one record: who is mentioned, what is stated, which dates are named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from fivefold.values.graph import EntityKind, Relation
from fivefold.values.memory import Facet, Record, Type
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class Mention(Value):
    """An entity or topic a text speaks of."""

    name: str
    kind: EntityKind
    count: int = 1


@dataclass(frozen=True, slots=True)
class Statement(Value):
    """A statement of the form subject – attribute – value, by which a later statement replaces an earlier one."""

    subject: str
    attribute: str
    value: str
    update: bool = False


@dataclass(frozen=True, slots=True)
class Correction(Value):
    """A new value for something said before, and the old value where the text repeats it."""

    value: str
    old: str | None = None


@dataclass(frozen=True, slots=True)
class Span(Value):
    """A stretch of time a text speaks of; the end is exclusive."""

    start: datetime
    end: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(Value):
    """What the extractor read out of one record."""

    type: Type = "fact"
    predicate: str | None = None
    importance: float = 0.5
    memory_score: float = 0.5
    mentions: tuple[Mention, ...] = ()
    statements: tuple[Statement, ...] = ()
    relations: tuple[Relation, ...] = ()
    dates: tuple[Span, ...] = ()
    facets: Mapping[Facet, str] = field(default_factory=dict)
    refers_back: Correction | None = None
    source: str = "rules"


class Extractor(Protocol):
    """Reads a record and returns what it says. It never fails; at worst the extraction says little."""

    name: str

    def extract(self, record: Record) -> Extraction: ...
