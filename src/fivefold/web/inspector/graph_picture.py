"""The entity graph as a picture: which entities and relations have room in it, and how each is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import hypot, log1p
from unicodedata import east_asian_width

from fivefold.engine import Engine
from fivefold.stores.sql.edges import TOGETHER
from fivefold.values.graph import Edge, Entity
from fivefold.web.inspector.drawing import Box, Frame, Stroke, placed, written
from fivefold.web.inspector.rendering import glimpse

WIDE = Frame(860, 560, 20)
NARROW = Frame(360, 520, 9)
"""For a phone: fewer entities, so that their names can be read."""

MOST_EDGES = 200
"""Relations looked at of one entity, surest first."""

FEW = 6
"""With fewer neighbours than this, theirs are shown too."""

FURTHER = 4
"""Of each neighbour so many more."""

LETTER, WIDE_LETTER = 7.4, 13.5
"""About how wide a letter of a name is in the picture's units; those of East Asian scripts fill a square."""

LABEL = 14.0
"""How high the name of a relation is, and, by letter, how much narrower than an entity's:"""
SMALLER = 0.85

LONGEST = 20
"""Letters of a name in the picture; the list beside it has all."""


@dataclass(frozen=True, slots=True)
class Tie:
    """A relation, and whether it has ended."""

    edge: Edge
    ended: bool

    @property
    def together(self) -> bool:
        """Whether the two were only mentioned together."""
        return self.edge.relation == TOGETHER

    @property
    def ends(self) -> tuple[int, int]:
        return self.edge.source_id, self.edge.target_id


@dataclass(frozen=True, slots=True)
class Spot:
    """An entity in the picture."""

    entity: Entity
    name: str
    x: float
    y: float
    radius: float
    chosen: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A relation in the picture, from the rim of one entity to that of the other."""

    tie: Tie
    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    label: str = ""
    foot: tuple[float, float] | None = None
    """The middle of the label's foot; None where it would touch something else."""


