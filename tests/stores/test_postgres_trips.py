"""How often the PostgreSQL store waits for its server, counted on the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval import retrieve
from fivefold.retrieval.in_store import search_in_store
from fivefold.retrieval.recipe_file import known_recipes
from fivefold.stores.postgres.reader import PostgresReader
from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.protocol import Space
from fivefold.stores.queries import Arm, Composite, Filter, MemoryFilter, Walk
from fivefold.testing.recipes import UNHURRIED_MS
from fivefold.testing.strategies import SENTENCES
from fivefold.testing.vectors import WordVectors
from fivefold.values.decay import Decay
from fivefold.values.trace import RouteRun
from tests.support.postgres import Server
from tests.support.round_trips import RoundTrips

LATENCY_S = 0.02
"""Long enough that statements sent in one go are all on their way before the first answer is back."""

QUESTION = "Who met Sarah over tea in March?"
NOW = datetime(2025, 3, 10, tzinfo=UTC)
VECTOR = WordVectors().embed([QUESTION])[0]
LEXEMES = ("met", "sarah", "tea", "march")
FOUND = Filter()

MOST = {"dense": 6, "lexical": 6, "ditto": 7, "five-stage": 8, "memsense": 9, "recall": 9, "engram": 15, "default": 16}
"""How often a whole recall waits at most; routes that run side by side share one connection here."""


@pytest.fixture(scope="module")
def trips(postgres: Server) -> Iterator[RoundTrips]:
    with RoundTrips(postgres.dsn(schema=postgres.new_schema(), pool_size="1")) as relay:
        yield relay


@pytest.fixture(scope="module")
def engine(trips: RoundTrips) -> Iterator[Engine]:
    """Asked once by every recipe, so that the connection is there; from then on the way is long."""
    with fivefold.open(trips.dsn, embedder=WordVectors()) as opened:
        opened.configure(route_budget_ms=UNHURRIED_MS)
        opened.remember_many({"content": text, "session_id": f"s{i % 3}"} for i, text in enumerate(SENTENCES))
        for recipe in known_recipes():
            opened.recall(QUESTION, recipe=recipe)
        trips.latency_s = LATENCY_S
        yield opened
        trips.latency_s = 0.0


@pytest.fixture
def reader(engine: Engine) -> PostgresReader:
    """Knows its space already, as every recall's does."""
    made = engine.store.reader(engine.namespace)
    assert isinstance(made, PostgresReader)
    made.space()
    return made


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements sent from here on."""
    sent: list[str] = []
    asked = PostgresStore.ask

    def ask(store: PostgresStore, key: int, sql: str, *rest: Any) -> list[tuple[Any, ...]]:
        sent.append(sql)
        return asked(store, key, sql, *rest)

    monkeypatch.setattr(PostgresStore, "ask", ask)
    return sent


@pytest.mark.parametrize("recipe", ["memsense", "five-stage", "ditto"])
def test_searching_and_fusing_is_one_statement_in_one_round_trip(
    recipe: str, engine: Engine, trips: RoundTrips, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []

    def search(*given: Any) -> list[RouteRun]:
        before = len(statements)
        with trips.counted() as counted:
            runs = search_in_store(*given)
        seen.append((counted.count, len(statements) - before))
        return runs

    monkeypatch.setattr(retrieve, "search_in_store", search)
    recall = engine.recall(QUESTION, recipe=recipe)
    assert seen == [(1, 1)]
    assert recall.hits
    assert {run.status for run in recall.routes} <= {"hits", "skipped"}


@pytest.mark.parametrize("recipe", known_recipes())
def test_a_whole_recall_waits_only_so_often(recipe: str, engine: Engine, trips: RoundTrips) -> None:
    with trips.counted() as counted:
        assert engine.recall(QUESTION, recipe=recipe).hits
    print(f"{recipe}: {counted.count} round trips")
    assert counted.count <= MOST[recipe]


ARMS = (Arm("dense", 20, 1.0, "full"), Arm("lexical", 20, 0.7), Arm("sessions", 20, 0.5, sessions=True))
SIGNALS = Composite(20, ("dense", 0.6), ("recency", 0.25), ("frequency", 0.15), Decay(), NOW)

METHODS: dict[str, Callable[[PostgresReader, Space], object]] = {
    "exists": lambda reader, space: reader.exists(),
    "space": lambda reader, space: reader.space(),
    "settings": lambda reader, space: reader.settings(),
    "dense": lambda reader, space: reader.dense(space, "full", VECTOR, 20, Filter(("fact", "event"))),
    "lexical": lambda reader, space: reader.lexical(LEXEMES, 20, FOUND),
    "sessions by words": lambda reader, space: reader.lexical(LEXEMES, 20, Filter(sessions=True)),
    "latest_with": lambda reader, space: reader.latest_with(LEXEMES, 5),
    "vocabulary": lambda reader, space: reader.vocabulary(100),
    "patterns": lambda reader, space: reader.patterns(space, "full", VECTOR, 20, FOUND),
    "rrf": lambda reader, space: reader.rrf(space, VECTOR, LEXEMES, ARMS, 60.0),
    "composite": lambda reader, space: reader.composite(space, VECTOR, SIGNALS),
    "vectors": lambda reader, space: reader.vectors(space, range(1, 40)),
    "neighbours": lambda reader, space: reader.neighbours(range(1, 40)),
    "fetch": lambda reader, space: reader.fetch(range(1, 40)),
    "get": lambda reader, space: reader.get("none"),
    "known": lambda reader, space: reader.known(["none", "no"]),
    "noted": lambda reader, space: reader.noted([b"0" * 16]),
    "scan": lambda reader, space: reader.scan(),
    "links": lambda reader, space: reader.links(range(1, 40)),
    "entities": lambda reader, space: reader.entities("sarah", 5),
    "entities_at": lambda reader, space: reader.entities_at(range(1, 40)),
    "edges": lambda reader, space: reader.edges(3, 5, (0, 0.5, 1)),
    "called": lambda reader, space: reader.called(["sarah", "tom reed"]),
    "mentioned": lambda reader, space: reader.mentioned(range(1, 40), range(1, 40)),
    "near": lambda reader, space: reader.near("sarah", range(1, 40)),
    "related": lambda reader, space: reader.related(3, ["reports to"], inverse=True),
    "walk": lambda reader, space: reader.walk([(key, 1.0) for key in range(1, 40)], Walk(NOW), 20),
    "temporal": lambda reader, space: reader.temporal(datetime(2000, 1, 1, tzinfo=UTC), NOW, 20),
    "holds_type": lambda reader, space: reader.holds_type("event", 3),
    "session_rows": lambda reader, space: reader.session_rows(["s0", "s1"]),
    "last_talk": lambda reader, space: reader.last_talk(NOW),
    "sessions": lambda reader, space: reader.sessions(5),
    "memories": lambda reader, space: reader.memories(MemoryFilter(tag="a", words=("tea",), since=NOW), (0, 0), 5),
    "turns": lambda reader, space: reader.turns("s0"),
    "last_turns": lambda reader, space: reader.last_turns(None, NOW, 5),
    "mentioning": lambda reader, space: reader.mentioning(3, 5, (0, 1)),
    "lineage": lambda reader, space: reader.lineage(3),
    "ties": lambda reader, space: reader.ties(3, range(1, 40)),
    "recalled": lambda reader, space: reader.recalled("none"),
    "feedback_count": lambda reader, space: reader.feedback_count(),
    "signals": lambda reader, space: reader.signals("none"),
    "learned": lambda reader, space: reader.learned("none"),
}


@pytest.mark.parametrize("method", METHODS)
def test_each_question_to_a_reader_is_one_round_trip(method: str, reader: PostgresReader, trips: RoundTrips) -> None:
    space = reader.space()
    assert space is not None
    METHODS[method](reader, space)
    with trips.counted() as counted:
        METHODS[method](reader, space)
    assert counted.count == 1


def test_nothing_to_ask_is_no_round_trip(reader: PostgresReader, trips: RoundTrips) -> None:
    with trips.counted() as counted:
        found: Sequence[object] = [
            reader.lexical([], 20, FOUND),
            reader.latest_with([], 5),
            reader.walk([], Walk(NOW), 20),
            reader.rrf(None, None, (), ARMS, 60.0),
        ]
    assert (found, counted.count) == ([[], [], [], []], 0)


def test_writing_a_hundred_waits_about_as_often_as_writing_one(engine: Engine, trips: RoundTrips) -> None:
    """What a batch needs to know is looked up at once, and statements that need no answer go in one go."""
    with trips.counted() as one:
        engine.remember("Ann baked bread")
    texts = [f"Parcel {number} went to Oslo" for number in range(100)]
    with trips.counted() as many:
        engine.remember_many(texts)
    print(f"remember: {one.count} round trips; remember_many of 100: {many.count}")
    assert one.count <= 14
    assert many.count <= 20
