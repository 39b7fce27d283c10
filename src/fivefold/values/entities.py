"""The findings of an extractor in a memory, stored next to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, TypeVar, get_args

from fivefold.errors import InvalidInput
from fivefold.values.memory import FACETS, Facet, Memory, Record, Type
from fivefold.values.serialize import Json, Value
from fivefold.values.times import as_utc
from fivefold.values.validate import MAX_INDEX, checked_choice, checked_count, checked_number, exact_text

# The entity graph: entities, the relations between them, and their kinds.

EntityKind = Literal["person", "place", "organisation", "name", "identifier", "topic"]
PROPER: tuple[EntityKind, ...] = ("person", "place", "organisation")
"""The kinds that texts tell of a name; any other is a `name`, an `identifier` or a `topic`."""


EdgeKind = Literal["structural", "semantic", "lifecycle"]
EDGE_KINDS: tuple[EdgeKind, ...] = get_args(EdgeKind)

CO_MENTION = "mentioned with"
"""The relation of two entities that texts only mention together."""


@dataclass(frozen=True, slots=True)
class Relation(Value):
    """A relation between two entities that a text states; its kind is lifecycle if it has ended or will end (R6)."""

    source: str
    relation: str
    target: str
    kind: EdgeKind = "structural"
    ended: bool = False
    confidence: float = 0.9


@dataclass(frozen=True, slots=True)
class Entity(Value):
    """Someone or something the namespace knows by name."""

    id: int
    name: str
    kind: str
    links: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge(Value):
    """A relation between two entities of the graph; past `valid_to` it counts for less (R6)."""

    id: int
    source: str
    relation: str
    target: str
    kind: EdgeKind
    confidence: float
    count: int
    valid_from: datetime | None
    valid_to: datetime | None
    source_id: int = 0
    target_id: int = 0

    @property
    def is_co_mention(self) -> bool:
        return self.relation == CO_MENTION


# What an extractor reads out of one record: who is mentioned, what is stated, which dates are named.


@dataclass(frozen=True, slots=True)
class Mention(Value):
    """An entity or topic that a text mentions."""

    name: str
    kind: EntityKind
    count: int = 1


@dataclass(frozen=True, slots=True)
class Statement(Value):
    """A statement: subject, attribute, value. A later statement with the same subject and attribute replaces it."""

    subject: str
    attribute: str
    value: str
    update: bool = False


@dataclass(frozen=True, slots=True)
class Correction(Value):
    """A new value for something said before, and the old value if the text repeats it."""

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
    """The findings of the extractor in one record."""

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


_KINDS: tuple[EntityKind, ...] = get_args(EntityKind)
_PARTS = ("mentions", "slots", "relations", "dates", "facets", "source")
_MENTION = ("name", "kind", "count")
_STATEMENT = ("subject", "attribute", "value")
_RELATION = ("source", "relation", "target", "kind", "ended", "confidence")
_SPAN = ("start", "end", "text")
_T = TypeVar("_T")


def extraction_data(extraction: Extraction) -> Json:
    """The extraction as data, so that links and statements can be rebuilt without reading the memory again."""
    parts: Json = {}
    if extraction.mentions:
        parts["mentions"] = [[item.name, item.kind, item.count] for item in extraction.mentions]
    if extraction.statements:
        parts["slots"] = [[item.subject, item.attribute, item.value] for item in extraction.statements]
    if extraction.relations:
        parts["relations"] = [
            [item.source, item.relation, item.target, item.kind, item.ended, item.confidence]
            for item in extraction.relations
        ]
    if extraction.dates:
        parts["dates"] = [span.to_dict() for span in extraction.dates]
    if extraction.facets:
        parts["facets"] = dict(extraction.facets)
    if extraction.source != "rules":
        parts["source"] = extraction.source
    return parts


def extraction_of(memory: Memory, parts: Json) -> Extraction:
    """The inverse of `extraction_data`, and the parts that are the memory's own fields; errors name a damaged part."""
    for part in parts:
        if part not in _PARTS:
            raise InvalidInput(f"extracted {part!r} is unknown; it is one of {', '.join(_PARTS)}")
    return Extraction(
        type=memory.type,
        predicate=memory.predicate,
        importance=memory.importance,
        memory_score=memory.memory_score,
        mentions=tuple(map(_mention, _lists(parts, "mentions", _MENTION))),
        statements=tuple(map(_statement, _lists(parts, "slots", _STATEMENT))),
        relations=tuple(map(_relation, _lists(parts, "relations", _RELATION))),
        dates=tuple(map(_span, _entries(parts, "dates"))),
        facets=_facets(parts.get("facets", {})),
        source=exact_text(parts.get("source", "rules"), "extracted source"),
    )


def _entries(parts: Json, part: str) -> list[object]:
    entries = parts.get(part, [])
    if not isinstance(entries, list):
        raise InvalidInput(f"extracted {part} must be a list, not {type(entries).__name__}")
    return entries


def _lists(parts: Json, part: str, names: Sequence[str]) -> Iterator[list[object]]:
    """The entries of a part, each a list of as many values as there are names for them."""
    for item in _entries(parts, part):
        if not isinstance(item, list) or len(item) != len(names):
            raise InvalidInput(f"extracted {part} must be a list of [{', '.join(names)}]")
        yield item


def _mention(item: list[object]) -> Mention:
    name, kind, count = item
    return Mention(
        _name(name, "extracted mentions: name"),
        checked_choice(kind, _KINDS, "extracted mentions: kind"),
        checked_count(count, "extracted mentions: count", 1, MAX_INDEX),
    )


def _statement(item: list[object]) -> Statement:
    subject, attribute, value = (
        exact_text(text, f"extracted slots: {name}") for name, text in zip(_STATEMENT, item, strict=True)
    )
    return Statement(subject, attribute, value)


def _relation(item: list[object]) -> Relation:
    source, relation, target, kind, ended, confidence = item
    if not isinstance(ended, bool):
        raise InvalidInput(f"extracted relations: ended must be true or false, not {ended!r}")
    return Relation(
        _name(source, "extracted relations: source"),
        _name(relation, "extracted relations: relation"),
        _name(target, "extracted relations: target"),
        checked_choice(kind, EDGE_KINDS, "extracted relations: kind"),
        ended,
        checked_number(confidence, "extracted relations: confidence", 0, 1),
    )


def _span(item: object) -> Span:
    if not isinstance(item, dict) or set(item) != set(_SPAN):
        raise InvalidInput(f"extracted dates must be a list of objects with {', '.join(_SPAN)}")
    start, end = (as_utc(item[name], f"extracted dates: {name}")[0] for name in ("start", "end"))
    if end < start:
        raise InvalidInput("extracted dates: end lies before start")
    return Span(start, end, exact_text(item["text"], "extracted dates: text"))


def _facets(facets: object) -> dict[Facet, str]:
    if not isinstance(facets, dict):
        raise InvalidInput(f"extracted facets must be an object, not {type(facets).__name__}")
    texts = {
        checked_choice(name, FACETS, "extracted facets:"): exact_text(text, f"extracted facets: {name}")
        for name, text in facets.items()
    }
    return {facet: texts[facet] for facet in FACETS if facet in texts}


def _name(value: object, field: str) -> str:
    text = exact_text(value, field)
    if not text.strip():
        raise InvalidInput(f"{field} is empty")
    return text
