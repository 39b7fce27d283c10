"""The HNSW index: used where it pays and only there, and never at the price of hits, whatever the filter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fivefold
from fivefold.stores.postgres import vectors
from fivefold.stores.postgres.dialect import namespace_key
from fivefold.stores.postgres.search import PostgresScope
from fivefold.stores.postgres.store import PostgresStore
from fivefold.values.filters import Filter
from fivefold.values.memory import TYPES
from tests.conformance.recipes import UNHURRIED_MS, steady_recipes
from tests.conformance.strategies import QUESTIONS, SENTENCES
from tests.conformance.vectors import WordVectors
from tests.support.postgres import Server

Matrix = npt.NDArray[np.float32]

MANY, DIMENSION = 4_000, 48
K = 20
ALL, RARE = Filter(), Filter(("procedure",))
"""One vector in a hundred is of the rare type."""

LEAST_RECALL = 0.95


def unit(count: int, dimension: int, seed: int) -> Matrix:
    """Vectors of length 1 about forty subjects, the same for stored and asked ones, as texts have them."""
    centres = np.random.default_rng(0).normal(size=(40, dimension))
    chance = np.random.default_rng(seed)
    rows = centres[chance.integers(0, 40, count)] + 0.7 * chance.normal(size=(count, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def types_of(count: int) -> npt.NDArray[np.int64]:
    rare = np.arange(count) % 100 == 0
    return np.where(rare, TYPES.index("procedure"), TYPES.index("fact"))


def fill(store: PostgresStore, namespace: str, rows: Matrix) -> None:
    """Vectors of the field `full` alone, the first of memory 1, as many as a search needs to see."""
    key, dimension = namespace_key(namespace), rows.shape[1]
    with store.write(namespace) as txn:
        space = txn.vectors.pin(f"test-{dimension}@1", dimension)
    into = "COPY vectors (namespace, space, field, type, memory, dimension, embedding) FROM STDIN"
    with store.administration() as connection:
        with connection.cursor().copy(into) as copy:
            for memory, (row, type) in enumerate(zip(rows, types_of(len(rows)), strict=True), 1):
                copy.write_row((key, space.key, 0, int(type), memory, dimension, str(row.tolist())))
        connection.execute(
            "INSERT INTO held (namespace, space, field, type, count) "
            "SELECT namespace, space, field, type, count(*) FROM vectors WHERE namespace = $1 GROUP BY 1, 2, 3, 4",
            [key],
        )


def nearest(rows: Matrix, asked: Matrix, keep: Filter = ALL, k: int = K) -> list[int]:
    """The memories a search should find, by all vectors."""
    scores = rows @ asked
    if keep.types:
        scores = np.where(types_of(len(rows)) == TYPES.index(keep.types[0]), scores, -np.inf)
    order = np.lexsort((np.arange(len(rows)), -scores))[:k]
    return [int(place) + 1 for place in order if np.isfinite(scores[place])]


def found(store: PostgresStore, namespace: str, asked: Matrix, keep: Filter = ALL, k: int = K) -> list[int]:
    reader = store.reader(namespace)
    space = reader.search.vector_space()
    assert space is not None
    return [hit.row for hit in reader.search.dense(space, "full", asked, k, keep)]


def recall(store: PostgresStore, namespace: str, rows: Matrix, keep: Filter) -> float:
    """How much of the exact answer is found, over many questions; every answer is as long as it should be."""
    shares = []
    for asked in unit(40, rows.shape[1], seed=9):
        expected, got = nearest(rows, asked, keep), found(store, namespace, asked, keep)
        assert len(got) == len(expected)
        shares.append(len(set(got) & set(expected)) / len(expected))
    return float(np.mean(shares))


def scans(store: PostgresStore, dimension: int = DIMENSION) -> int:
    """How often the index has been read; the pool's only connection tells it before it would by itself."""
    store._primary.rows(0, "SELECT pg_stat_force_next_flush()", ())
    name = vectors.index_name("full", dimension)
    sql = "SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname = $1 AND indexrelname = $2"
    with store.administration() as connection:
        ((count,),) = connection.execute(sql, [store.options.schema, name]).fetchall()
    return int(count)