@dataclass(frozen=True, slots=True)
class Picture:
    frame: Frame
    spots: tuple[Spot, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Entities, best first, and what ties them; the chosen one, if any, is the first."""

    entities: tuple[Entity, ...]
    ties: tuple[Tie, ...]
    left_out: int
    """Neighbours of the chosen entity there is no room for."""


class Ties:
    """Looks relations up, those of an entity once."""

    def __init__(self, engine: Engine, now: datetime) -> None:
        self._engine = engine
        self._now = now
        self._known: dict[int, list[Tie]] = {}

    def of(self, entity: int) -> list[Tie]:
        """The relations of an entity: stated ones before mere mentions, those that hold first, surest first."""
        if entity not in self._known:
            reader = self._engine.store.reader(self._engine.namespace)
            ties = [Tie(edge, self._ended(edge)) for edge in reader.edges(entity, MOST_EDGES)]
            self._known[entity] = sorted(ties, key=_order)
        return self._known[entity]

    def entities(self, keys: Sequence[int]) -> list[Entity]:
        """The entities with these keys, in their order."""
        found = {item.id: item for item in self._engine.store.reader(self._engine.namespace).entities_at(keys)}
        return [found[key] for key in keys if key in found]

    def _ended(self, edge: Edge) -> bool:
        return edge.valid_to is not None and edge.valid_to <= self._now


def around(ties: Ties, chosen: Entity, most: int) -> Drawn:
    """The chosen entity with its neighbours; where it has few, also with some of theirs."""
    own = ties.of(chosen.id)
    near = _others(own, {chosen.id})
    kept = near[: most - 1]
    theirs = {key: ties.of(key) for key in kept}
    if len(kept) < FEW:
        known = {chosen.id, *kept}
        kept += dict.fromkeys(key for each in theirs.values() for key in _others(each, known)[:FURTHER])
    entities = (chosen, *ties.entities(kept[: most - 1]))
    found = {tie.edge.id: tie for each in (own, *theirs.values()) for tie in each}
    return Drawn(entities, _among(found.values(), entities), max(0, len(near) - most + 1))


def most_mentioned(ties: Ties, entities: Sequence[Entity], most: int) -> Drawn:
    """The first of these entities that are tied to another of them."""
    looked = entities[: 2 * most]
    found = {tie.edge.id: tie for entity in looked for tie in ties.of(entity.id)}
    kept = _tied(_tied(looked, found.values())[:most], found.values())
    return Drawn(tuple(kept), _among(found.values(), kept), 0)


def picture(drawn: Drawn, frame: Frame, chosen: bool) -> Picture:
    """The first entities of `drawn` that have room in the frame, each at its place."""
    entities = drawn.entities[: frame.most]
    radii = [_radius(entity, entities) for entity in entities]
    names = [glimpse(entity.name, LONGEST) for entity in entities]
    sizes = [(max(2 * r, _width(name)), 2 * r + 22) for r, name in zip(radii, names, strict=True)]
    order = {entity.id: place for place, entity in enumerate(entities)}
    ties = [(tie, order[tie.ends[0]], order[tie.ends[1]]) for tie in drawn.ties if order.keys() >= set(tie.ends)]
    at = placed(sizes, [(source, target) for _, source, target in ties], frame, middle=chosen)
    spots = tuple(
        Spot(entity, name, round(float(x), 1), round(float(y) - 9, 1), r, chosen and place == 0)
        for place, (entity, name, r, (x, y)) in enumerate(zip(entities, names, radii, at, strict=True))
    )
    lines = [_line(tie, spots[source], spots[target]) for tie, source, target in ties]
    return Picture(frame, spots, _labelled(lines, spots, frame))


def _others(ties: Iterable[Tie], known: set[int]) -> list[int]:
    """The entities of these relations that are not known yet, in the order of the relations."""
    return [key for key in dict.fromkeys(key for tie in ties for key in tie.ends) if key not in known]


def _tied(entities: Sequence[Entity], ties: Iterable[Tie]) -> list[Entity]:
    ends = {key for tie in _among(ties, entities) for key in tie.ends}
    return [entity for entity in entities if entity.id in ends]


def _among(ties: Iterable[Tie], entities: Sequence[Entity]) -> tuple[Tie, ...]:
    """The relations between these entities; of a pair with a stated one, mere mentions stay out."""
    ids = {entity.id for entity in entities}
    inside = [tie for tie in ties if ids.issuperset(tie.ends) and tie.edge.source_id != tie.edge.target_id]
    stated = {frozenset(tie.ends) for tie in inside if not tie.together}
    kept = [tie for tie in inside if not tie.together or frozenset(tie.ends) not in stated]
    return tuple(sorted(kept, key=_order))


def _order(tie: Tie) -> tuple[bool, bool, float, int]:
    return tie.together, tie.ended, -tie.edge.confidence, tie.edge.id


def _width(name: str) -> float:
    return sum(WIDE_LETTER if east_asian_width(letter) in "WF" else LETTER for letter in name)


def _radius(entity: Entity, entities: Sequence[Entity]) -> float:
    """Grows with the logarithm of how often it is mentioned."""
    most = max(entity.links for entity in entities)
    return round(7 + 11 * log1p(max(0, entity.links)) / max(1.0, log1p(most)), 1)


def _labelled(lines: Sequence[Line], spots: Sequence[Spot], frame: Frame) -> tuple[Line, ...]:
    """Stated relations with their names, as far as there is room; the list beside the picture names all."""
    stated = [replace(line, label=glimpse(line.tie.edge.relation, LONGEST)) for line in lines if not line.tie.together]
    strokes = [Stroke((line.x1, line.y1, line.x2, line.y2), SMALLER * _width(line.label) + 4, LABEL) for line in stated]
    feet = written(strokes, [box for spot in spots for box in _boxes(spot)], frame)
    named = [replace(line, foot=foot) for line, foot in zip(stated, feet, strict=True)]
    return (*named, *(line for line in lines if line.tie.together))


def _boxes(spot: Spot) -> tuple[Box, Box]:
    """The room of an entity: its disc, and its name below."""
    x, y, r, half = spot.x, spot.y, spot.radius + 2, _width(spot.name) / 2
    return Box(x - r, y - r, x + r, y + r), Box(x - half, y + r, x + half, y + r + 18)


def _line(tie: Tie, source: Spot, target: Spot) -> Line:
    across, down = target.x - source.x, target.y - source.y
    length = max(1.0, hypot(across, down))
    start, end = (source.radius + 2) / length, (target.radius + (2 if tie.together else 6)) / length
    width = round(min(4.0, 1 + 0.6 * log1p(tie.edge.count)), 2) if tie.together else 2.0
    return Line(
        tie,
        round(source.x + start * across, 1),
        round(source.y + start * down, 1),
        round(target.x - end * across, 1),
        round(target.y - end * down, 1),
        width,
    )
