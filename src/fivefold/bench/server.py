"""How fast a PostgreSQL store is, on a schema of its own that is dropped afterwards."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

import numpy as np

from fivefold import sample
from fivefold.bench.corpus import VariedSample, records
from fivefold.bench.measures import BATCH, Measure, spread, timed_recall, written
from fivefold.engine import Engine
from fivefold.errors import InvalidInput, MissingExtra
from fivefold.progress import bar
from fivefold.recipe import known_recipes
from fivefold.stores import POSTGRES
from fivefold.stores.base import FIELDS, Filter

if TYPE_CHECKING:
    from fivefold.stores.postgres.store import PostgresStore

LIMIT_MS = 40
"""What a recall of any recipe may take at 100,000 memories, without encoding and cross-encoder."""

NAMESPACES, CLIENTS = 50, 8
"""The crowd: so many namespaces, asked by so many clients at once."""

EACH = 500
"""Memories of each of the crowd's namespaces."""

CROWD_S = 10.0
"""How long the crowd asks, and how long it writes and asks."""


def measure_server(dsn: str, sizes: Sequence[int], rounds: int, progress: bool = False) -> Iterator[Measure]:
    """All figures of a server, smallest namespace first, then the crowd. Nothing is left behind."""
    for size in sorted(sizes):
        with _own_store(dsn) as store:
            engine = Engine(store, embedder=VariedSample())
            yield from _measure_one(engine, store, size, rounds, progress)
    with _own_store(dsn) as store:
        yield from _crowd(store, progress)


@contextmanager
def _own_store(dsn: str) -> Iterator[PostgresStore]:
    """A store in a schema that exists for this measurement only."""
    if not dsn.startswith(POSTGRES):
        raise InvalidInput(f"--dsn takes a PostgreSQL address such as postgresql://user@host/database, not {dsn!r}")
    try:
        from fivefold.stores.postgres.store import PostgresStore
    except ImportError:
        raise MissingExtra("a PostgreSQL store", "postgres") from None
    schema = f"fivefold_speed_{os.getpid()}_{random.randrange(1 << 30)}"
    first, *replicas = dsn.split(",postgres", 1)
    address = f"{first}{'&' if '?' in first else '?'}schema={schema}"
    store = PostgresStore(",postgres".join([address, *replicas]))
    try:
        yield store
    finally:
        store.close()
        with store.administration() as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


def _measure_one(engine: Engine, store: PostgresStore, size: int, rounds: int, progress: bool) -> Iterator[Measure]:
    rate = written(engine, size, progress)
    yield Measure("write, no embedding", size, rate, None, "/s", "", None)
    start = perf_counter()
    for _ in store.tend():
        pass
    if store.indexes:
        yield Measure("HNSW index built", size, perf_counter() - start, None, "s", "", None)
    yield Measure("room on disk", size, store.size() / size / 1024, None, "KB each", "", None)
    yield from _nearest(engine, store, size, rounds)
    held = size == 100_000
    for recipe in known_recipes():
        p50, p95 = spread(partial(timed_recall, engine, recipe), rounds)
        limit, ok = (f"≤ {LIMIT_MS}", p50 <= LIMIT_MS) if held else ("", None)
        yield Measure(f"recall {recipe}", size, p50, p95, "ms", limit, ok)


def _nearest(engine: Engine, store: PostgresStore, size: int, rounds: int) -> Iterator[Measure]:
    """The baseline: the ten nearest by one pgvector statement; and how many of the true ten the index finds."""
    reader = store.reader(engine.namespace)
    space = reader.space()
    assert space is not None
    asked = VariedSample().embed([question.query for question in sample.questions()])
    place = {question.query: i for i, question in enumerate(sample.questions())}

    def once(question: str) -> float:
        start = perf_counter()
        reader.dense(space, "full", asked[place[question]], 10, Filter())
        return (perf_counter() - start) * 1000

    p50, p95 = spread(once, rounds)
    yield Measure("baseline: pgvector alone", size, p50, p95, "ms", "", None)
    shares = []
    for vector in asked:
        sql = "SELECT memory FROM vectors WHERE namespace = :ns AND space = :space AND field = :field "
        values = {"ns": reader._key(), "space": space.key, "field": FIELDS.index("full"), "vector": vector}
        true = store.ask(reader._key(), sql + "ORDER BY embedding <#> :vector::vector, memory LIMIT 10", values)
        found = reader.dense(space, "full", vector, 10, Filter())
        shares.append(len({row for (row,) in true} & {hit.row for hit in found}) / max(1, len(true)))
    yield Measure("found of the true ten nearest", size, float(np.mean(shares)), None, "", "", None)


def _crowd(store: PostgresStore, progress: bool) -> Iterator[Measure]:
    """Many namespaces asked by several clients at once, then asked and written."""
    engines = [Engine(store, f"user-{number}", VariedSample()) for number in range(NAMESPACES)]
    with bar(f"Writing {NAMESPACES} namespaces", NAMESPACES, show=progress) as advance:
        for number, engine in enumerate(engines):
            source = records(EACH, seed=number)
            while batch := list(islice(source, BATCH)):
                engine.remember_many(batch)
            advance(1)
    for _ in store.tend():
        pass
    total = NAMESPACES * EACH
    what = f"{NAMESPACES} namespaces, {CLIENTS} clients"
    for writes, told in ((0.0, "recalls"), (0.1, "recalls, one in ten a write")):
        taken, rate = _asked(engines, writes, progress)
        yield Measure(f"{what}: {told}", total, rate, None, "/s", "", None)
        p50, p95 = float(np.percentile(taken, 50)), float(np.percentile(taken, 95))
        yield Measure(f"{what}: {told}", total, p50, p95, "ms", "", None)


def _asked(engines: Sequence[Engine], writes: float, progress: bool) -> tuple[list[float], float]:
    """Every client asks a namespace by chance, for a while; gives what each call took in ms, and calls a second."""
    questions = [question.query for question in sample.questions()]
    until = monotonic() + CROWD_S

    def client(number: int) -> list[float]:
        chance, taken = random.Random(number), []
        while monotonic() < until:
            engine, start = chance.choice(engines), perf_counter()
            if chance.random() < writes:
                engine.remember(f"{chance.choice(questions)} {chance.random()}", speaker="user")
            else:
                engine.recall(chance.choice(questions), recipe="default", changes={"rerank.cross_encoder.on": False})
            taken.append((perf_counter() - start) * 1000)
        return taken

    start = perf_counter()
    with bar("Clients at work", CLIENTS, show=progress) as advance, ThreadPoolExecutor(CLIENTS) as pool:
        taken = []
        for of_client in pool.map(client, range(CLIENTS)):
            taken += of_client
            advance(1)
    return taken, len(taken) / (perf_counter() - start)
