"""Forgetting is real: afterwards no file of the store has a word or a vector of what was forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.namespace import Namespace
from fivefold.stores import open_store
from fivefold.stores.records import RequestKey
from fivefold.stores.sqlite import lexical as shared_lexemes
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.transfer.backup import back_up
from fivefold.values.memory import Memory
from fivefold.values.validate import MAX_STORED_TAGS, MAX_TAGS
from tests.support.clock import Clock
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
        monkeypatch.setattr(shared_lexemes, "MAX_MEMORIES", 2)
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


# A pin, while another writer changes the memory.


def after_the_first_look(act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Something happens once, right after an engine has looked at a memory."""
    look = Namespace.get

    def get(self: Namespace, id: str) -> Memory:
        memory = look(self, id)
        monkeypatch.setattr(Namespace, "get", look)
        act()
        return memory

    monkeypatch.setattr(Namespace, "get", get)


@pytest.fixture
def other(store_path: str) -> Engine:
    engine = toy(store_path)
    engine.remember("Nuno drinks tea", id="m")
    return engine


def test_a_pin_keeps_the_end_that_another_writer_gives(
    store_path: str, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toy(store_path) as engine, other:
        after_the_first_look(lambda: other.update("m", expires_at="2999-01-01T00:00:00Z"), monkeypatch)
        memory = engine.pin("m")
        assert memory.pinned
        assert memory.expires_at is not None
        assert memory.expires_at.year == 2999


def test_a_memory_that_another_writer_forgets_is_not_pinned(
    store_path: str, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toy(store_path) as engine, other:
        after_the_first_look(lambda: other.forget("m"), monkeypatch)
        with pytest.raises(fivefold.NotFound, match="no memory 'm'"):
            engine.pin("m")


# No way of writing gives a memory more tags than it may have.


def test_the_tags_of_equal_notes_end_at_the_limit(tmp_path: Path) -> None:
    with toy(str(tmp_path / "m.db")) as mem:
        first = [f"a{number}" for number in range(MAX_TAGS - 1)]
        mem.remember("The gate is green", id="gate", tags=first)
        mem.remember("The gate is green", tags=["b0", "b1"])
        assert list(mem.get("gate").tags) == [*first, "b0"]


def test_an_exported_memory_with_very_many_tags_is_refused(tmp_path: Path) -> None:
    lines = tmp_path / "out.jsonl"
    with toy(str(tmp_path / "m.db")) as mem:
        mem.remember("The gate is green", id="gate", tags=["a"])
        mem.export_jsonl(lines)
    memory = json.loads(lines.read_text("utf-8"))
    memory["tags"] = [f"a{number}" for number in range(MAX_STORED_TAGS + 1)]
    lines.write_text(json.dumps(memory), "utf-8")
    with toy(str(tmp_path / "other.db")) as other, pytest.raises(InvalidInput, match="tags"):
        other.import_jsonl(lines)


# A clock that is set back: what is said later still replaces what was said before, and comes after it in lists.

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON)


@pytest.fixture
def clocked_engine(clock: Clock) -> Iterator[Engine]:
    store = open_store(":memory:")
    yield Engine(store, "default", Toy(), clock=clock)
    store.close()


def test_a_clock_that_is_set_back_breaks_no_order(clocked_engine: Engine, clock: Clock) -> None:
    clocked_engine.remember("My badge ID is E-47821", id="old", speaker="user")
    clocked_engine.remember("Hello there", id="t1", session_id="s")
    clock.now -= timedelta(hours=1)
    report = clocked_engine.remember("My badge ID is E-50113", id="new", speaker="user")
    clocked_engine.remember("How are you", id="t2", session_id="s")
    assert [(link.source, link.target) for link in report.superseded] == [("new", "old")]
    assert [memory.id for memory in clocked_engine.memories()] == ["t2", "new", "t1", "old"]
    assert [turn.id for turn in clocked_engine.turns("s")] == ["t1", "t2"]
    assert {"new", "t2"} <= {memory.id for memory in clocked_engine.memories(since=NOON)}
    assert {"new", "t2"} <= {memory.id for memory in clocked_engine.memories(filter={"written_since": NOON})}
    assert [finding for finding in clocked_engine.doctor() if not finding.ok] == []


def test_a_time_that_is_given_stays_and_a_clock_that_was_far_ahead_is_not_followed(
    clocked_engine: Engine, clock: Clock
) -> None:
    clock.now += timedelta(days=400)
    clocked_engine.remember("Written with a wrong clock")
    clock.now = NOON
    clocked_engine.remember("Written with a right clock", id="right")
    clocked_engine.remember("Long ago", id="given", event_at=NOON - timedelta(days=9))
    assert clocked_engine.get("right").created_at == NOON
    assert clocked_engine.get("given").event_at == NOON - timedelta(days=9)
