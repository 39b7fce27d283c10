"""The speed of a PostgreSQL store, on a schema of its own that is dropped afterwards."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from fivefold import sample
from fivefold.engine import Engine
from fivefold.errors import InvalidInput, MissingExtra
from fivefold.retrieval.recipe_file import known_recipes
from fivefold.stores import POSTGRES
from fivefold.stores.postgres.dialect import namespace_key
from fivefold.text.display import bar
from fivefold.values.filters import Filter
from fivefold.values.vectors import FIELDS
from fivefold_bench.measures import (
    Measure,
    Readings,
    VariedSample,
    answered_recalls,
    ask_rounds,
    figure,
    filtered_recall,
    milliseconds,
    read_again,
    real_readings,
    records,
    timed_recall,
    times,
    whole_recalls,
    write_rate,
)
from fivefold_bench.speed import warm_up

if TYPE_CHECKING:
    from fivefold.stores.postgres.store import PostgresStore

LIMIT_MS = 40
"""Maximum time of a recall of any recipe at 100,000 memories, without encoding and cross-encoder."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """The number of namespaces, memories and clients at once, and the duration."""

    namespaces: int = 50
    memories: int = 500
    clients: int = 8
    seconds: float = 10.0


def measure_server(
    dsn: str, sizes: Sequence[int], rounds: int, progress: bool = False, crowd: Crowd | None = None
) -> Iterator[Measure]:
    """All figures of a server, smallest namespace first, then the crowd. Nothing is left behind."""
    warm_up(VariedSample())
    for size in sorted(sizes):
        with _own_store(dsn) as (store, _):
            model = VariedSample()
            engine = Engine(store, embedder=model)
            engine.configure(find_changes=False, find_repeats=False)  # as on SQLite: both have models read texts
            yield from _measure_one(engine, store, size, rounds, progress)
            yield from answered_recalls(engine, model, size, rounds)
    with _own_store(dsn) as (store, location):
        yield from _crowd(store, location, crowd or Crowd(), progress)


@contextmanager
def _own_store(dsn: str) -> Iterator[tuple[PostgresStore, str]]:
    """A store in a schema that exists for this measurement only, and its address."""
    if not dsn.startswith(POSTGRES):
        raise InvalidInput(
            f"takes a PostgreSQL address such as postgresql://user@host/database, not {dsn!r}", field="dsn"
        )
    try:
        from fivefold.stores.postgres.store import PostgresStore
    except ImportError:
        raise MissingExtra("a PostgreSQL store", "postgres") from None
    schema = f"fivefold_speed_{os.getpid()}_{random.randrange(1 << 30)}"
    first, *replicas = dsn.split(",postgres", 1)
    location = ",postgres".join([f"{first}{'&' if '?' in first else '?'}schema={schema}", *replicas])
    store = PostgresStore(location)
    try:
        yield store, location
    finally:
        store.close()
        with store.administration() as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


def _measure_one(engine: Engine, store: PostgresStore, size: int, rounds: int, progress: bool) -> Iterator[Measure]:
    rate = write_rate(engine, size, progress)
    yield figure("write, no embedding", size, rate, "/s")
    start = perf_counter()
    for _ in store.maintain():
        pass
    if store.indexes:
        yield figure("HNSW index built", size, perf_counter() - start, "s")
    yield figure("room on disk", size, store.size() / size / 1024, "KB each")
    yield from _nearest(engine, store, size, rounds)
    limited = size == 100_000
    for recipe in known_recipes():
        ms = ask_rounds(partial(timed_recall, engine, recipe), rounds)
        yield times(f"recall {recipe}", size, ms, LIMIT_MS if limited else None)
    yield filtered_recall(engine, size, rounds, LIMIT_MS if limited else None)
    yield from whole_recalls(engine, size, rounds)
    yield read_again(engine, size, rounds)


def _nearest(engine: Engine, store: PostgresStore, size: int, rounds: int) -> Iterator[Measure]:
    """The baseline: the ten nearest by one pgvector statement; and how many of the true ten the index finds."""
    reader = store.reader(engine.namespace)
    space = reader.search.vector_space()
    assert space is not None
    vectors = VariedSample().embed([question.query for question in sample.questions()])
    place = {question.query: i for i, question in enumerate(sample.questions())}

    def once(question: str) -> float:
        return milliseconds(reader.search.dense, space, "full", vectors[place[question]], 10, Filter())

    yield times("baseline: pgvector alone", size, ask_rounds(once, rounds))
    shares = []
    for vector in vectors:
        sql = "SELECT memory FROM vectors WHERE namespace = :ns AND space = :space AND field = :field "
        key, nearest = namespace_key(reader.namespace), "ORDER BY embedding <#> :vector::vector, memory LIMIT 10"
        values = {"ns": key, "space": space.key, "field": FIELDS.index("full"), "vector": vector}
        true = store.ask(key, sql + nearest, values)
        hits = reader.search.dense(space, "full", vector, 10, Filter())
        shares.append(len({row for (row,) in true} & {hit.row for hit in hits}) / max(1, len(true)))
    yield figure("found of the true ten nearest", size, float(np.mean(shares)), "")


def _crowd(store: PostgresStore, location: str, crowd: Crowd, progress: bool) -> Iterator[Measure]:
    """Several clients at once on many namespaces, first only reading, then also writing; each client is a process."""
    with bar(f"Writing {crowd.namespaces} namespaces", crowd.namespaces, show=progress) as advance:
        for number in range(crowd.namespaces):
            Engine(store, _name(number), VariedSample()).remember_many(list(records(crowd.memories, seed=number)))
            advance(1)
    for _ in store.maintain():
        pass
    what, total = f"{crowd.namespaces} namespaces, {crowd.clients} clients", crowd.namespaces * crowd.memories
    arguments = (location, crowd.namespaces, real_readings())
    with ProcessPoolExecutor(crowd.clients, get_context("spawn"), _open, arguments) as pool:
        list(pool.map(_wait_until, [time.time() + crowd.seconds / 2] * crowd.clients))  # all are up before any begins
        for writes, label in ((0.0, "recalls"), (0.1, "recalls, one in ten a write")):
            begin = time.time() + 0.5
            with bar("Clients at work", crowd.clients, show=progress) as advance:
                ms: list[float] = []
                work = partial(_client, writes=writes, begin=begin, end=begin + crowd.seconds)
                for of_client in pool.map(work, range(crowd.clients)):
                    ms += of_client
                    advance(1)
            yield figure(f"{what}: {label}", total, len(ms) / crowd.seconds, "/s")
            yield times(f"{what}: {label}", total, ms)


def _name(number: int) -> str:
    return f"user-{number}"


_engines: list[Engine] = []
"""The namespaces as one client's process has them open."""


def _open(location: str, namespaces: int, real: Readings) -> None:
    from fivefold.stores.postgres.store import PostgresStore

    store = PostgresStore(location)
    _engines.extend(Engine(store, _name(number), VariedSample(real)) for number in range(namespaces))


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))


def _client(number: int, writes: float, begin: float, end: float) -> list[float]:
    """Ask random namespaces for a while; returns the milliseconds of each call."""
    questions = [question.query for question in sample.questions()]
    chance = random.Random(number)
    ms: list[float] = []
    for question in questions[:3]:
        _engines[number % len(_engines)].recall(question, overrides=_WITHOUT)
    _wait_until(begin)
    while not ms or time.time() < end:
        engine = chance.choice(_engines)
        if chance.random() < writes:
            text = f"{chance.choice(questions)} {chance.random()}"
            ms.append(milliseconds(engine.remember, text, speaker="user"))
        else:
            ms.append(milliseconds(engine.recall, chance.choice(questions), overrides=_WITHOUT))
    return ms


_WITHOUT = {"rerank.cross_encoder.on": False}
