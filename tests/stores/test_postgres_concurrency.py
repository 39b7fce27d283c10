"""Many at once on a PostgreSQL store: processes, threads, forks, and one that closes it under the others."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.stores.postgres.connection import WriteTurns
from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.sql.feedback import BATCH
from tests.conformance.store_pair import opened as engine_on
from tests.conformance.vectors import WordVectors
from tests.support.own_database import opened
from tests.support.postgres import Server

pytestmark = pytest.mark.postgres

EACH = 120
PATIENCE_S = 60.0


@pytest.fixture
def location(postgres: Server) -> str:
    return postgres.new_location()


@pytest.fixture
def engine(location: str) -> Iterator[Engine]:
    with opened(location) as made:
        made.remember("Sarah drinks tea")
        yield made


def side_by_side(works: Sequence[Callable[[], object]]) -> list[Exception]:
    """Do all at once; gives what went wrong. None may take for ever."""
    wrong: list[Exception] = []

    def attempt(work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=attempt, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    until = time.monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"
    return wrong


def run(code: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# processes


def test_two_processes_write_into_one_namespace(location: str) -> None:
    opened(location).close()
    code = """
        import sys
        from tests.support.own_database import opened
        location, name, each = sys.argv[1], sys.argv[2], int(sys.argv[3])
        with opened(location) as engine:
            for number in range(each):
                engine.remember(f"{name} wrote note {number}")
                if number % 40 == 0:
                    assert engine.recall(f"what did {name} write?").hits
    """
    writers = [run(code, location, name, str(EACH)) for name in ("Anna", "Boris")]
    errors = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], errors
    with opened(location) as engine:
        contents = [memory.content for memory, _ in engine.store.reader("default").memories.scan(0, 10_000)]
        assert len(contents) == len(set(contents)) == 2 * EACH
        assert all(finding.ok for finding in engine.doctor())


def test_a_fork_is_told_to_open_the_store_again_and_hurts_nobody(location: str) -> None:
    """Closing in the child leaves the parent's connections as they were."""
    code = """
        import os, sys
        import fivefold
        from tests.support.own_database import opened
        engine = opened(sys.argv[1])
        engine.remember("Sarah drinks tea")
        backend = lambda: engine.store._primary.rows(0, "SELECT pg_backend_pid()", ())
        before = backend()
        child = os.fork()
        if child == 0:
            for use in (lambda: engine.recall("tea"), lambda: engine.remember("milk")):
                try:
                    use()
                except fivefold.StoreClosed as error:
                    print(error, flush=True)
            engine.close()
            os._exit(0)
        os.waitpid(child, 0)
        print(backend() == before, len(engine.recall("tea").hits), flush=True)
        engine.close()
    """
    process = run(code, location)
    told, errors = process.communicate(timeout=PATIENCE_S)
    again = "this engine was opened before the process forked; open the store again"
    assert told.splitlines() == [again, again, "True 1"], errors


# threads


def test_eight_threads_write_and_ask_in_eight_namespaces(engine: Engine) -> None:
    def work(name: str) -> None:
        own = engine_on(engine.store, name)
        for number in range(15):
            own.remember(f"{name} drinks tea number {number}", session_id="s" if number % 2 else None)
            assert own.recall("who drinks tea?", k=50).hits
        assert own.stats().by_kind["note"] == 8
        assert all(finding.ok for finding in own.doctor())

    names = [f"namespace {number}" for number in range(8)]
    assert side_by_side([lambda name=name: work(name) for name in names]) == []  # type: ignore[misc]
    assert set(names) < set(engine.store.namespaces())


def test_eight_threads_write_the_same_things_into_one_namespace(engine: Engine) -> None:
    texts = [f"Sarah owns cup number {number}" for number in range(12)]

    def work() -> None:
        for text in texts:
            engine.remember(text)

    assert side_by_side([work] * 8) == []
    stored = {memory.content: memory.seen_count for memory, _ in engine.store.reader("default").memories.scan(0, 1_000)}
    assert stored == {"Sarah drinks tea": 1, **dict.fromkeys(texts, 8)}
    assert all(finding.ok for finding in engine.doctor())


def test_one_memory_changed_by_many_at_once_is_changed_by_each(engine: Engine) -> None:
    id = engine.remember("nobody has been here").id

    def work(name: str) -> None:
        for number in range(5):
            engine.update(id, content=f"{name} was here {number}")

    assert side_by_side([lambda name=name: work(name) for name in ("Anna", "Boris", "Clara")]) == []  # type: ignore[misc]
    assert engine.get(id).content.endswith("was here 4")
    assert all(finding.ok for finding in engine.doctor())


