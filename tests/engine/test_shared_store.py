"""A store shared by many namespaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import fivefold
from fivefold.engine import SharedStore
from fivefold.learning import training
from fivefold.learning.reranker import Verdict, model_path, reranker_store
from fivefold.learning.training import Lesson, read_lessons
from fivefold.stores.interface import Reader
from fivefold.stores.postgres.schema import TABLES
from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.sqlite.connection import rows
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.times import utc_now
from tests.support.postgres import Server
from tests.support.toy_engine import Toy

# A store for many users: cheap engines, who is there, and a user who goes for good.


WORD = "quokka"
"""A word that only the deleted namespace has: in its name, its ids, its texts, its settings."""


@pytest.fixture
def store(store_path: str) -> Iterator[SharedStore]:
    with fivefold.store(store_path, embedder=Toy()) as opened:
        yield opened


def fill(store: SharedStore, name: str) -> None:
    engine = store.namespace(name)
    engine.remember("The quokka lives in Perth with Ada Quokka", id="quokka-1", session_id="quokka", tags=["quokka"])
    engine.remember("The quokka lives in Leeds", id="quokka-2", session_id="quokka", metadata={"quokka": 1})
    answer = engine.recall("where does the quokka live?")
    engine.feedback(answer, used=[answer[0].memory.id])
    engine.recall("quokka again")
    reranker_store(store.store, name).save(None, Verdict(False, "quokka", "", utc_now(), 1, 1))


def test_engines_share_the_store_and_stay_apart(store: SharedStore) -> None:
    ana, ben = store.namespace("ana"), store.namespace(" ben ")
    ana.remember("I take tea", id="drink")
    ben.remember("I take coffee", id="drink")
    assert store.namespaces() == ("ana", "ben")
    assert store.namespace("ana") is ana
    assert (ana.get("drink").content, ben.get("drink").content) == ("I take tea", "I take coffee")
    with ana:
        pass
    assert ana.get("drink").content == "I take tea", "closing an engine leaves the store open"
    store.close()
    with pytest.raises(fivefold.StoreClosed):
        ben.get("drink")


def test_bad_names_and_stores_are_refused(store: SharedStore, tmp_path: Path) -> None:
    with pytest.raises(fivefold.InvalidInput, match="namespace"):
        store.namespace("")
    with pytest.raises(fivefold.InvalidInput, match="pin, dimension and embed"):
        fivefold.store(tmp_path / "x.db", embedder=object())  # type: ignore[arg-type]
    with pytest.raises(fivefold.NotFound, match="there is no namespace 'nobody' to delete"):
        store.delete_namespace("nobody")
    assert store.store.audit.all() == []


def test_an_embedder_of_your_own_is_for_new_namespaces(store_path: str) -> None:
    with fivefold.open(store_path, namespace="old", embedder="wordllama") as engine:
        engine.remember("An old note")
    with fivefold.store(store_path, embedder=Toy()) as store:
        store.namespace("old").remember("One more")
        store.namespace("new").remember("A new note")
        store.namespace("new").remember("And another")
        assert store.namespace("new").embedder_pin() == Toy.pin
        assert str(store.namespace("old").embedder_pin()).startswith("wordllama")


def test_a_deleted_namespace_leaves_nothing_in_the_file_or_next_to_it(store: SharedStore) -> None:
    location, folder = store.location, Path(store.location).parent
    store.namespace("ana").remember("I take tea", id="drink")
    fill(store, WORD)
    assert model_path(location, WORD).exists()
    assert store.delete_namespace(WORD) == 3  # two turns and the memory of their session
    assert store.namespaces() == ("ana",)
    (entry,) = store.store.audit.all()
    assert (entry.action, entry.namespace, entry.key_id, entry.outcome) == ("delete_namespace", WORD, None, "ok")
    backing = store.store
    assert isinstance(backing, SqliteStore)
    with backing.connections.writer() as connection:
        assert leftovers(connection) == {"audit": 1}
    store.close()
    assert os.listdir(folder) == [Path(location).name]
    with fivefold.open(location, namespace="ana", embedder=Toy()) as engine:
        assert engine.get("drink").content == "I take tea"
        assert all(finding.ok for finding in engine.doctor())


def leftovers(connection: apsw.Connection) -> dict[str, int]:
    """By table, the rows that are of no namespace, and those with the word of the deleted one."""
    found: dict[str, int] = {}
    keys = {key for (key,) in rows(connection, "SELECT key FROM namespaces")}
    spaces = {key for (key,) in rows(connection, "SELECT key FROM spaces")}
    vectors = {id for (id,) in rows(connection, "SELECT id FROM vectors")}
    for (table,) in rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        names = [column[1] for column in rows(connection, f"PRAGMA table_info({table})")]
        for row in rows(connection, f"SELECT * FROM {table}"):
            of = dict(zip(names, row, strict=True))
            stray = (
                (table not in ("audit", "answers", "queue", "queue_lengths") and of.get("namespace", 1) not in keys)
                or (table in ("vectors", "removals") and of["space"] not in spaces)
                or (table == "tokens" and of["key"] >> 10 not in vectors)
                or (table == "vec_16_rowids" and of["rowid"] not in vectors)
            )
            if stray or WORD in repr(row).casefold():
                found[table] = found.get(table, 0) + 1
    return found


def test_the_vectors_of_a_deleted_namespace_are_overwritten(store: SharedStore) -> None:
    store.namespace("ana").remember("I take tea")
    store.namespace(WORD).remember("zzzz zzzz")
    reader = store.store.reader(WORD)
    space = reader.search.vector_space()
    assert space is not None
    (vector,) = reader.search.vectors(space, [memory.row for memory in store.namespace(WORD).memories()]).values()
    assert vector.tobytes() in _files(store.location)
    store.delete_namespace(WORD)
    store.close()
    assert vector.tobytes() not in _files(store.location)
    assert b"zzzz" not in _files(store.location)


def _files(location: str) -> bytes:
    return b"".join(Path(location + end).read_bytes() for end in ("", "-wal") if os.path.exists(location + end))


def test_a_server_is_left_with_nothing_of_a_deleted_namespace(postgres: Server) -> None:
    with fivefold.store(postgres.new_location(), embedder=Toy()) as store:
        backing = store.store
        assert isinstance(backing, PostgresStore)
        store.namespace("ana").remember("I take tea")
        fill(store, WORD)
        store.delete_namespace(WORD)
        with backing.administration() as connection:
            tables = connection.execute(
                "SELECT DISTINCT c.table_name FROM information_schema.columns c JOIN information_schema.tables t "
                "USING (table_schema, table_name) WHERE c.table_schema = current_schema() "
                "AND c.column_name = 'namespace' AND t.table_type = 'BASE TABLE'"
            ).fetchall()
            names = {name for (name,) in tables}
            assert set(TABLES) <= names
            for name in names - {"audit"}:
                sql = f"SELECT count(*) FROM {name} WHERE namespace NOT IN (SELECT key FROM namespaces)"
                assert connection.execute(sql).fetchone() == (0,), name
            assert connection.execute("SELECT name FROM namespaces").fetchall() == [("ana",)]
        assert [(entry.action, entry.namespace) for entry in backing.audit.all()] == [("delete_namespace", WORD)]


def test_a_model_that_is_trained_meanwhile_is_not_stored(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, WORD)

    def delete_first(reader: Reader) -> list[Lesson]:
        found = read_lessons(reader)
        store.delete_namespace(WORD)
        return found

    monkeypatch.setattr(training, "read_lessons", delete_first)
    with pytest.raises(fivefold.NotFound):
        store.namespace(WORD).train_reranker()
    assert not model_path(store.location, WORD).exists()
    assert store.namespaces() == ()


# Ten thousand users in one process: few descriptors, few threads, little memory.


pytestmark = pytest.mark.slow

COUNT = 10_000
WRITERS = int(os.environ.get("FIVEFOLD_TEST_NAMESPACES", "1000"))

CHILD = """
    import json, os, re, sys
    from concurrent.futures import ThreadPoolExecutor

    import fivefold
    from tests.conformance.vectors import WordVectors

    with fivefold.store(sys.argv[1], embedder=WordVectors(384)) as store:
        count, writers = int(sys.argv[2]), int(sys.argv[3])
        engines = [store.namespace(f"user {number}") for number in range(count)]
        for number, engine in enumerate(engines[:writers]):
            engine.remember(f"My badge is E-{number}")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda engine: engine.recall("what is my badge?"), engines[:writers:10]))
        print(json.dumps({
            "found": [answer[0].memory.content for answer in answers],
            "namespaces": len(store.namespaces()),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": len(os.listdir("/proc/self/task")),
            "megabytes": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024,
        }))
"""


@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc")
def test_ten_thousand_namespaces_are_written_and_recalled_in_one_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path / "users.db"), str(COUNT), str(WRITERS)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["namespaces"] == WRITERS
    assert found["found"] == [f"My badge is E-{number}" for number in range(0, WRITERS, 10)]
    assert found["descriptors"] <= 64
    assert found["threads"] <= 40
    assert found["megabytes"] <= 1_024