@pytest.fixture(scope="module")
def many() -> Matrix:
    return unit(MANY, DIMENSION, seed=1)


@pytest.fixture(scope="module")
def store(postgres: Server, many: Matrix) -> Iterator[PostgresStore]:
    """Two namespaces with many vectors, one with few, one with shorter ones; two indexes serve them."""
    place = {"exact_up_to": "50", "hnsw_ef_search": "100", "hnsw_m": "12", "hnsw_ef_construction": "80"}
    opened = PostgresStore(postgres.dsn(schema=postgres.new_schema(), pool_size="1", **place))
    for namespace, rows in {
        "many": many,
        "others": unit(MANY, DIMENSION, seed=2),
        "few": many[:60],
        "short": unit(1_000, 16, seed=3),
    }.items():
        fill(opened, namespace, rows)
    assert [care.changed for care in opened.maintain()] == [True, True, True]
    yield opened
    opened.close()


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search goes through the index, whether it pays or not."""
    monkeypatch.setattr(vectors, "by_index", lambda *given: True)


# which way is taken


@pytest.mark.parametrize(
    ("namespace", "keep", "by_index"),
    [("many", ALL, True), ("many", RARE, False), ("few", ALL, False), ("short", ALL, False)],
)
def test_the_index_is_read_where_it_pays_and_only_there(
    store: PostgresStore, many: Matrix, namespace: str, keep: Filter, by_index: bool
) -> None:
    before = scans(store)
    found(store, namespace, unit(1, 16 if namespace == "short" else DIMENSION, seed=4)[0], keep)
    assert (scans(store) > before) == by_index


def test_a_forced_search_reads_the_index_too(store: PostgresStore, many: Matrix, forced: None) -> None:
    before = scans(store)
    found(store, "many", many[0], RARE)
    assert scans(store) > before


def test_settings_of_the_address_reach_the_server_for_one_statement(store: PostgresStore) -> None:
    look = "SELECT current_setting('hnsw.ef_search')::int, current_setting('hnsw.iterative_scan')"
    ((few, on),) = store.ask(0, look, (), vectors.settings(10, store.options.hnsw_ef_search, True))
    ((more, _),) = store.ask(0, look, (), vectors.settings(300, store.options.hnsw_ef_search, True))
    ((_, off),) = store.ask(0, look, ())
    assert (few, on.endswith("_order"), off) == (100, True, "off")
    assert more >= 300
    with store.administration() as connection:
        made = connection.execute(
            "SELECT reloptions FROM pg_class WHERE relname = $1 AND relnamespace = $2::regnamespace",
            [vectors.index_name("full", DIMENSION), store.options.schema],
        ).fetchall()
    assert made == [(["m=12", "ef_construction=80"],)]


def test_R3_ef_search_is_a_setting_of_the_namespace(
    store: PostgresStore, many: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    ask = PostgresScope.search

    def noted(scope: PostgresScope, sql: str, values: Mapping[str, object], first: Sequence[str] = ()) -> Any:
        given.extend(first[:1])
        return ask(scope, sql, values, first)

    monkeypatch.setattr(PostgresScope, "search", noted)
    for own, used in {64: 64, 900: 900, None: 100}.items():
        with store.write("many") as txn:
            txn.admin.save_settings({} if own is None else {"ef_search": own})
        found(store, "many", many[0])
        found(store, "others", many[0])
        assert given == [f"SET LOCAL hnsw.ef_search = {used}", "SET LOCAL hnsw.ef_search = 100"]
        given.clear()


# what is found


def test_nearly_all_of_the_exact_answer_is_found_by_the_index(store: PostgresStore, many: Matrix) -> None:
    assert recall(store, "many", many, ALL) >= LEAST_RECALL


def test_many_vectors_are_searched_for_by_the_index_as_one_is(store: PostgresStore, many: Matrix) -> None:
    search = store.reader("many").search
    space = search.vector_space()
    assert space is not None
    before = scans(store)
    asked = list(unit(20, DIMENSION, seed=9))
    hits = search.dense_each(space, "full", asked, K)
    assert scans(store) >= before + len(asked)
    assert [[hit.row for hit in each] for each in hits] == [found(store, "many", vector) for vector in asked]


def test_a_filter_that_one_in_a_hundred_passes_gets_its_full_k(store: PostgresStore, many: Matrix) -> None:
    assert recall(store, "many", many, RARE) == 1.0


def test_a_narrow_filter_gets_its_full_k_from_the_index_too(store: PostgresStore, many: Matrix, forced: None) -> None:
    assert recall(store, "many", many, RARE) >= LEAST_RECALL


def test_what_the_index_leaves_out_is_filled_up(
    store: PostgresStore, many: Matrix, forced: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that does not go on searching gives 40 of the nearest, of which hardly one is of the rare type."""
    short = ("SET LOCAL hnsw.ef_search = 40", "SET LOCAL hnsw.iterative_scan = off", "SET LOCAL enable_sort = off")
    monkeypatch.setattr(vectors, "settings", lambda *given: short)
    assert recall(store, "many", many, RARE) == 1.0
    assert recall(store, "few", many[:60], ALL) == 1.0


