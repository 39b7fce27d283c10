"""How fast writing and recalling are, and how much room a memory takes, compared with plain sqlite-vec."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from fivefold import sample
from fivefold.bench.corpus import MINUTE, START, VariedSample, records
from fivefold.bench.entity_crowd import add_entities, name
from fivefold.bench.measures import Measure, spread, timed_recall, write_rate
from fivefold.engine import Engine
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.rerankers import Passage, reranker
from fivefold.retrieval.routes import ROUTES, SearchContext
from fivefold.stores.queries import Filter
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.sqlite.vectors import knn

LARGE = 100_000
"""The size from which the parse and its routes have limits."""

NOW = START + 7 * LARGE * MINUTE
"""When the questions are asked: the last memories of a large namespace lie in the week before."""


def measure(sizes: Sequence[int], rounds: int, progress: bool = False) -> Iterator[Measure]:
    """All figures, smallest namespace first. Nothing is left behind."""
    model = VariedSample()
    warm_up(model)
    for size in sorted(sizes):
        with tempfile.TemporaryDirectory() as folder:
            store = SqliteStore(str(Path(folder) / "speed.db"))
            engine = Engine(store, embedder=model)
            try:
                yield from _measure_one(engine, store, size, rounds, progress)
            finally:
                engine.close()
    yield _encoding(rounds)
    yield from _reranking(min(rounds, 60))


def warm_up(model: VariedSample) -> None:
    """A few hundred other memories first, so that models and caches are as in a process at work."""
    engine = Engine(SqliteStore(":memory:"), embedder=model)
    engine.remember_many(records(500, seed=1))
    engine.close()


def _measure_one(engine: Engine, store: SqliteStore, size: int, rounds: int, progress: bool) -> Iterator[Measure]:
    rate = write_rate(engine, size, progress)
    yield Measure("write, no embedding", size, rate, None, "/s", "≥ 2,000", rate >= 2000)
    with store.connections.writer() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    room = store.size() / size / 1024
    yield Measure(
        "room on disk", size, room, None, "KB each", "≤ 6" if size >= 1000 else "", room <= 6 if size >= 1000 else None
    )
    limit = 5 if size <= 1000 else 15
    for recipe in ("default", "dense", "lexical"):
        yield _recall(engine, recipe, size, rounds, limit)
    yield _plain_knn(engine, store, size, rounds)
    yield from _understanding(engine, store, size, rounds)


def _understanding(engine: Engine, store: SqliteStore, size: int, rounds: int) -> Iterator[Measure]:
    """The parse and its two routes in a crowd: as many entities as memories, ten links a memory, three edges each."""
    key = store.key_of(engine.namespace)
    assert key is not None
    with store.connections.writer() as connection:
        add_entities(connection, key, entities=size, links=10 * size, edges=3 * size)
    limited = size >= LARGE
    names = [f"What did {name(number * 7919 % size)} say about the harbour last week?" for number in range(rounds)]
    query = engine.understand(names[0])
    assert query.entities
    yield _time_calls(
        "parse a question", size, 3 if limited else None, [partial(engine.understand, text) for text in names]
    )
    reader, routes = store.reader(engine.namespace), ROUTES
    sights = [SearchContext(engine.understand(text, now=NOW), reader, engine.settings, None, None) for text in names]
    for route, limit in (("graph", 5), ("temporal", 3)):
        calls = [partial(routes[route].search, search, 100, Filter(), routes[route].options()) for search in sights]
        yield _time_calls(f"{route} route", size, limit if limited else None, calls)


def _time_calls(what: str, size: int, limit: float | None, calls: Sequence[Callable[[], object]]) -> Measure:
    for call in calls[:3]:
        call()
    times = []
    for call in calls:
        start = perf_counter()
        call()
        times.append((perf_counter() - start) * 1000)
    p50, p95 = float(np.percentile(times, 50)), float(np.percentile(times, 95))
    bar = "" if limit is None else f"≤ {limit:g}"
    return Measure(what, size, p50, p95, "ms", bar, None if limit is None else p50 <= limit)


def _recall(engine: Engine, recipe: str, size: int, rounds: int, limit: float) -> Measure:
    p50, p95 = spread(partial(timed_recall, engine, recipe), rounds)
    limited = recipe == "default" and size <= 100_000
    return Measure(
        f"recall {recipe}", size, p50, p95, "ms", f"≤ {limit:g}" if limited else "", p50 <= limit if limited else None
    )


def _plain_knn(engine: Engine, store: SqliteStore, size: int, rounds: int) -> Measure:
    """The baseline: the ten nearest by one vec0 statement, no lexical search, no fusion, no trace."""
    space = store.reader(engine.namespace).search.vector_space()
    assert space is not None
    vectors = VariedSample().embed([question.query for question in sample.questions()])

    def once(question: str) -> float:
        start = perf_counter()
        with store.connections.reader() as connection:
            knn(connection, space, "full", vectors[hash(question) % len(vectors)], 10, Filter())
        return (perf_counter() - start) * 1000

    p50, p95 = spread(once, rounds)
    return Measure("baseline: vec0 alone", size, p50, p95, "ms", "", None)


def _encoding(rounds: int) -> Measure:
    model = embedder(DEFAULT)

    def once(question: str) -> float:
        start = perf_counter()
        model.embed([question])
        return (perf_counter() - start) * 1000

    p50, p95 = spread(once, rounds)
    return Measure(f"encode a question, {DEFAULT}", 0, p50, p95, "ms", "≤ 5", p50 <= 5)


def _reranking(rounds: int) -> Iterator[Measure]:
    """The cross-encoder alone over the sample's turns, each with the turn before it, nothing cached."""
    model = reranker("local")
    turns = [item["content"] for item in sample.memories()]
    for count, limit in ((10, 30), (20, 60)):
        chance = random.Random(count)

        def once(question: str, count: int = count, chance: random.Random = chance) -> float:
            places = [chance.randrange(1, len(turns)) for _ in range(count)]
            passages = [Passage(f"user (7 May 2025): {turns[i]}", turns[i - 1]) for i in places]
            start = perf_counter()
            model.scores(question, passages, timeout_s=60.0)
            return (perf_counter() - start) * 1000

        p50, p95 = spread(once, rounds)
        yield Measure(f"rerank {count} turns", 0, p50, p95, "ms", f"≤ {limit}", p50 <= limit)
