"""Token vectors in a SQLite file: how they lie in it, that they leave it, and that the cache agrees with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.stores.sqlite import store as sqlite_store
from fivefold.stores.sqlite import vectors
from fivefold.stores.sqlite.dialect import PIECE_BITS
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.filters import Filter
from tests.conformance.passages import MODEL, TEXTS, TOKENS, Stored, all_tokens, entry_of, vector_of
from tests.stores.test_written_before import path

__all__ = ["path"]

FOUND = Filter()


@pytest.fixture
def store(store_path: str) -> Iterator[SqliteStore]:
    with closing(SqliteStore(store_path)) as opened:
        yield opened


@pytest.fixture
def stored(store: SqliteStore) -> Stored:
    return Stored(store)


# in the file


@given(st.integers(1, 2**40), st.integers(0, 3_000_000))
def test_pieces_are_the_whole_in_order_and_of_one_vector(id: int, size: int) -> None:
    tokens = np.arange(size, dtype=np.uint32).astype(np.uint8).tobytes()
    keys, pieces = zip(*vectors._pieces(id, tokens), strict=True)
    first, last = vectors.keys_of(id)
    assert list(keys) == list(range(first, first + len(keys)))
    assert keys[-1] <= last < vectors.keys_of(id + 1)[0]
    assert b"".join(pieces) == tokens
    assert max(map(len, pieces)) <= vectors.PIECE_BYTES or len(pieces) > 1_000


def test_what_is_forgotten_is_gone_from_the_file(stored: Stored, store: SqliteStore) -> None:
    def there() -> list[bool]:
        store.checkpoint()
        data = Path(store.location).read_bytes()
        vectors = (vector_of(TEXTS["longer"][20]), vector_of(TEXTS["long"][0]))
        return [b"longer 3 " * 20 in data, b"short 0 " * 20 in data, *(vector.tobytes() in data for vector in vectors)]

    assert there() == [True, True, True, True]
    with store.write(stored.name) as txn:
        txn.memories.remove(stored.rows["longer"])
    assert there() == [False, True, False, True]
    with store.write(stored.name) as txn:
        txn.memories.replace(stored.rows["long"], entry_of("long", stored.name, ["short now"]))
        txn.memories.replace(stored.rows["short"], entry_of("short", stored.name, ["long now", "as long as two"]))
    assert there() == [False, True, False, False]
    with store.write(stored.name) as txn:
        txn.vectors.drop_space("active")
    assert there() == [False, False, False, False]


def test_token_vectors_that_belong_to_nothing_are_found_and_dropped(stored: Stored, store: SqliteStore) -> None:
    with store.connections.transaction() as connection:
        connection.execute("INSERT INTO tokens (key, tokens) VALUES (?, ?)", (9_999 << PIECE_BITS, b"lost"))
        connection.execute("DELETE FROM tokens WHERE key >> 10 = (SELECT max(id) FROM vectors WHERE part = 7)")
    findings = stored.findings()
    assert findings["token vectors"].detail == "0 memories have none, 1 belong to no memory"
    assert findings["passages"].detail == "1 memories disagree with their passages"
    with store.write(stored.name) as txn:
        txn.vectors.drop_stray_vectors()
        assert stored.missing(txn) == ["longer"]
    assert stored.tokens() == all_tokens("longer")
    findings = stored.findings()
    assert findings["token vectors"].detail == "1 memories have none, 0 belong to no memory"
    assert findings["passages"].ok


def test_a_passage_whose_vector_is_lost_is_read_again_with_all_others(stored: Stored, store: SqliteStore) -> None:
    with store.connections.transaction() as connection:
        connection.execute("DELETE FROM vec_32 WHERE rowid = (SELECT max(id) FROM vectors WHERE part = 29)")
    assert stored.findings()["vectors"].detail == "0 memories have none, 1 are lost"
    with store.write(stored.name) as txn:
        txn.vectors.drop_stray_vectors()
        assert stored.missing(txn) == ["longer"]
    assert set(stored.vectors()) == {"long"}
    assert stored.tokens() == all_tokens("longer")


# in memory


def test_what_was_read_stays_in_memory_within_the_budget(
    stored: Stored, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [len(tokens) + vectors.ENTRY_BYTES for tokens in all_tokens().values()]
    stored.tokens()
    assert store.token_cache.size == sum(sizes)
    stored.tokens()
    assert store.token_cache.size == sum(sizes)
    other = Stored(store)
    other.tokens()
    assert store.token_cache.size == 2 * sum(sizes)
    monkeypatch.setattr(vectors, "CACHE_BYTES", sum(sizes) + 50)
    third = Stored(store)
    assert third.tokens() == all_tokens()
    assert store.token_cache.size == sum(sizes)
    monkeypatch.setattr(vectors, "CACHE_BYTES", sum(sizes) // 2)
    fourth = Stored(store)
    assert fourth.tokens() == fourth.tokens() == all_tokens()
    assert 0 < store.token_cache.size <= sum(sizes) // 2
    assert stored.tokens() == all_tokens()


def test_nothing_is_read_twice_from_the_file(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stored.tokens() == all_tokens()
    monkeypatch.setattr(vectors, "stored", lambda *_: pytest.fail("read again"))
    assert stored.tokens() == all_tokens()


def test_what_another_process_changes_is_seen_at_once(stored: Stored, store: SqliteStore) -> None:
    assert stored.tokens() == all_tokens()
    with closing(SqliteStore(store.location)) as another:
        with another.write(stored.name) as txn:
            txn.memories.replace(stored.rows["long"], entry_of("long", stored.name, ["short now"]))
            txn.memories.remove(stored.rows["short"])
        assert stored.tokens() == {**all_tokens("long", "short"), ("long", 0): TOKENS["long"][0]}
        with another.write(stored.name) as txn:
            txn.vectors.drop_space("active")
        assert stored.tokens() == {}


def test_a_reader_of_an_earlier_state_leaves_nothing_behind(stored: Stored, store: SqliteStore) -> None:
    short = stored.rows["short"]
    with store.connections.reader() as earlier:
        earlier.execute("BEGIN")
        before = store.token_cache.read(earlier, stored.space, [(stored.rows["long"], 0)])
        with store.write(stored.name) as txn:
            txn.memories.replace(short, entry_of("short", stored.name, ["one", "two"]))
        assert stored.tokens()["short", 0] == TOKENS["short"][0]
        assert store.token_cache.read(earlier, stored.space, [(stored.rows["long"], 0)]) == before
        assert store.token_cache.read(earlier, stored.space, [(short, 1)]) == {}
        earlier.execute("COMMIT")
    search = store.reader(stored.name).search
    assert search.token_vectors(stored.space, [(short, 1)]) == {(short, 1): b"new"}


# older files


def test_an_older_file_that_can_only_be_read_answers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_prepare", lambda location, key: True)
    with closing(SqliteStore(str(path))) as store:
        search = store.reader("default").search
        space = search.vector_space()
        assert space is not None
        assert not space.tokens
        assert search.passage_vectors(space, range(1, 40)) == {}
        assert search.dense(space, "full", np.ones(space.dimension, np.float32), 5, FOUND)
        assert search.dense(space, "passage", np.ones(space.dimension, np.float32), 5, FOUND) == []
        assert all(finding.ok for finding in store.check("default"))


def test_an_older_file_gets_room_for_both(path: Path) -> None:
    with closing(SqliteStore(str(path))) as store:
        space = store.reader("default").search.vector_space()
        assert space is not None
        with store.write("default") as txn:
            assert txn.vectors.missing("active", 5) == []
            txn.vectors.open_space(MODEL.pin, MODEL.dimension, "building", tokens=True)
            ((memory, _),) = txn.vectors.missing("building", 1)
            stored = entry_of("long", "default")
            txn.vectors.put(memory, stored.vectors, "building", stored.passages)
            assert txn.vectors.missing("building", 1)[0][0].id != memory.id
        assert all(finding.ok for finding in store.check("default"))