def test_more_than_there_is_gives_all_there_is(store: PostgresStore, many: Matrix, forced: None) -> None:
    assert found(store, "few", many[0], k=500) == nearest(many[:60], many[0], k=500)
    assert found(store, "few", many[0], RARE) == [1]
    assert found(store, "few", many[0], Filter(("event",))) == []


def test_two_dimensions_live_side_by_side(store: PostgresStore, forced: None) -> None:
    short = unit(1_000, 16, seed=3)
    assert recall(store, "short", short, ALL) >= LEAST_RECALL
    before = scans(store, 16)
    found(store, "short", short[0])
    assert scans(store, 16) > before


@pytest.mark.parametrize("dimension", [1, 4_000, 4_001, 16_000])
def test_vectors_of_unusual_length(postgres: Server, dimension: int) -> None:
    rows = unit(8, dimension, seed=5)
    store = PostgresStore(postgres.dsn(schema=postgres.new_schema(), exact_up_to="4"))
    try:
        fill(store, "odd", rows)
        built = next(care for care in store.maintain() if care.part.startswith("index"))
        assert built.changed == (dimension <= 4_000), built
        assert found(store, "odd", rows[3]) == nearest(rows, rows[3])
    finally:
        store.close()


def test_a_model_of_too_many_numbers_is_an_error_in_plain_words(postgres: Server) -> None:
    with (
        fivefold.open(postgres.new_location(), embedder=WordVectors(16_001)) as engine,
        pytest.raises(fivefold.EmbedderError, match="8,192"),
    ):
        engine.remember("too long")


def test_every_recipe_answers_the_same_by_the_index(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with fivefold.open(postgres.dsn(schema=postgres.new_schema(), exact_up_to="10"), embedder=WordVectors()) as engine:
        engine.configure(route_budget_ms=UNHURRIED_MS)
        engine.remember_many({"content": text, "session_id": f"s{i % 3}"} for i, text in enumerate(SENTENCES))
        assert isinstance(engine.store, PostgresStore)
        assert any(care.changed for care in engine.store.maintain())
        now = "2025-03-10T12:00:00Z"
        asked = [(question, recipe) for question in QUESTIONS[::4] for recipe in steady_recipes()]
        exact = [[hit.memory.id for hit in engine.recall(text, recipe=recipe, now=now)] for text, recipe in asked]
        monkeypatch.setattr(vectors, "by_index", lambda known, *given: known.indexed)
        indexed = [[hit.memory.id for hit in engine.recall(text, recipe=recipe, now=now)] for text, recipe in asked]
        assert indexed == exact