def test_a_writer_keeps_no_recall_waiting(engine: Engine) -> None:
    """Not even the one that writes the log of recalls, which it does after so many."""
    recalls: list[int] = []

    def ask() -> None:
        recalls.extend(len(engine.recall("tea").hits) for _ in range(BATCH + 2))

    with engine.store.write("default") as txn:
        txn.admin.save_learned_value("x", {})
        assert side_by_side([ask]) == []
        assert recalls == [1] * (BATCH + 2)
    assert engine.stats().recalls == BATCH + 2


@pytest.mark.parametrize("size", [1, 2])
def test_few_connections_serve_many_threads(postgres: Server, size: int) -> None:
    """Routes run side by side within each recall; they take turns."""
    with opened(postgres.dsn(schema=postgres.new_schema(), pool_size=str(size))) as engine:
        engine.configure(route_budget_ms=60_000)
        engine.remember_many([f"Sarah met Tom over tea on day {number}" for number in range(30)])

        def work(number: int) -> None:
            recall = engine.recall("Who met Sarah over tea?")
            assert {run.status for run in recall.routes} <= {"hits", "skipped"}
            engine.remember(f"Ann asked {number} times")

        assert side_by_side([lambda number=number: work(number) for number in range(8)]) == []  # type: ignore[misc]


def test_connections_that_are_all_in_use_are_named_as_such(postgres: Server) -> None:
    where = postgres.dsn(schema=postgres.new_schema(), pool_size="1", connect_timeout_s="1")
    with opened(where) as engine:
        store = engine.store
        assert isinstance(store, PostgresStore)
        with (
            store._primary._pool.connection(),
            pytest.raises(fivefold.StoreError, match=r"all connections .* in use for too long, 1 at most; raise pool_"),
        ):
            engine.recall("tea")


def test_a_locked_namespace_keeps_neither_reads_nor_other_namespaces_waiting(postgres: Server) -> None:
    """Its own writes wait longer than for a connection, and none is refused."""
    where = postgres.dsn(schema=postgres.new_schema(), pool_size="4", connect_timeout_s="1")
    with opened(where) as engine:
        store = engine.store
        assert isinstance(store, PostgresStore)
        engine.remember("Sarah drinks tea")
        other = engine_on(store, "other")
        writes = [threading.Thread(target=engine.remember, args=(f"cup {number}",)) for number in range(6)]
        with store.administration() as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM namespaces WHERE name = 'default' FOR UPDATE")
            for write in writes:
                write.start()
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                assert engine.recall("tea", recipe="lexical").hits
                assert not store.keys.has_any()
                other.remember(f"Tom drinks milk at {time.monotonic()}")
            assert all(write.is_alive() for write in writes)
            connection.execute("COMMIT")
        for write in writes:
            write.join(PATIENCE_S)
        assert engine.stats().memories == 7


def test_a_write_that_waits_too_long_for_others_is_refused() -> None:
    turns = WriteTurns()
    with (
        turns.of(1, 1.0),
        turns.of(2, 1.0),
        pytest.raises(fivefold.StoreError, match=r"longer than 0\.01 s; nothing was changed"),
        turns.of(1, 0.01),
    ):
        pass
    with turns.of(1, 0.01):
        assert len(turns._locks) == 1


def test_closing_under_load_ends_everything_cleanly(location: str) -> None:
    engine = fivefold.open(location, embedder=WordVectors())
    engine.remember("Sarah drinks tea")
    began = threading.Barrier(7)
    stored: list[str] = []

    def use(work: Callable[[int], object]) -> None:
        began.wait()
        try:
            for number in range(10_000):
                work(number)
        except fivefold.StoreClosed:
            return
        raise AssertionError("the engine was never closed")

    def write(number: int) -> None:
        stored.extend(engine.remember(f"{threading.get_ident()} wrote {number}").stored)

    def close() -> None:
        began.wait()
        time.sleep(0.3)
        engine.close()

    works = [lambda: use(write)] * 3 + [lambda: use(lambda _: engine.recall("tea"))] * 3
    assert side_by_side([*works, close]) == []
    with opened(location) as later:
        kept = {memory.id for memory, _ in later.store.reader("default").memories.scan(0, 100_000)}
        assert set(stored) <= kept
        assert all(finding.ok for finding in later.doctor())


def test_two_stores_of_one_process_see_each_others_writes(location: str) -> None:
    with opened(location) as one, opened(location) as other:
        id = one.remember("Sarah drinks tea").id
        assert other.get(id).content == "Sarah drinks tea"
        other.forget(id)
        with pytest.raises(fivefold.NotFound):
            one.get(id)
