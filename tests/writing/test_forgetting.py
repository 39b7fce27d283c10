"""Forgetting is real: afterwards no file of the store has a word or a vector of what was forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.interface import RequestKey
from fivefold.stores.sqlite import lexical as shared_lexemes
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.transfer.backup import back_up
from tests.support.postgres import Postgres, Server
from tests.support.toy_engine import Toy, toy

SECRET = {
    "id": "secretid",
    "content": "Zyxquince Marmaladov moved to Xanthopolis and likes qwzplum jam",
    "speaker": "Plumfox",
    "tags": ["tagqwz"],
    "task_tag": "taskqwz",
    "metadata": {"keyqwz": "valqwz"},
    "user_text": "usrqwz said this",
    "assistant_text": "astqwz said that",
    "session_id": "secretsession",
}
WORDS = ("zyxquinc", "marmalad", "xanthopol", "qwz", "plumfox", "secretid")
"""Parts of the words, as an index may have them without their endings."""


def fill(engine: Engine) -> list[bytes]:
    """Store the secret among other things and use it in every way; gives its vectors."""
    engine.configure(find_changes=False, find_repeats=False)
    engine.remember_many([{"content": "The boiler is old", "id": "kept"}, SECRET])
    engine.remember("Marmaladov lives in Xanthopolis now", id="other secretid", session_id="secretsession")
    with engine.store.write(engine.namespace) as txn:
        vectors = txn.vectors.get([engine.get("secretid").row], "full").values()
    answer = engine.recall("Where does Marmaladov live?", recipe="default")
    engine.feedback(answer, used=["secretid"])
    engine.check_drift()
    now = datetime(2025, 1, 1, tzinfo=UTC)
    later = datetime(2099, 1, 1, tzinfo=UTC)
    request = RequestKey(engine.namespace, "scope", "key")
    engine.store.requests.claim(request, b"digest", "lease", now, later, later)
    engine.store.requests.finish(request, "lease", 200, '{"id": "secretid", "content": "Zyxquince Marmaladov"}')
    return [vector.astype("float32").tobytes() for vector in vectors]


def forget_both(engine: Engine) -> None:
    engine.forget("secretid")
    engine.forget("other secretid")


def forget_session(engine: Engine) -> None:
    engine.forget_session("secretsession")


def forget_namespace(engine: Engine) -> None:
    engine.store.delete_namespace(engine.namespace)


def sweep_all(engine: Engine) -> None:
    for id in ("secretid", "other secretid"):
        engine.update(id, expires_at="2020-01-01")
    assert set(engine.sweep(dry_run=True).swept) == {"secretid", "other secretid"}
    engine.sweep()


def left_in(folder: Path, vectors: list[bytes]) -> list[tuple[str, str]]:
    """Which word or vector is in which file."""
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = file.read_bytes()
        lower = data.lower()
        found += [(file.name, word) for word in WORDS if word.encode() in lower]
        found += [(file.name, "vector") for vector in vectors if vector in data]
    return found


@pytest.fixture(params=["shared lexemes", "own index"])
def filled(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Engine, list[bytes]]]:
    if request.param == "own index":
        monkeypatch.setattr(shared_lexemes, "MOST_MEMORIES", 2)
    with toy(str(tmp_path / "memory.db")) as engine:
        vectors = fill(engine)
        assert {("memory.db-wal", word) for word in (*WORDS, "vector")} <= set(left_in(tmp_path, vectors))
        yield engine, vectors


def reword(engine: Engine) -> None:
    harmless = dict.fromkeys(("user_text", "assistant_text", "task_tag"))
    for id in ("secretid", "other secretid"):
        engine.update(id, content="It is kept elsewhere", speaker="user", tags=(), metadata={}, **harmless)


def test_no_file_has_a_text_that_was_replaced(filled: tuple[Engine, list[bytes]], tmp_path: Path) -> None:
    engine, vectors = filled
    reword(engine)
    left = {word for _, word in left_in(tmp_path, vectors)}
    assert left <= {"secretid", "xanthopol", "marmalad"}, (
        "the ids stay, and the question of a recall that returned them"
    )


def test_a_recall_that_waits_in_another_process_brings_nothing_back(tmp_path: Path) -> None:
    with toy(str(tmp_path / "memory.db")) as engine, toy(str(tmp_path / "memory.db")) as other:
        engine.remember_many([{"content": "The boiler is old", "id": "kept"}, SECRET])
        other.recall("Where does Marmaladov live in Xanthopolis?", recipe="lexical")
        engine.forget("secretid")
        other.recall("How old is the boiler?", recipe="lexical")
        store = other.store
        assert isinstance(store, SqliteStore)
        store.recalls.flush()
        assert other.stats().recalls == 1
        assert left_in(tmp_path, []) == []


@pytest.mark.parametrize("forget", [forget_both, forget_session, forget_namespace, sweep_all])
def test_no_file_has_what_was_forgotten(
    filled: tuple[Engine, list[bytes]], tmp_path: Path, forget: Callable[[Engine], None]
) -> None:
    engine, vectors = filled
    forget(engine)
    assert engine.erasure().complete
    assert left_in(tmp_path, vectors) == []
    back_up(str(tmp_path / "memory.db"), tmp_path / "later.db")
    engine.close()
    assert left_in(tmp_path, vectors) == []


def test_every_connection_overwrites_what_it_deletes(tmp_path: Path) -> None:
    with toy(str(tmp_path / "memory.db")) as engine:
        engine.remember("The boiler is old")
        engine.recall("boiler", recipe="lexical")
        store = engine.store
        assert isinstance(store, SqliteStore)
        store.recalls.flush()
        connections = [*store.connections._all, store._logging]
        assert [connection.pragma("secure_delete") for connection in connections if connection] == [1] * len(
            connections
        )


def test_on_postgresql_a_full_vacuum_takes_the_last_bytes(postgres: Server) -> None:
    """Until then they may remain in the files, which `erasure` says and the docs."""
    if not isinstance(postgres, Postgres):
        pytest.skip("the files of a server elsewhere cannot be read")
    name = postgres.new_database()
    with fivefold.open(postgres.dsn(name), embedder=Toy()) as engine:
        vectors = fill(engine)
        forget_both(engine)
        assert not engine.erasure().complete
        assert "vacuum" in engine.erasure().detail
    with postgres.connect(name) as connection:
        connection.execute("VACUUM FULL")
        connection.execute("CHECKPOINT")
        ((folder,),) = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchall()
    assert left_in(postgres.folder / "data" / "base" / str(folder), vectors) == []
