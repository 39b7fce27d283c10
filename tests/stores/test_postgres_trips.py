"""How often the PostgreSQL store waits for its server, counted on the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval import retrieve
from fivefold.retrieval.recipe_file import known_recipes
from fivefold.retrieval.retrieve import search_in_store
from fivefold.stores.interface import Reader
from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.records import Arm, Composite, VectorSpace, Walk
from fivefold.values.filters import Filter
from fivefold.values.query import Decay
from fivefold.values.recall_trace import RouteRun
from tests.conformance.recipes import UNHURRIED_MS
from tests.conformance.strategies import SENTENCES
from tests.conformance.vectors import WordVectors
from tests.support.postgres import Server
from tests.support.round_trips import RoundTrips

pytestmark = pytest.mark.postgres

LATENCY_S = 0.05
"""Long enough that statements sent in one go are all on their way before the first answer is back."""

QUESTION = "Who met Sarah over tea in March?"
NOW = datetime(2025, 3, 10, tzinfo=UTC)
VECTOR = WordVectors().embed([QUESTION])[0]
LEXEMES = ("met", "sarah", "tea", "march")
FOUND = Filter()

MOST = {
    "dense": 6,
    "lexical": 6,
    "late": 12,
    "ditto": 7,
    "five-stage": 8,
    "memsense": 9,
    "recall": 9,
    "engram": 15,
    "default": 16,
}
"""How often a whole recall waits at most; routes that run side by side share one connection here."""

TRIES = 4


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
def reader(engine: Engine) -> Reader:
    """Knows its space already, as every recall's does."""
    made = engine.store.reader(engine.namespace)
    made.search.vector_space()
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
    """The least of a few counts: on a busy machine an answer may come before the last of what was sent in one go."""
    weak = {"select.threshold.least": 0} if recipe == "engram" else None
    counts: list[int] = []
    while not counts or (min(counts) > MOST[recipe] and len(counts) < TRIES):
        with trips.counted() as counted:
            assert engine.recall(QUESTION, recipe=recipe, overrides=weak).hits
        counts.append(counted.count)
    print(f"{recipe}: {counts} round trips")
    assert min(counts) <= MOST[recipe]


ARMS = (Arm("dense", 20, 1.0, "full"), Arm("lexical", 20, 0.7), Arm("sessions", 20, 0.5, sessions=True))
SIGNALS = Composite(20, ("dense", 0.6), ("recency", 0.25), ("frequency", 0.15), Decay(), NOW)

PASSAGES = [(row, part) for row in range(1, 40) for part in range(3)]

