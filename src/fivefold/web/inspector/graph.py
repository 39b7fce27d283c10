"""Graph: the entities and their relations, as a list, and as a picture that a script draws from the same data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, get_args

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response

from fivefold.errors import InvalidInput, NotFound
from fivefold.service.session import Session
from fivefold.text.names import role_in, wider
from fivefold.values.entities import Edge, Entity
from fivefold.values.reports import MAX_PLACE
from fivefold.values.times import utc_now
from fivefold.web.inspector.overview import profile_of, timeline, undo_of
from fivefold.web.inspector.rendering import PageSession, address, confirmation, page, plural, redirect, shorten
from fivefold.writing.entity_graph import Graph

ShownKind = Literal["user", "person", "place", "organisation", "identifier", "topic", "other"]
SHOWN_KINDS: tuple[ShownKind, ...] = get_args(ShownKind)
"""In the order of the legend; each has its colour."""

USER = "user"
"""The name under which the graph has the person whose memory it is."""


def kind_of(entity: Entity) -> ShownKind:
    """The user, or the kind it is stored with."""
    if entity.name.casefold() == USER:
        return "user"
    return entity.kind if entity.kind in SHOWN_KINDS else "other"


MAX_ENTITIES = 20
"""Entities in the picture, so that it stays readable; the script draws fewer on a phone."""

MAX_EDGES = 200
"""Relations read of one entity, surest first."""

MIN_NEIGHBOURS, MAX_FURTHER = 6, 4
"""With fewer neighbours, the picture shows so many further ones of each."""

MIN_LINES = 2
"""Lines of an entity from which on the picture leaves out co-mentions with others that have as many."""


Line = Literal["stated", "ended", "shared"]


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of the graph, and whether it has ended."""

    edge: Edge
    ended: bool

    @property
    def stated(self) -> bool:
        """True if a text states it; otherwise the two are only mentioned together."""
        return not self.edge.is_co_mention

    @property
    def line(self) -> Line:
        """The style of its line."""
        return "shared" if not self.stated else "ended" if self.ended else "stated"

    @property
    def ends(self) -> tuple[int, int]:
        return self.edge.source_id, self.edge.target_id


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Entities, best first, with their kinds, and the relations between them."""

    entities: tuple[Entity, ...]
    kinds: tuple[ShownKind, ...]
    relations: tuple[Relation, ...]
    centred: bool = False
    """True if the first entity is in the middle: the chosen one, or the user."""
    chosen: bool = False
    left_out: int = 0
    """Neighbours of the chosen entity beyond `MAX_ENTITIES`."""

    def shown_kinds(self) -> list[ShownKind]:
        """The kinds in the picture, in the order of the legend."""
        return [kind for kind in SHOWN_KINDS if kind in self.kinds]

    def shown_lines(self) -> set[str]:
        """The sorts of relations in the picture."""
        return {item.line for item in self.relations}

    def to_json(self, namespace: str) -> str:
        """The data that the script draws; a relation names its entities by their place in the list."""
        places = {entity.id: place for place, entity in enumerate(self.entities)}
        entities = [
            {
                "name": shorten(entity.name, 80),
                "label": f"{shorten(entity.name, 80)}, {kind}, {plural(entity.links, 'mention', 'mentions')}",
                "kind": kind,
                "mentions": max(0, entity.links),
                "href": address("/graph", namespace, {"entity": entity.id}),
                "middle": self.centred and place == 0,
                "chosen": self.chosen and place == 0,
            }
            for place, (entity, kind) in enumerate(zip(self.entities, self.kinds, strict=True))
        ]
        relations = [
            {
                "source": places[item.edge.source_id],
                "target": places[item.edge.target_id],
                "name": shorten(item.edge.relation, 80),
                "line": item.line,
                "count": item.edge.count,
            }
            for item in self.relations
        ]
        return json.dumps({"entities": entities, "relations": relations, "left_out": self.left_out})


class RelationReader:
    """Reads relations from the graph, once for each entity."""

    def __init__(self, graph: Graph, now: datetime) -> None:
        self.graph = graph
        self._now = now
        self._known: dict[int, list[Relation]] = {}

    def of(self, entity: int) -> list[Relation]:
        """The relations of an entity: stated ones first, of these the current ones, surest first."""
        if entity not in self._known:
            narrow_first = sorted(
                self.graph.edges(entity, MAX_EDGES), key=lambda edge: f"{wider(edge.relation)} of" == edge.relation
            )
            relations = [
                Relation(edge, edge.valid_to is not None and edge.valid_to <= self._now) for edge in narrow_first
            ]
            once = {_meaning(item): item for item in reversed(relations)}
            self._known[entity] = sorted(once.values(), key=_order)
        return self._known[entity]


def find_neighbourhood(reader: RelationReader, chosen: Entity) -> Neighbourhood:
    """The chosen entity with its neighbours; if it has few, also some of theirs."""
    own = reader.of(chosen.id)
    near = _other_ends(own, {chosen.id})
    others = near[: MAX_ENTITIES - 1]
    by_neighbour = {key: reader.of(key) for key in others}
    if len(others) < MIN_NEIGHBOURS:
        seen = {chosen.id, *others}
        others += dict.fromkeys(key for each in by_neighbour.values() for key in _other_ends(each, seen)[:MAX_FURTHER])
    entities = (chosen, *reader.graph.entities_by_id(others[: MAX_ENTITIES - 1]))
    relations = {item.edge.id: item for each in (own, *by_neighbour.values()) for item in each}
    left_out = max(0, len(near) - MAX_ENTITIES + 1)
    drawn = _thin(_between(relations.values(), entities), chosen.id)
    return Neighbourhood(entities, tuple(map(kind_of, entities)), drawn, True, True, left_out)


def connect(reader: RelationReader, entities: Sequence[Entity], user: Entity | None = None) -> Neighbourhood:
    """The first of these entities that have a relation to another of them, the user in the middle.

    Those about which a text states a relation come first, of these the ones that are related to the user.
    """
    around: list[Entity] = []
    if user is not None:
        near = _other_ends([item for item in reader.of(user.id) if item.stated], {user.id})
        around = [user, *reader.graph.entities_by_id(near[: MAX_ENTITIES - 1])]
    first = {entity.id: entity for entity in (*around, *entities[: 2 * MAX_ENTITIES])}
    relations = {item.edge.id: item for key in first for item in reader.of(key)}
    stated = {key for item in _between(relations.values(), first.values()) if item.stated for key in item.ends}
    ranked = sorted(first.values(), key=lambda entity: entity.id not in stated)
    related = tuple(_related(_related(ranked, relations.values())[:MAX_ENTITIES], relations.values()))
    centred = user is not None and user.id in {entity.id for entity in related[:1]}
    return Neighbourhood(related, tuple(map(kind_of, related)), _thin(_between(relations.values(), related)), centred)


def _other_ends(relations: Iterable[Relation], seen: set[int]) -> list[int]:
    """The entities of these relations that are not `seen`, in the order of the relations."""
    return [key for key in dict.fromkeys(key for item in relations for key in item.ends) if key not in seen]


def _related(entities: Sequence[Entity], relations: Iterable[Relation]) -> list[Entity]:
    ends = {key for item in _between(relations, entities) for key in item.ends}
    return [entity for entity in entities if entity.id in ends]


def _between(relations: Iterable[Relation], entities: Iterable[Entity]) -> tuple[Relation, ...]:
    """The relations between these entities; co-mentions of a pair are left out if a text states a relation."""
    ids = {entity.id for entity in entities}
    inside = [item for item in relations if ids.issuperset(item.ends) and item.edge.source_id != item.edge.target_id]
    stated = {frozenset(item.ends) for item in inside if item.stated}
    return tuple(sorted((item for item in inside if item.stated or frozenset(item.ends) not in stated), key=_order))


def _thin(relations: Iterable[Relation], chosen: int | None = None) -> tuple[Relation, ...]:
    """The stated relations and those of the chosen entity; of the rest the most frequent, until all have enough."""
    kept, lines = [], Counter[int]()
    for item in sorted(relations, key=lambda item: (not item.stated, chosen not in item.ends, -item.edge.count)):
        if item.stated or chosen in item.ends or min(lines[key] for key in item.ends) < MIN_LINES:
            kept.append(item)
            lines.update(item.ends)
    return tuple(sorted(kept, key=_order))


def _meaning(item: Relation) -> tuple[tuple[int, ...], str, bool, bool]:
    """Equal for relations that say the same of two: parent and father of one, child of the other."""
    ends = tuple(sorted(item.ends))
    role, turned = role_in(item.edge.relation, item.edge.target_id == ends[0])
    return ends, wider(role), turned, item.ended


def _order(item: Relation) -> tuple[bool, bool, float, int]:
    return not item.stated, item.ended, -item.edge.confidence, item.edge.id


PAGE_ENTITIES = 40
"""Entities in the list if none is chosen."""

MAX_MEMORIES = 20
"""Memories on the page of an entity that they mention."""

MAX_UNDONE = 1_000
"""Memories that the form for undoing a merge sends."""

CHANGES = {
    "rename": ("change entity", "renamed"),
    "alias": ("change entity", "aliased"),
    "merge": ("merge entities", "merged"),
    "split": ("split entity", "parted"),
}
"""By the name of a form: the action in the audit log, and the word for the confirmation."""

router: APIRouter = APIRouter()

Id = Annotated[int, Query(ge=0, lt=MAX_PLACE)]
Name = Annotated[str, Form(max_length=1_000)]


@router.get("/graph")
def graph(
    request: Request,
    session: PageSession,
    entity: Annotated[int | None, Query(ge=0, lt=MAX_PLACE)] = None,
    name: Annotated[str, Query(max_length=1_000)] = "",
    cursor: Annotated[str, Query(max_length=4_000)] = "",
    of: Annotated[str, Query(max_length=1_000)] = "",
    done: str = "",
    line: Annotated[str, Query(max_length=1_000)] = "",
) -> Response:
    """The chosen entity with its neighbourhood; without one, the most mentioned ones or those with that name."""
    if entity is None:
        return _list_page(request, session, name.strip(), cursor)
    with session.act("entity", subject=str(entity)) as act:
        chosen = act.engine.graph.entity(entity)
        line_undo = undo_of(act.engine, done, line)
        return _entity_page(request, session, chosen, done=confirmation(done), line_undo=line_undo, of=of)


def _list_page(request: Request, session: Session, name: str, cursor: str) -> Response:
    error = ""
    with session.act("entities") as act:
        graph = act.engine.graph
        try:
            entities = graph.entities(name or None, PAGE_ENTITIES, cursor or None)
        except InvalidInput as problem:
            entities, error = graph.entities(limit=PAGE_ENTITIES), str(problem)
    if name and len(entities) == 1:
        return redirect(session, "/graph", entity=entities[0].id)
    users = [] if name or cursor else graph.entities_by_id(list(graph.named([USER]).values()))
    return page(
        request,
        "graph.html",
        422 if error else 200,
        chosen=None,
        name=name,
        entities=entities,
        kind_of=kind_of,
        error=error,
        cursor=cursor,
        done="",
        undo=None,
        neighbourhood=connect(RelationReader(graph, utc_now()), entities, next(iter(users), None)),
    )


@router.post("/graph/rename")
def rename(request: Request, session: PageSession, entity: Id, name: Name = "") -> Response:
    return _change(request, session, entity, "rename", name, lambda graph: graph.rename(entity, name))


@router.post("/graph/alias")
def alias(request: Request, session: PageSession, entity: Id, name: Name = "") -> Response:
    return _change(request, session, entity, "alias", name, lambda graph: graph.alias(entity, name))


@dataclass(frozen=True, slots=True)
class Undo:
    """The form that takes a change back, and what it sends."""

    form: str
    name: str
    memories: Sequence[str] = ()


@router.post("/graph/merge")
def merge(request: Request, session: PageSession, entity: Id, name: Name = "") -> Response:
    """Merges the entity with that name into this one; an id if several have the name."""

    def change(graph: Graph) -> Undo:
        other = graph.entity(int(name) if name.strip().isdecimal() else name)
        memories = [memory.id for memory in graph.memories(other.id, MAX_UNDONE)]
        graph.merge(entity, other.id)
        return Undo("split", other.name, memories)

    return _change(request, session, entity, "merge", name, change)


@router.post("/graph/split")
def split(
    request: Request,
    session: PageSession,
    entity: Id,
    memory: Annotated[list[str] | None, Form(max_length=MAX_UNDONE)] = None,
    name: Name = "",
) -> Response:
    """Makes an entity of that name, to which the chosen memories belong."""
    return _change(
        request,
        session,
        entity,
        "split",
        name,
        lambda graph: Undo("merge", str(graph.split(entity, name, memory or []).id)),
    )


def _change(
    request: Request, session: Session, entity: int, form: str, name: str, change: Callable[[Graph], Undo | Entity]
) -> Response:
    """Make the change, or show the entity again with the text of the form and the error."""
    action, done = CHANGES[form]
    try:
        with session.act(action, "writer", str(entity)) as act:
            act.engine.graph.entity(entity)
            made = change(act.engine.graph)
    except (InvalidInput, NotFound) as error:
        chosen = session.engine().graph.entity(entity)
        return _entity_page(request, session, chosen, 422, names={form: name}, errors={form: str(error)})
    if isinstance(made, Undo):
        chosen = session.engine().graph.entity(entity)
        return _entity_page(request, session, chosen, done=confirmation(done), undo=made)
    return redirect(session, "/graph", entity=entity, done=done)


def _entity_page(
    request: Request,
    session: Session,
    chosen: Entity,
    status: int = 200,
    done: str = "",
    names: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
    undo: Undo | None = None,
    line_undo: str = "",
    of: str = "",
) -> Response:
    engine = session.engine()
    graph = engine.graph
    relations = RelationReader(graph, utc_now())
    profile = profile_of(engine, chosen)
    name = chosen.name if profile is None else profile.about
    return page(
        request,
        "graph.html",
        status,
        chosen=chosen,
        kind=kind_of(chosen),
        name="",
        error="",
        done=done,
        undo=undo,
        line_undo=line_undo,
        profile=profile,
        back=address("/graph", session.namespace, {"entity": chosen.id, "of": of}),
        of=of,
        timeline=timeline(session, of, "" if name == USER else name),
        relations=relations.of(chosen.id),
        most_relations=MAX_EDGES,
        memories=graph.memories(chosen.id, MAX_MEMORIES),
        most_memories=MAX_MEMORIES,
        names={"rename": chosen.name, "alias": "", "merge": "", "split": "", **(names or {})},
        errors=errors or {},
        neighbourhood=find_neighbourhood(relations, chosen),
    )
