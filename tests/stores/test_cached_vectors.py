"""Vectors that are cached in memory are those of the file, whatever was written since."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fivefold.engine import Engine
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.sqlite.vectors import stored
from tests.conformance.vectors import WordVectors


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(str(tmp_path / "vectors.db"))


def same_as_in_the_file(store: SqliteStore, engine: Engine) -> bool:
    reader = store.reader(engine.namespace)
    space = reader.search.vector_space()
    assert space is not None
    rows = range(1, 40)
    cached = reader.search.vectors(space, rows)
    with store.connections.reader() as connection:
        in_file = stored(connection, space, rows, ["full", "session"])
    return cached.keys() == in_file.keys() and all(np.array_equal(cached[row], in_file[row]) for row in in_file)


def test_cached_vectors_are_those_of_the_file(store: SqliteStore) -> None:
    with Engine(store, embedder=WordVectors()) as engine:
        engine.remember_many({"content": f"memory {i}", "id": f"m{i}", "session_id": f"s{i % 3}"} for i in range(12))
        engine.recall("memory", recipe="dense")
        assert same_as_in_the_file(store, engine)
        engine.remember("one more memory", id="more")
        assert same_as_in_the_file(store, engine)
        engine.update("m3", content="another text")  # its vector is now the last one
        assert same_as_in_the_file(store, engine)
        engine.forget("m5")
        assert same_as_in_the_file(store, engine)


def test_nobody_can_change_a_cached_vector(store: SqliteStore) -> None:
    with Engine(store, embedder=WordVectors()) as engine:
        engine.remember("a memory")
        engine.recall("memory", recipe="dense")
        reader = store.reader(engine.namespace)
        space = reader.search.vector_space()
        assert space is not None
        with pytest.raises(ValueError, match="read-only"):
            reader.search.vectors(space, [1])[1][0] = 1.0
