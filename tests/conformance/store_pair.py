"""A store under test and the reference, SQLite in memory: both store the same and answer the same questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from fivefold.engine import Engine
from fivefold.errors import FivefoldError
from fivefold.models.embedders import Embedder
from fivefold.retrieval.recipe import Recipe
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.transfer.jsonl import export_lines
from fivefold.values.entities import Edge, Entity
from fivefold.values.memory import RecordInput
from fivefold.values.recall import Recall
from fivefold.values.reports import Page, Stats
from fivefold.values.serialize import Json, plain

from .compare import differences, renamed, session_names, trace, unlike
from .recipes import UNHURRIED_MS, steady_recipes
from .vectors import WordVectors

NOW = datetime(2025, 3, 10, 12, tzinfo=UTC)

MOST_REPORTED = 8
"""How many differences a failure lists."""

_ENTITY_ID = re.compile(r"\(id \d+\)")


class Clock:
    """A clock that only moves by `tick`."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def tick(self) -> None:
        self.now += timedelta(minutes=1)


def new_namespace(name: str = "conformance") -> str:
    """A name that nobody has used yet: one store may serve many tests."""
    return f"{name} {uuid4().hex}"


def opened(
    store: Store, namespace: str | None = None, embedder: Embedder | None = None, clock: Clock | None = None
) -> Engine:
    """An engine on a namespace of its own, with cheap vectors, a fixed clock and no time-outs."""
    engine = Engine(store, namespace or new_namespace(), embedder or WordVectors(), clock=clock or Clock())
    engine.configure(route_budget_ms=UNHURRIED_MS)
    return engine


class StorePair:
    """The same namespace in the store under test and in the reference."""

    def __init__(self, store: Store, reference: Store, embedder: Embedder | None = None) -> None:
        namespace = new_namespace()
        self.clock = Clock()
        self.tested = opened(store, namespace, embedder, self.clock)
        self.reference = opened(reference, namespace, embedder, self.clock)

    def both(self, act: Callable[[Engine], object]) -> Any:
        """Do it on each side; what comes back, or the error, is the same. Gives what the store under test gave."""
        expected, actual = _outcome(self.reference, act), _outcome(self.tested, act)
        _agree([*unlike(_comparable(expected, self.reference), _comparable(actual, self.tested), "outcome")])
        self.clock.tick()
        return actual

    def remember(self, *records: RecordInput) -> None:
        """Remember these on both sides, in one batch."""
        self.both(lambda engine: engine.remember_many(records))

    def ask(self, *questions: str, recipes: Iterable[Recipe] | None = None, **how: Any) -> None:
        """Ask each question by each recipe on both sides: same hits, order, scores, evidence, drops and reasons."""
        wrong: list[str] = []
        names = [session_names(engine) for engine in (self.reference, self.tested)]
        for recipe in steady_recipes() if recipes is None else recipes:
            for question in questions:
                expected = trace(self.reference.recall(question, recipe=recipe, **how), self.reference, names[0])
                actual = trace(self.tested.recall(question, recipe=recipe, **how), self.tested, names[1])
                wrong += [f"{recipe.name}, {question!r}: {text}" for text in differences(expected, actual)]
        _agree(wrong)

    def same(self) -> None:
        """Both sides have the same: counts, sessions, entities, edges, settings, what was learned, every memory."""
        expected, actual = contents_of(self.reference), contents_of(self.tested)
        _agree([*unlike(expected, actual, "holds")])
        assert exported(self.tested) == exported(self.reference)
        for engine in (self.tested, self.reference):
            assert [finding for finding in engine.doctor() if not finding.ok] == []


@contextmanager
def in_memory() -> Iterator[Store]:
    """The reference."""
    store = open_store(":memory:")
    try:
        yield store
    finally:
        store.close()


def contents_of(engine: Engine) -> Json:
    """What a namespace has in addition to its memories."""
    entities = engine.graph.entities(limit=1_000)
    parts = {
        "stats": engine.stats(),
        "sessions": engine.sessions(1_000),
        "entities": entities,
        "edges": [engine.graph.edges(item.id, 1_000) for item in entities],
        "settings": engine.settings,
        "learned": engine.learned(),
    }
    contents: Json = _comparable(parts, engine)
    return contents


def exported(engine: Engine) -> list[str]:
    """Its memories, a line each, session memories by their session's name."""
    names = session_names(engine)
    return [str(renamed(line, names)) for line in export_lines(engine.store.reader(engine.namespace))]


def answers(engine: Engine, *questions: str, **how: Any) -> list[Json]:
    """What every recipe says to these questions, to be compared with what it says elsewhere or later."""
    names = session_names(engine)
    return [
        trace(engine.recall(question, recipe=recipe, **how), engine, names)
        for recipe in steady_recipes()
        for question in questions
    ]


def same_answers(expected: list[Json], actual: list[Json]) -> None:
    assert len(expected) == len(actual)
    _agree([text for one, other in zip(expected, actual, strict=True) for text in differences(one, other)])


def _agree(wrong: list[str]) -> None:
    more = f"\n… and {len(wrong) - MOST_REPORTED} more" if len(wrong) > MOST_REPORTED else ""
    assert not wrong, "\n".join(["the store differs from the reference:", *wrong[:MOST_REPORTED]]) + more


def _outcome(engine: Engine, act: Callable[[Engine], object]) -> object:
    try:
        return act(engine)
    except FivefoldError as error:
        return error


def _comparable(value: object, engine: Engine) -> Any:
    """An outcome in plain values, without numbers and ids that each store hands out as it likes."""
    return renamed(_plain(value, engine), session_names(engine))


def _plain(value: object, engine: Engine) -> Any:
    if isinstance(value, FivefoldError):
        return f"{type(value).__name__}: {_ENTITY_ID.sub('(id)', str(value))}"
    if isinstance(value, Recall):
        return trace(value, engine, {})
    if isinstance(value, Entity | Edge | Stats):
        fields = value.to_dict()
        for own in ("id", "source_id", "target_id", "bytes_on_disk"):
            fields.pop(own, None)
        for period in fields.get("periods", ()):
            period.pop("ms")
        return {**fields, "aliases": sorted(fields["aliases"])} if "aliases" in fields else fields
    if isinstance(value, Mapping):
        return {str(key): _plain(item, engine) for key, item in value.items()}
    if isinstance(value, list | tuple | Page):  # what a cursor holds is the store's own
        return [_plain(item, engine) for item in value]
    return plain(value)
