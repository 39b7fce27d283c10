"""The speed of writing and recalling, and the room a memory takes, compared with plain sqlite-vec."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter

import apsw

from fivefold import sample
from fivefold.engine import Engine
from fivefold.models.embedders import DEFAULT, embedder, read_question
from fivefold.models.rerankers import reranker
from fivefold.retrieval.routes import ROUTES, SearchContext
from fivefold.stores.sql.scope import ALL
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.sqlite.vectors import knn
from fivefold.text.display import bar
from fivefold.values.filters import Filter
from fivefold.values.vectors import Passage
from fivefold_bench.large import measure_large
from fivefold_bench.measures import (
    FIRST,
    LAST,
    MINUTE,
    SESSION,
    START,
    Measure,
    VariedSample,
    answered_recalls,
    ask_rounds,
    figure,
    filtered_recall,
    milliseconds,
    read_again,
    records,
    timed_recall,
    times,
    turns,
    whole_recalls,
    write_rate,
)

# A crowd of entities around the memories of a speed measurement: rows written straight into the tables.


def name(number: int) -> str:
    """A name nobody shares: first name, last name, number."""
    return f"{FIRST[number % len(FIRST)]} {LAST[number // len(FIRST) % len(LAST)]} {number}"


def add_entities(
    connection: apsw.Connection, namespace: int, entities: int, links: int, edges: int, seed: int = 3
) -> None:
    """Add entities, linked to the namespace's memories and to each other; a few of them are hubs."""
    chance = random.Random(seed)
    memories = [row for (row,) in connection.execute("SELECT row FROM memories WHERE namespace = ?", (namespace,))]
    first = connection.execute("SELECT coalesce(max(key), 0) + 1 FROM entities").fetchall()[0][0]
    assert isinstance(first, int)
    keys = range(first, first + entities)
    with connection:
        connection.executemany(
            "INSERT INTO entities VALUES (?, ?, ?, 'name', 0, 0, 0)",
            ((key, namespace, name(key - first)) for key in keys),
        )
        connection.executemany(
            "INSERT OR IGNORE INTO entity_aliases VALUES (?, ?, ?, ?)",
            (
                (namespace, alias, key, place)
                for key in keys
                for whole in (name(key - first).casefold(),)
                for place, alias in enumerate((whole, whole.split()[0]))
            ),
        )
        connection.executemany(
            "INSERT OR IGNORE INTO links (memory, entity, namespace, count) VALUES (?, ?, ?, 1)",
            ((chance.choice(memories), _skewed_key(chance, keys), namespace) for _ in range(links)),
        )
        connection.executemany(
            "INSERT OR IGNORE INTO edges (namespace, source, target, relation, kind, confidence, count) "
            "VALUES (?, ?, ?, 'mentioned with', 'semantic', ?, 1)",
            ((namespace, _skewed_key(chance, keys), chance.choice(keys), chance.random()) for _ in range(edges)),
        )


def _skewed_key(chance: random.Random, keys: range) -> int:
    """A few keys come often, most of them rarely."""
    return (
        keys[min(int(chance.paretovariate(0.6)) - 1, len(keys) - 1)] if chance.random() < 0.5 else chance.choice(keys)
    )


MIDDLE = 10_000
"""The size up to which a whole recall has limits."""

WRITTEN = 400
"""Number of turns written with the model, or fewer if all namespaces are smaller."""

LARGE = 100_000
"""The size from which the parse and its routes have limits."""

ROUTE_LIMITS = {"lexical": 8, "graph": 5, "temporal": 3, "window": 5}
"""The routes that are timed by themselves, each with its limit in ms in a large namespace."""

NOW = START + 7 * LARGE * MINUTE
"""Time of the questions: the last memories of a large namespace lie in the week before."""


def measure(sizes: Sequence[int], rounds: int, progress: bool = False) -> Iterator[Measure]:
    """All figures, smallest namespace first. Nothing is left behind."""
    model = VariedSample()
    warm_up(model)
    for size in sorted(sizes):
        with tempfile.TemporaryDirectory() as folder:
            store = SqliteStore(str(Path(folder) / "speed.db"))
            engine = Engine(store, embedder=model)
            engine.configure(find_changes=False, find_repeats=False)  # the writing with models compares texts as well
            try:
                yield from _measure_one(engine, store, model, size, rounds, progress)
            finally:
                engine.close()
    yield _writing(min(WRITTEN, max(sizes)), progress)
    once = partial(milliseconds, read_question, embedder(DEFAULT))
    yield times(f"encode a question, {DEFAULT}", 0, ask_rounds(once, rounds), 5)
    yield from _reranking(min(rounds, 60))


def warm_up(model: VariedSample) -> None:
    """A few hundred other memories first, so that models and caches are as in a process at work."""
    engine = Engine(SqliteStore(":memory:"), embedder=model)
    engine.configure(find_changes=False, find_repeats=False)
    engine.remember_many(records(500, seed=1))
    engine.close()


