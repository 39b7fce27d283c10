"""The SQLite store: what it refuses to open, how it grows, and that nothing leaks between namespaces."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import apsw
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.stores.queries import Filter
from fivefold.stores.sqlite import vectors
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.schema import APPLICATION_ID, migrate, migrations
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.testing.recipes import steady_recipes


class Toy:
    """Cheap vectors for tests that are not about meaning: letters counted into 16 places."""

    pin = "toy@1"
    dimension = 16

    def embed(self, texts: object, progress: object = None) -> npt.NDArray[np.float32]:
        rows = np.ones((len(texts), 16), np.float32)  # type: ignore[arg-type]
        for i, text in enumerate(texts):  # type: ignore[arg-type, var-annotated]
            for letter in text:
                rows[i, ord(letter) % 16] += 1
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def toy(path: str, namespace: str = "default") -> Engine:
    return fivefold.open(path, namespace=namespace, embedder=Toy())


# opening


def test_a_file_that_is_no_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    with pytest.raises(fivefold.StoreError, match="is not a fivefold store, or it is damaged"):
        fivefold.open(path)
    assert path.read_text() == "dear diary, " * 100


def test_another_programs_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = str(tmp_path / "other.db")
    other = apsw.Connection(path)
    other.execute("CREATE TABLE accounts (id)")
    other.close()
    before = Path(path).read_bytes()
    with pytest.raises(fivefold.StoreError, match="another program's SQLite database"):
        fivefold.open(path)
    assert Path(path).read_bytes() == before


def test_a_newer_file_is_refused(store_path: str) -> None:
    toy(store_path).close()
    connection = connect(store_path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(fivefold.NewerSchema, match=r"version 99.*upgrade fivefold"):
        fivefold.open(store_path)


def test_an_older_file_is_migrated_after_a_backup(store_path: str) -> None:
    with toy(store_path) as engine:
        id = engine.remember("kept across versions").id
    newest = migrations()[-1][0]
    later = [*migrations(), (newest + 1, "ALTER TABLE memories ADD COLUMN mood TEXT")]
    connection = connect(store_path)
    migrate(connection, store_path, later)
    assert connection.pragma("user_version") == newest + 1
    assert connection.execute("SELECT id, mood FROM memories").fetchall() == [(id, None)]
    connection.close()
    backup = Path(f"{store_path}.v{newest}.bak")
    with toy(str(backup)) as old:
        assert old.get(id).content == "kept across versions"


def test_a_failing_migration_changes_nothing(store_path: str) -> None:
    toy(store_path).close()
    newest = migrations()[-1][0]
    connection = connect(store_path)
    with pytest.raises(apsw.SQLError):
        migrate(connection, store_path, [*migrations(), (newest + 1, "CREATE TABLE mood (x); SELECT nonsense")])
    assert connection.pragma("user_version") == newest
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'mood'").fetchall() == [(0,)]
    connection.close()


def test_a_new_file_is_marked_as_ours(store_path: str) -> None:
    toy(store_path).close()
    connection = connect(store_path)
    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("journal_mode") == "wal"
    connection.close()


def test_a_folder_or_a_missing_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(fivefold.StoreError, match="is a folder; give the path of a file"):
        fivefold.open(tmp_path)
    with pytest.raises(fivefold.StoreError, match="does not exist; create it first"):
        fivefold.open(tmp_path / "no" / "x.db")


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(fivefold.InvalidInput, match="'mysql' is no store"):
        fivefold.open("mysql://host/db")


def test_a_closed_engine_says_so(store_path: str) -> None:
    engine = toy(store_path)
    engine.remember("hello there")
    engine.close()
    engine.close()
    for call in (lambda: engine.remember("more text"), lambda: engine.recall("hello"), engine.stats):
        with pytest.raises(fivefold.StoreClosed, match="was closed"):
            call()


# no room, no right to write


def test_a_full_disk_undoes_the_write_and_loses_nothing(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("written while there was room")
        assert isinstance(engine.store, SqliteStore)
        with engine.store.connections.writer() as connection:
            pages = int(connection.pragma("page_count"))
            connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(fivefold.DiskFull, match="free some space and try again"):
            engine.remember_many([f"a longer text that will not fit {i} " * 50 for i in range(200)])
        assert engine.stats().memories == 1
        assert all(finding.ok for finding in engine.doctor())
        with engine.store.connections.writer() as connection:
            connection.execute("PRAGMA max_page_count = 1000000")
        engine.remember("and now there is room again")
        assert engine.stats().memories == 2


def test_a_read_only_folder_can_be_read_but_not_written(tmp_path: Path) -> None:
    """Runs as an ordinary user, since to root no folder is read-only."""
    folder = tmp_path / "sealed"
    folder.mkdir()
    path = folder / "m.db"
    with toy(str(path)) as engine:
        engine.remember("sealed but legible")
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    path.chmod(0o444)
    folder.chmod(0o555)
    child = textwrap.dedent(f"""
        import os, fivefold
        from tests.stores.test_sqlite import toy
        rehearsal = toy({str(tmp_path / "rehearsal.db")!r})  # loads every module while they can be read
        rehearsal.remember("sealed but legible")
        rehearsal.recall("legible", recipe="lexical")
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        engine = toy({str(path)!r})
        print(engine.recall("legible", recipe="lexical")[0].memory.content)
        try:
            engine.remember("no more room here")
        except fivefold.ReadOnly as error:
            print(error)
        try:
            fivefold.open({str(folder / "new.db")!r})
        except fivefold.StoreError as error:
            print(error)
    """)
    try:
        ran = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)
    lines = ran.stdout.splitlines()
    assert lines[:1] == ["sealed but legible"], ran.stderr
    assert "cannot be written: the file or its folder is read-only" in lines[1]
    assert "cannot be opened" in lines[2] or "read-only" in lines[2]


# namespaces

words = st.sampled_from("alpha Beta gamma Delta epsilon Zeta eta Theta iota Kappa reports to met yesterday".split())
said = st.lists(words, min_size=1, max_size=6).map(" ".join)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mine=st.lists(said, min_size=1, max_size=8), theirs=st.lists(said, max_size=8), question=said)
def test_nothing_another_namespace_holds_changes_an_answer(
    tmp_path_factory: pytest.TempPathFactory, mine: list[str], theirs: list[str], question: str
) -> None:
    """Hits, scores, entities, edges, statistics, settings: the same beside a neighbour as alone."""
    folder = tmp_path_factory.mktemp("leak")

    def talk(texts: list[str]) -> list[dict[str, str]]:
        return [
            {"content": text, "session_id": "s", "event_at": f"2025-02-01T09:0{i}:00Z"} for i, text in enumerate(texts)
        ]

    def answers(path: Path, neighbours: list[str]) -> object:
        with toy(str(path), "theirs") as other:
            other.remember_many(talk(neighbours))
            other.configure(timezone="Asia/Tokyo", hops=0)
        with toy(str(path), "mine") as engine:
            engine.remember_many(talk(mine))
            held = engine.stats()
            return (
                [
                    [
                        (hit.memory.content, hit.score)
                        for hit in engine.recall(question, 50, recipe=recipe, now="2025-03-01")
                    ]
                    for recipe in steady_recipes()
                ],
                [(ref.text, ref.name, ref.confidence) for ref in engine.understand(question).entities],
                [
                    (edge.source, edge.relation, edge.target)
                    for item in engine.graph.entities()
                    for edge in engine.graph.edges(item.id)
                ],
                (held.memories, held.entities, held.links, held.edges, held.sessions, held.vectors, held.recalls),
                engine.settings,
            )

    assert answers(folder / "alone.db", []) == answers(folder / "beside.db", theirs)


def test_ids_of_another_namespace_are_unknown_here(store_path: str) -> None:
    with toy(store_path, "a") as a, toy(store_path, "b") as b:
        id = a.remember("only in a").id
        b.remember("only in b")
        answer = a.recall("only in a")
        for call in (
            lambda: b.get(id),
            lambda: b.forget(id),
            lambda: b.update(id, content="taken over"),
            lambda: b.supersede(id, "taken over"),
            lambda: b.feedback(answer.id, used=[id]),
        ):
            with pytest.raises(fivefold.NotFound):
                call()
        with pytest.raises(fivefold.InvalidInput, match="was made in namespace 'a'"):
            b.feedback(answer, used=[id])
        assert a.get(id).content == "only in a"


def test_the_same_id_may_live_in_two_namespaces(store_path: str) -> None:
    with toy(store_path, "a") as a, toy(store_path, "b") as b:
        a.remember("this is a", id="x")
        b.remember("this is b", id="x")
        a.forget("x")
        assert b.get("x").content == "this is b"


# dense search


def test_memory_and_vec0_give_the_same_neighbours(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(1)
    with toy(store_path) as engine:
        engine.remember_many([" ".join(map(str, chance.integers(0, 99, 8))) for _ in range(300)])
        store = engine.store
        assert isinstance(store, SqliteStore)
        space = store.reader("default").search.vector_space()
        assert space is not None
        for keep in (Filter(), Filter(("fact",)), Filter(("event", "preference"))):
            for text in ("12 50 7", "hello"):
                question = Toy().embed([text])[0]
                with store.connections.reader() as connection:
                    by_vec0 = vectors.knn(connection, space, "full", question, 20, keep)
                    in_memory = store.vector_cache.search(connection, space, "full", question, 20, keep)
                assert [round(hit.score, 5) for hit in by_vec0] == [round(hit.score, 5) for hit in in_memory]


def test_a_large_namespace_is_held_from_its_second_recall(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "SMALL", 5)
    with toy(store_path) as engine:
        engine.remember_many([f"text number {i}" for i in range(20)])
        assert isinstance(engine.store, SqliteStore)
        first = [round(hit.candidate.evidence[0].score, 5) for hit in engine.recall("text number 7", recipe="dense")]
        assert not engine.store.vector_cache._cached
        second = [round(hit.candidate.evidence[0].score, 5) for hit in engine.recall("text number 7", recipe="dense")]
        assert engine.store.vector_cache._cached
        assert first == second


def test_memory_over_the_budget_is_let_go(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "CACHE_BYTES", 16 * 4 * 30)
    with toy(store_path, "a") as a:
        assert isinstance(a.store, SqliteStore)
        b = Engine(a.store, "b", Toy())
        for engine in (a, b):
            engine.remember_many([f"text number {i}" for i in range(20)])
            engine.recall("text", recipe="dense")
        assert len(a.store.vector_cache._cached) == 1
        assert len(a.recall("text number 3")) == 10


def test_what_another_process_writes_is_seen_at_once(store_path: str) -> None:
    def elsewhere(code: str) -> None:
        script = f"from tests.stores.test_sqlite import toy\nengine = toy({store_path!r})\n{code}\nengine.close()"
        subprocess.run([sys.executable, "-c", script], check=True)

    with toy(store_path) as engine:
        engine.remember_many([f"text number {i}" for i in range(5)], progress=False)
        assert len(engine.recall("text number", k=50, recipe="dense")) == 5
        elsewhere("engine.remember('text number five', id='new')")
        assert "new" in {hit.memory.id for hit in engine.recall("text number", k=50, recipe="dense")}
        elsewhere("engine.update('new', content='quite different words', type='preference')")
        changed = engine.recall("quite different words", recipe="dense")[0].memory
        assert (changed.id, changed.type) == ("new", "preference")
        elsewhere("engine.forget('new')")
        assert "new" not in {hit.memory.id for hit in engine.recall("text number", k=50, recipe="dense")}


# the log of recalls


def test_recalls_are_logged_and_the_log_is_bounded(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.stores.sql.recall_log.MOST_LOGGED", 100)
    with toy(store_path) as engine:
        kept = engine.remember("the one memory").id
        first = engine.recall("one memory")
        engine.feedback(first, used=[kept])
        for _ in range(500):
            engine.recall("memory")
        assert engine.stats().recalls <= 110
        assert engine.stats().feedback == 1
        engine.feedback(first.id, used=[kept])


def test_a_recall_does_not_wait_for_a_writer(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("readable while another writes")
        other = connect(store_path)
        other.execute("BEGIN IMMEDIATE")
        for _ in range(70):
            answer = engine.recall("readable")
            assert answer[0].memory.content == "readable while another writes"
        assert engine.store.reader("default").feedback.returned_ids(answer.id) == (answer[0].memory.id,)
        other.execute("ROLLBACK")
        other.close()
        assert engine.stats().recalls == 70


# what a review brought to light


def test_the_doctor_is_right_after_writes_and_recalls(store_path: str) -> None:
    with toy(store_path) as engine:
        for i in range(5):
            engine.remember(f"note number {i}")
            engine.recall("note")
            assert all(finding.ok for finding in engine.doctor())


def test_a_relative_path_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with toy("rel.db") as engine:
        engine.remember("still here")
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert len(engine.recall("here")) == 1
    assert not (tmp_path / "elsewhere" / "rel.db").exists()


def test_a_store_is_private(store_path: str) -> None:
    toy(store_path).close()
    assert os.stat(store_path).st_mode & 0o077 == 0


@pytest.mark.parametrize("end", ["", "-wal"])
def test_an_export_does_not_overwrite_the_store(store_path: str, end: str) -> None:
    with toy(store_path) as engine:
        engine.remember("precious")
        with pytest.raises(fivefold.InvalidInput, match="is the store itself"):
            engine.export_jsonl(store_path + end)
        assert engine.stats().memories == 1


def test_an_engine_of_before_a_fork_says_so(store_path: str) -> None:
    script = (
        "import os, sys, fivefold\nfrom tests.stores.test_sqlite import toy\n"
        f"engine = toy({store_path!r})\nengine.remember('before')\npid = os.fork()\n"
        "if pid:\n    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "try:\n    engine.recall('before')\nexcept fivefold.StoreClosed as error:\n"
        "    os._exit(0 if 'forked' in str(error) else 1)\nos._exit(2)"
    )
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=False, timeout=60)
    assert ran.returncode == 0


def test_many_threads_may_share_an_engine(store_path: str) -> None:
    """Writers, readers, forgetters and doctors at once: no error, no doubled evidence, nothing lost."""
    errors: list[BaseException] = []
    kept: list[str] = []

    def work(number: int, engine: Engine) -> None:
        try:
            for i in range(25):
                id = engine.remember(f"thread {number} wrote {i}", session_id=f"s{number}").id
                for hit in engine.recall(f"thread {number}", k=20):
                    routes = [item.route for item in hit.candidate.evidence]
                    assert len(routes) == len(set(routes))
                if i % 5 == 0:
                    engine.forget(id)
                elif i % 5 == 1:
                    kept.append(engine.update(id, content=f"thread {number} changed {i}").id)
                else:
                    kept.append(id)
            engine.doctor()
        except BaseException as error:
            errors.append(error)

    with toy(store_path) as engine:
        threads = [threading.Thread(target=work, args=(number, engine)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert {engine.get(id).id for id in kept} == set(kept)
        assert all(finding.ok for finding in engine.doctor())


def test_closing_under_load_says_closed_and_nothing_else(store_path: str) -> None:
    engine = toy(store_path)
    engine.remember_many([f"text number {i}" for i in range(50)])
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(500):
                engine.recall("text")
        except fivefold.StoreClosed:
            return
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    engine.close()
    for thread in threads:
        thread.join()
    assert errors == []


def test_vectors_that_are_not_numbers_are_refused(store_path: str) -> None:
    class Broken(Toy):
        def embed(self, texts: object, progress: object = None) -> npt.NDArray[np.float32]:
            return super().embed(texts) * np.nan

    with fivefold.open(store_path, embedder=Broken()) as engine:
        with pytest.raises(fivefold.EmbedderError, match="zero or holds no numbers"):
            engine.remember("nothing to measure by")
        assert engine.stats().memories == 0


def test_vectors_of_any_length_are_brought_to_one(store_path: str) -> None:
    class Long(Toy):
        def embed(self, texts: object, progress: object = None) -> npt.NDArray[np.float32]:
            return super().embed(texts) * np.float32(7)

    with fivefold.open(store_path, embedder=Long()) as engine:
        engine.remember("the very same words")
        score = engine.recall("the very same words", recipe="dense")[0].candidate.evidence[0].score
        assert 0 < score <= 1.0001


@pytest.mark.parametrize("location", [5, b"bytes.db", "a\x00b", "\ud800.db", ""])
def test_a_location_that_is_none_is_a_clear_error(location: object) -> None:
    with pytest.raises(fivefold.InvalidInput):
        fivefold.open(location)  # type: ignore[arg-type]


def test_a_wrong_name_creates_no_file(store_path: str) -> None:
    for wrong in ({"embedder": "nope"}, {"extractor": "nope"}, {"embedder": object()}, {"namespace": ""}):
        with pytest.raises(fivefold.InvalidInput):
            fivefold.open(store_path, **wrong)
    assert not Path(store_path).exists()