METHODS: dict[str, Callable[[Reader, VectorSpace], object]] = {
    "exists": lambda reader, space: reader.exists(),
    "space": lambda reader, space: reader.search.vector_space(),
    "settings": lambda reader, space: reader.admin.settings(),
    "last_written": lambda reader, space: reader.memories.last_written(NOW),
    "dense_each": lambda reader, space: reader.search.dense_each(space, "full", [VECTOR, -VECTOR], 20),
    "dense": lambda reader, space: reader.search.dense(space, "full", VECTOR, 20, Filter(("fact", "event"))),
    "lexical": lambda reader, space: reader.search.lexical(LEXEMES, 20, FOUND),
    "sessions by words": lambda reader, space: reader.search.lexical(LEXEMES, 20, Filter(), sessions=True),
    "latest_with": lambda reader, space: reader.search.latest_with(LEXEMES, 5),
    "vocabulary": lambda reader, space: reader.search.vocabulary(100),
    "patterns": lambda reader, space: reader.search.patterns(space, "full", VECTOR, 20, FOUND),
    "rrf": lambda reader, space: reader.search.rrf(space, VECTOR, LEXEMES, ARMS, 60.0),
    "composite": lambda reader, space: reader.search.composite(space, VECTOR, SIGNALS),
    "vectors": lambda reader, space: reader.search.vectors(space, range(1, 40)),
    "token_vectors": lambda reader, space: reader.search.token_vectors(replace(space, tokens=True), PASSAGES),
    "passage_vectors": lambda reader, space: reader.search.passage_vectors(space, range(1, 40)),
    "neighbours": lambda reader, space: reader.sessions.neighbours(range(1, 40)),
    "fetch": lambda reader, space: reader.memories.fetch(range(1, 40)),
    "get": lambda reader, space: reader.memories.get("none"),
    "get_many": lambda reader, space: reader.memories.get_many(["none", "no"]),
    "known": lambda reader, space: reader.memories.existing_ids(["none", "no"]),
    "noted": lambda reader, space: reader.memories.existing_notes([b"0" * 16]),
    "scan": lambda reader, space: reader.memories.scan(),
    "links": lambda reader, space: reader.memories.links(range(1, 40)),
    "entities": lambda reader, space: reader.graph.entities("sarah", 5),
    "entities_at": lambda reader, space: reader.graph.entities_by_key(range(1, 40)),
    "edges": lambda reader, space: reader.graph.edges(3, 5, (0, 0.5, 1)),
    "called": lambda reader, space: reader.graph.find_aliases(["sarah", "tom reed"]),
    "mentioned": lambda reader, space: reader.graph.count_mentions(range(1, 40), range(1, 40)),
    "mentions": lambda reader, space: reader.graph.mentions(["none", "no"], range(1, 40)),
    "with_edges": lambda reader, space: reader.graph.with_edges(range(1, 40), ["reports to"]),
    "near": lambda reader, space: reader.graph.neighbours_of("sarah", range(1, 40)),
    "related": lambda reader, space: reader.graph.find_related(3, ["reports to"], inverse=True),
    "walk": lambda reader, space: reader.graph.walk([(key, 1.0) for key in range(1, 40)], Walk(NOW), 20),
    "temporal": lambda reader, space: reader.search.temporal(datetime(2000, 1, 1, tzinfo=UTC), NOW, 20),
    "holds_type": lambda reader, space: reader.memories.has_type("event", 3),
    "session_rows": lambda reader, space: reader.sessions.memory_rows(["s0", "s1"]),
    "sessions": lambda reader, space: reader.sessions.page(5),
    "memories": lambda reader, space: reader.memories.page(
        Filter(all_tags=("a",), words=("tea",), since=NOW), (0, 0), 5
    ),
    "turns": lambda reader, space: reader.sessions.turns("s0"),
    "last_turns": lambda reader, space: reader.sessions.last_turns(None, NOW, 5),
    "mentioning": lambda reader, space: reader.graph.memories_about(3, 5, (0, 1)),
    "lineage": lambda reader, space: reader.memories.lineage(3),
    "ties": lambda reader, space: reader.memories.links_around(3, range(1, 40)),
    "recalled": lambda reader, space: reader.feedback.returned_ids("none"),
    "past_questions": lambda reader, space: reader.feedback.past_questions("sarah", 50),
    "feedback_count": lambda reader, space: reader.feedback.count(),
    "signals": lambda reader, space: reader.feedback.signals("none"),
    "learned": lambda reader, space: reader.admin.learned_value("none"),
}


@pytest.mark.parametrize("method", METHODS)
def test_each_question_to_a_reader_is_one_round_trip(method: str, reader: Reader, trips: RoundTrips) -> None:
    space = reader.search.vector_space()
    assert space is not None
    METHODS[method](reader, space)
    with trips.counted() as counted:
        METHODS[method](reader, space)
    assert counted.count == 1


def test_nothing_to_ask_is_no_round_trip(reader: Reader, trips: RoundTrips) -> None:
    with trips.counted() as counted:
        found: Sequence[object] = [
            reader.search.lexical([], 20, FOUND),
            reader.search.latest_with([], 5),
            reader.search.dense_each(VectorSpace(1, "made@1", 2), "full", [], 5),
            reader.graph.walk([], Walk(NOW), 20),
            reader.search.rrf(None, None, (), ARMS, 60.0),
            [reader.search.token_vectors(VectorSpace(1, "made@1", 2, True), [])],
            [reader.search.token_vectors(VectorSpace(1, "made@1", 2, False), PASSAGES)],
            [reader.search.passage_vectors(VectorSpace(1, "made@1", 2), [])],
        ]
    assert (found, counted.count) == ([[], [], [], [], [], [{}], [{}], [{}]], 0)


def test_writing_a_hundred_waits_about_as_often_as_writing_one(engine: Engine, trips: RoundTrips) -> None:
    """What a batch needs to know is looked up at once, and statements that need no answer go in one go.

    Outside a transaction, the first use of a statement on a connection takes one more round trip, to prepare it.
    """
    engine.remember("Bob mowed the lawn")
    with trips.counted() as one:
        engine.remember("Ann baked bread")
    texts = [f"Parcel {number} went to Oslo" for number in range(100)]
    with trips.counted() as many:
        engine.remember_many(texts)
    print(f"remember: {one.count} round trips; remember_many of 100: {many.count}")
    assert one.count <= 19
    assert many.count <= 22