def _measure_one(
    engine: Engine, store: SqliteStore, model: VariedSample, size: int, rounds: int, progress: bool
) -> Iterator[Measure]:
    rate = write_rate(engine, size, progress)
    yield figure("write, no embedding", size, rate, "/s", "≥ 2,000", rate >= 2000)
    with store.connections.writer() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    room = store.size() / size / 1024
    yield figure("room on disk", size, room, "KB each", "≤ 4.5", room <= 4.5)
    limit = 5 if size <= 1000 else 15 if size <= LARGE else None
    for recipe in ("default", "dense", "lexical"):
        ms = ask_rounds(partial(timed_recall, engine, recipe), rounds)
        yield times(f"recall {recipe}", size, ms, limit if recipe == "default" else None)
    yield filtered_recall(engine, size, rounds, limit)
    yield from whole_recalls(engine, size, rounds, (9, 20) if size <= MIDDLE else (None, None))
    yield times("recall recall", size, ask_rounds(partial(timed_recall, engine, "recall"), rounds))
    yield read_again(engine, size, rounds)
    yield _plain_knn(engine, store, size, rounds)
    yield from measure_large(store, size, rounds)
    yield from answered_recalls(engine, model, size, rounds)
    yield from _understanding(engine, store, size, rounds)


def _understanding(engine: Engine, store: SqliteStore, size: int, rounds: int) -> Iterator[Measure]:
    """The parse and routes in a crowd: as many entities as memories, ten links a memory, three edges each."""
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
    for route, limit in ROUTE_LIMITS.items():
        calls = [partial(routes[route].search, search, 100, Filter(), routes[route].options()) for search in sights]
        yield _time_calls(f"{route} route", size, limit if limited else None, calls)
    yield _plain_fts5(store, key, size, [search.query.lexemes for search in sights])


def _plain_fts5(store: SqliteStore, key: int, size: int, questions: Sequence[Sequence[str]]) -> Measure:
    """The baseline of the lexical route: the same lexemes in an FTS5 table in memory, the same questions and depth."""
    index = apsw.Connection(":memory:")
    index.execute("CREATE VIRTUAL TABLE plain USING fts5(lexemes, tokenize=\"ascii tokenchars '-._/@:+#&~=?%\\'\")")
    with store.connections.reader() as connection, index:
        found = connection.execute(
            "SELECT memory, predicate || ' ' || content FROM documents WHERE namespace = ?1 AND sessions = 0 UNION ALL "
            "SELECT memory, predicate || ' ' || content FROM lexemes WHERE namespace = ?1 AND sessions = 0",
            (key,),
        )
        index.executemany("INSERT INTO plain(rowid, lexemes) VALUES (?, ?)", found)

    def ask(words: Sequence[str]) -> object:
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        sql = "SELECT rowid, rank FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT 100"
        return index.execute(sql, (match,)).fetchall()

    return _time_calls("baseline: FTS5 alone", size, None, [partial(ask, words) for words in questions if words])


def _time_calls(what: str, size: int, limit: float | None, calls: Sequence[Callable[[], object]]) -> Measure:
    for call in calls[:3]:
        call()
    return times(what, size, [milliseconds(call) for call in calls], limit)


def _plain_knn(engine: Engine, store: SqliteStore, size: int, rounds: int) -> Measure:
    """The baseline: the ten nearest by one vec0 statement, no lexical search, no fusion, no trace."""
    space = store.reader(engine.namespace).search.vector_space()
    assert space is not None
    vectors = VariedSample().embed([question.query for question in sample.questions()])

    def once(question: str) -> None:
        with store.connections.reader() as connection:
            knn(connection, space, "full", vectors[hash(question) % len(vectors)], 10, ALL)

    return times("baseline: vec0 alone", size, ask_rounds(partial(milliseconds, once), rounds))


def _writing(count: int, progress: bool) -> Measure:
    """Turns a second with the real model, ten sessions at a time, nothing cached."""
    batch = 10 * SESSION
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(SqliteStore(str(Path(folder) / "writing.db")), embedder=embedder(DEFAULT))
        try:
            engine.remember_many(list(turns(SESSION, seed=1)))
            source = turns(count)
            seconds = 0.0
            with bar(f"Writing {count:,} turns with {DEFAULT}", count, show=progress) as advance:
                while part := list(islice(source, batch)):
                    start = perf_counter()
                    engine.remember_many(part)
                    seconds += perf_counter() - start
                    advance(len(part))
        finally:
            engine.close()
    rate = count / seconds
    return figure(f"write with {DEFAULT}, batches", 0, rate, "turns/s", "≥ 120", rate >= 120)


def _reranking(rounds: int) -> Iterator[Measure]:
    """The cross-encoder alone over the sample's turns, each with the turn before it, nothing cached."""
    model = reranker("local")
    turns = [item["content"] for item in sample.memories()]
    for count, limit in ((10, 30), (20, 60)):
        chance = random.Random(count)

        def once(question: str, count: int = count, chance: random.Random = chance) -> float:
            places = [chance.randrange(1, len(turns)) for _ in range(count)]
            passages = [Passage(f"user (7 May 2025): {turns[i]}", turns[i - 1]) for i in places]
            return milliseconds(model.scores, question, passages, timeout_s=60.0)

        yield times(f"rerank {count} turns", 0, ask_rounds(once, rounds), limit)
