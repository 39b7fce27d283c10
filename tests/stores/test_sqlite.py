"""The SQLite store: what it refuses to open, how it grows, and that nothing leaks between namespaces."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

import fivefold
from fivefold.stores.sqlite import checksums
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.schema import APPLICATION_ID, migrate, migrations
from fivefold.stores.sqlite.store import SqliteStore
from tests.support.toy_engine import toy

pytestmark = pytest.mark.slow

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
    checksums.renew(connection)
    connection.close()
    with pytest.raises(fivefold.NewerSchema, match=r"version 99.*upgrade fivefold"):
        fivefold.open(store_path)


def test_a_file_that_a_newer_version_upgrades_under_an_engine_is_no_longer_written(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("written by this version", id="ours")
        connection = connect(store_path)
        connection.execute("PRAGMA user_version = 99")
        checksums.renew(connection)
        connection.close()
        for write in (lambda: engine.remember("written too late"), lambda: engine.forget("ours")):
            with pytest.raises(fivefold.NewerSchema, match=r"version 99.*upgrade fivefold"):
                write()
        assert [memory.id for memory in engine.memories()] == ["ours"]


def test_each_migration_has_a_number_of_its_own() -> None:
    """Two of one number would leave a file with the first of them at a version that lacks the second."""
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


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
    with pytest.raises(fivefold.InvalidInput, match="'mysql' is not a store"):
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


@pytest.mark.parametrize("in_memory", [False, True])
def test_the_words_of_a_small_namespace_are_those_of_now(store_path: str, in_memory: bool) -> None:
    """Its documents stay in memory; a write of any process, also one that is undone, makes them stale."""
    ours = toy(":memory:" if in_memory else store_path)
    theirs = ours if in_memory else toy(store_path)

    def found(word: str) -> list[str]:
        return [hit.memory.id for hit in ours.recall(word, recipe="lexical")]

    with ours, theirs:
        theirs.remember("The heron nests by the weir.", id="heron")
        assert found("heron") == ["heron"]
        theirs.update("heron", content="The otter sleeps by the weir.")
        assert (found("heron"), found("otter")) == ([], ["heron"])
        with suppress(LookupError), theirs.store.write("default") as txn:
            txn.memories.remove(1)
            raise LookupError
        assert found("otter") == ["heron"]
        theirs.remember("An otter again.", id="again")
        assert set(found("otter")) == {"heron", "again"}
        theirs.forget("heron")
        assert found("otter") == ["again"]


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
        from tests.support.toy_engine import toy
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


def test_the_same_id_may_live_in_two_namespaces(store_path: str) -> None:
    with toy(store_path, "a") as a, toy(store_path, "b") as b:
        a.remember("this is a", id="x")
        b.remember("this is b", id="x")
        a.forget("x")
        assert b.get("x").content == "this is b"


# dense search
