"""Backups: taken from a store that is written to, whole or not there, and the same when they come back."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Timer

import apsw
import pytest

import fivefold
from fivefold.errors import InvalidInput, NewerSchema, NotFound, StoreError
from fivefold.learning.reranker import model_path, reranker_store
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from fivefold.stores.sqlite import checksums
from fivefold.stores.sqlite.schema import migrations
from fivefold.transfer.backup import Backup, back_up, back_up_repeatedly, restore
from tests.conformance.store_pair import answers, same_answers
from tests.learning.test_reranker import VERDICT
from tests.support.backups import keys, killed_at, left, lived_in
from tests.support.migrating import exported
from tests.support.postgres import Server
from tests.support.toy_engine import toy

pytestmark = pytest.mark.slow

NOW = "2025-12-01T12:00:00Z"
QUESTIONS = ("where do I live now?", "what did Sarah say about the Kestrel?", "how do I take my tea?")


@pytest.fixture
def lived(sample_path: str, tmp_path: Path) -> str:
    return lived_in(sample_path, tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "kept.db"


def test_what_comes_back_is_what_was_there(lived: str, target: Path, tmp_path: Path) -> None:
    made = back_up(lived, target)
    assert (made.namespaces, made.memories, made.rerankers, made.amiss) == (2, 355, 1, ())
    assert made.size == target.stat().st_size
    assert target.stat().st_mode & 0o777 == 0o600
    again = str(tmp_path / "again.db")
    back = restore(target, again)
    assert (back.namespaces, back.memories, back.rerankers, back.taken_at) == (2, 355, 1, made.taken_at)
    assert keys(again) == keys(lived) != []
    assert made.keys == back.keys == 1
    for namespace in ("default", "Mia / work"):
        assert exported(again, namespace, tmp_path) == exported(lived, namespace, tmp_path)
    with fivefold.open(lived) as one, fivefold.open(again) as other:
        same_answers(answers(one, *QUESTIONS, now=NOW), answers(other, *QUESTIONS, now=NOW))
        assert reranker_store(other.store, "default").load().verdict == VERDICT
    assert model_path(again, "default").read_bytes() == model_path(lived, "default").read_bytes()
    assert left(tmp_path) == []


def test_a_backup_is_one_file_and_itself_a_store(lived: str, target: Path, tmp_path: Path) -> None:
    back_up(lived, target)
    alone = tmp_path / "elsewhere"
    alone.mkdir()
    shutil.move(target, alone / "moved.db")
    assert [entry.name for entry in alone.iterdir()] == ["moved.db"]
    assert exported(str(alone / "moved.db"), "default", tmp_path) == exported(lived, "default", tmp_path)


def test_the_store_is_not_changed(lived: str, target: Path) -> None:
    before = Path(lived).read_bytes()
    back_up(lived, target)
    assert Path(lived).read_bytes() == before


def test_in_a_folder_a_backup_is_named_by_its_store_and_time(lived: str, tmp_path: Path) -> None:
    made = back_up(lived, tmp_path, now=datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC))
    assert Path(made.file) == tmp_path / "lived-20250304T050607Z.db"
    assert restore(made.file, str(tmp_path / "again.db")).taken_at == datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_an_older_schema_is_kept_as_it_is_and_brought_up_to_date_on_its_way_back(target: Path, tmp_path: Path) -> None:
    """A backup before an upgrade does not do the upgrade."""
    old = tmp_path / "old.db"
    with closing(apsw.Connection(str(old))) as connection:
        version, sql = migrations()[0]
        connection.execute(sql)
        connection.execute(f"PRAGMA application_id = {0x35464C44}")
        connection.execute(f"PRAGMA user_version = {version}")
    assert back_up(str(old), target).schema == 1
    restored = restore(target, str(tmp_path / "new.db"))
    assert restored.schema == migrations()[-1][0]
    with closing(apsw.Connection(str(old))) as connection:
        assert connection.pragma("user_version") == 1
    assert sorted(tmp_path.glob("*.bak*")) == []


# while others write


WRITER = textwrap.dedent("""
    import itertools, sys
    from tests.support.toy_engine import toy
    engine = toy(sys.argv[1])
    for i in itertools.count():
        session = f"{sys.argv[2]} {i // 5}"
        print(engine.remember(f"{sys.argv[2]} wrote number {i}", session_id=session).id, flush=True)
""")


def test_a_backup_under_writers_holds_all_that_was_confirmed_before(
    store_path: str, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fivefold.transfer.backup.STEP_PAGES", 3)
    said: list[str] = []
    names = ("anna", "boris")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, store_path, name], stdout=subprocess.PIPE, text=True)
        for name in names
    ]
    copies: list[Backup] = []
    try:
        for round in range(3):
            for process in writers:
                assert process.stdout is not None
                said += [process.stdout.readline().strip() for _ in range(20)]
            copies.append(back_up(store_path, tmp_path / f"{round}.db"))
            _holds(copies[-1], said)
        assert all(process.poll() is None for process in writers)
    finally:
        for process in writers:
            process.kill()
            process.communicate()
    assert copies[0].memories < copies[1].memories < copies[2].memories


def _holds(made: Backup, said: list[str]) -> None:
    assert made.amiss == ()
    with closing(apsw.Connection(made.file)) as connection:
        held = {str(id) for (id,) in connection.execute("SELECT id FROM memories")}
    assert set(said) <= held


# killed


@pytest.mark.parametrize("step", ["Copying", "Checking", "before move_into_place"])
def test_a_killed_backup_leaves_nothing_under_its_name(step: str, lived: str, target: Path, tmp_path: Path) -> None:
    killed_at(step, "backup", lived, target)
    assert not target.exists()
    assert len(list(tmp_path.glob(".kept.db.*.part"))) == 1
    back_up(lived, target)
    assert exported(str(target), "default", tmp_path) == exported(lived, "default", tmp_path)


def test_what_a_killed_run_left_is_swept_a_day_later(lived: str, target: Path, tmp_path: Path) -> None:
    killed_at("Copying", "backup", lived, target)
    (part,) = tmp_path.glob(".kept.db.*.part")
    back_up(lived, target)
    assert part.exists()
    yesterday = time.time() - 90_000
    for entry in (*part.rglob("*"), part):
        os.utime(entry, (yesterday, yesterday))
    back_up(lived, target, replace=True)
    assert not part.exists()


# what is refused


def test_nothing_is_overwritten_unless_told(lived: str, target: Path) -> None:
    target.write_text("a diary")
    with pytest.raises(InvalidInput, match="replace=True"):
        back_up(lived, target)
    assert target.read_text() == "a diary"
    back_up(lived, target, replace=True)


def test_a_file_that_came_meanwhile_stays(lived: str, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        meanwhile(lambda: target.write_text("a diary"), monkeypatch),
        pytest.raises(InvalidInput, match="exists already"),
    ):
        back_up(lived, target)
    assert target.read_text() == "a diary"


@contextmanager
def meanwhile(act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Does something in the middle of a copy."""

    @contextmanager
    def bar(title: str, total: int, *, show: bool) -> Iterator[Callable[[int], None]]:
        act()
        yield lambda done: None

    with monkeypatch.context() as patch:
        patch.setattr("fivefold.transfer.backup.bar", bar)
        yield


def test_an_index_that_is_amiss_is_told_and_the_memories_are_kept(lived: str, target: Path, tmp_path: Path) -> None:
    with closing(apsw.Connection(lived)) as connection:
        connection.execute("UPDATE sessions SET turns = turns + 1 WHERE id = (SELECT min(id) FROM sessions)")
    made = back_up(lived, target)
    assert [finding.to_dict() for finding in made.amiss] == [
        {"check": "checksums", "ok": False, "detail": "rows are not what was written: 1 of sessions"},
        {"check": "default: session log", "ok": False, "detail": "1 sessions count wrongly"},
    ]
    assert len(restore(target, str(tmp_path / "again.db")).amiss) == 2


@pytest.mark.parametrize(
    ("store", "named", "told"),
    [
        (":memory:", "kept.db", "ends with its process"),
        ("lived.db", "lived.db", "is the store itself"),
        ("lived.db", "lived.db-wal", "is the store itself"),
        ("lived.db", "nowhere/kept.db", "does not exist; create it first"),
    ],
)
def test_places_that_cannot_be(
    store: str, named: str, told: str, lived: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fivefold.FivefoldError, match=told):
        back_up(store, named, replace=True)
    if store != ":memory:" and "/" not in named and "-" not in named:
        with pytest.raises(InvalidInput, match="is the store itself; name a backup of it"):
            restore(store, named, replace=True)


# a server


def test_a_server_is_backed_up_under_writers_and_comes_back(
    lived: str, postgres: Server, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = postgres.new_location()
    assert restore(lived, there).memories == 355
    assert keys(there) == keys(lived) != []
    with toy(there, "Mia / work") as mem:
        first = mem.remember("confirmed before").id

        @contextmanager
        def bar(title: str, total: int, *, show: bool) -> Iterator[Callable[[int], None]]:
            def advance(done: int) -> None:
                mem.remember(f"written meanwhile {time.monotonic_ns()}")

            yield advance

        with monkeypatch.context() as patch:
            patch.setattr("fivefold.transfer.migrate.bar", bar)
            made = back_up(there, target)
    assert made.amiss == ()
    assert "secret" not in made.store
    with toy(str(target), "Mia / work") as mem:
        assert mem.get(str(first)).content == "confirmed before"
    back = postgres.new_location()
    assert restore(target, back).memories == made.memories
    assert keys(back) == keys(lived)
    assert exported(back, "default", tmp_path) == exported(lived, "default", tmp_path)
    with pytest.raises(InvalidInput, match="already holds something else"):
        restore(lived, back, replace=True)


def test_a_server_that_has_only_keys_is_backed_up(postgres: Server, target: Path) -> None:
    there, back = postgres.new_location(), postgres.new_location()
    with pytest.raises(NotFound, match="holds nothing yet"):
        back_up(there, target)
    with closing(open_store(there)) as store:
        Keyring(store).create("laptop", "admin", ["*"])
    made = back_up(there, target)
    assert (made.namespaces, made.memories, made.keys) == (0, 0, 1)
    assert restore(target, back).keys == 1
    assert keys(back) == keys(there) != []


# again and again


def test_every_change_is_in_a_backup_and_old_ones_go(lived: str, tmp_path: Path) -> None:
    """What was written before a round began is in its backup; without a change there is none."""
    folder, ended = tmp_path / "backups", Event()
    made: list[Backup] = []
    folder.mkdir()
    moments = (datetime(2025, 3, 4, hour, tzinfo=UTC) for hour in range(24))

    def report(backup: Backup) -> None:
        made.append(backup)
        if len(made) == 4:
            ended.set()
            return
        with fivefold.open(lived) as engine:
            engine.remember(f"Written after backup {len(made)}", id=f"after-{len(made)}")

    back_up_repeatedly(lived, folder, 0.05, timedelta(hours=2), ended, report, clock=lambda: next(moments))
    assert [one.memories for one in made] == [355, 356, 357, 358]
    names = [path.name for path in sorted(folder.iterdir())]
    assert names == [f"lived-20250304T0{hour}0000Z.db" for hour in (1, 2, 3)]
    restore(folder / names[1], str(tmp_path / "at-two.db"))
    with fivefold.open(str(tmp_path / "at-two.db")) as engine:
        assert engine.stored_ids(["after-1", "after-2", "after-3"]) == {"after-1", "after-2"}


def test_nothing_is_copied_while_nothing_changes(lived: str, tmp_path: Path) -> None:
    ended = Event()
    made: list[Backup] = []
    timer = Timer(1.0, ended.set)
    timer.start()
    back_up_repeatedly(lived, tmp_path, 0.05, timedelta(hours=1), ended, made.append)
    timer.join()
    assert len(made) == 1


def test_repeated_backups_need_a_folder(lived: str, target: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a folder; repeated backups need one"):
        back_up_repeatedly(lived, target, 1, timedelta(hours=1), Event(), lambda one: None)


# Restoring: the old store or the new one, never while others use it, and never what is no backup.


@pytest.mark.parametrize(
    "step", ["Copying", "Checking", "before _exchange", "before move_into_place", "after move_into_place"]
)
def test_a_killed_restore_leaves_the_old_store_or_the_new(step: str, lived: str, target: Path, tmp_path: Path) -> None:
    back_up(lived, target)
    store = tmp_path / "store.db"
    with toy(str(store)) as mem:
        mem.remember("what was there before")
    old = exported(str(store), "default", tmp_path)
    killed_at(step, "restore", str(target), store)
    new = exported(lived, "default", tmp_path)
    assert exported(str(store), "default", tmp_path) == (new if step == "after move_into_place" else old)
    restore(target, str(store), replace=True)
    assert exported(str(store), "default", tmp_path) == new
    assert model_path(str(store), "default").exists()


def test_no_store_is_overwritten_unless_told(lived: str, target: Path, tmp_path: Path) -> None:
    back_up(lived, target)
    store = tmp_path / "store.db"
    with toy(str(store)) as mem:
        mem.remember("mine")
    kept = exported(str(store), "default", tmp_path)
    with pytest.raises(InvalidInput, match="exists already"):
        restore(target, str(store))
    assert exported(str(store), "default", tmp_path) == kept


def test_where_the_disk_fails_the_old_store_keeps_its_rerankers(
    lived: str, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(lived, target)
    before = exported(lived, "default", tmp_path)

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("fivefold.transfer.backup.move_into_place", fails)
    with pytest.raises(StoreError, match="could not be written: Input/output error"):
        restore(target, lived, replace=True)
    assert exported(lived, "default", tmp_path) == before
    assert model_path(lived, "default").exists()


def test_a_store_in_use_is_not_replaced(
    lived: str, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fivefold.transfer.backup.PATIENCE_MS", 50)
    store = str(tmp_path / "store.db")
    back_up(lived, target)
    child = f"import sys, fivefold\nmem = fivefold.open({store!r})\nprint('open', flush=True)\nsys.stdin.read()"
    using = subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert using.stdout is not None
    assert using.stdout.readline() == "open\n"
    with pytest.raises(StoreError, match="is in use; stop the server and every program that has it open"):
        restore(target, store, replace=True)
    using.communicate()
    assert restore(target, store, replace=True).memories == 355


def test_the_log_of_a_replaced_store_is_not_read_into_the_new_one(lived: str, target: Path, tmp_path: Path) -> None:
    """A process was killed: its last writes are in the write-ahead log, which outlives the file it belongs to."""
    back_up(lived, target)
    store = tmp_path / "store.db"
    child = f"from tests.support.toy_engine import toy\nprint(toy({str(store)!r}).remember('mine').id, flush=True)"
    child += "\nimport time\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert Path(f"{store}-wal").stat().st_size > 0
    restore(target, str(store), replace=True)
    assert exported(str(store), "default", tmp_path) == exported(lived, "default", tmp_path)


def test_a_damaged_store_can_be_replaced(lived: str, target: Path, tmp_path: Path) -> None:
    back_up(lived, target)
    store = tmp_path / "store.db"
    store.write_bytes(target.read_bytes()[:100] + os.urandom(20_000))
    restore(target, str(store), replace=True)
    assert exported(str(store), "default", tmp_path) == exported(lived, "default", tmp_path)


def test_what_is_no_store_is_never_replaced(lived: str, target: Path, tmp_path: Path) -> None:
    back_up(lived, target)
    notes, other = tmp_path / "notes.txt", tmp_path / "other.db"
    notes.write_text("dear diary")
    with closing(apsw.Connection(str(other))) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    for file, told in ((notes, "is not a fivefold store; move it away first"), (other, "is another program's SQLite")):
        before = file.read_bytes()
        with pytest.raises(StoreError, match=told):
            restore(target, str(file), replace=True)
        assert file.read_bytes() == before


def test_a_backup_that_cannot_be_used_is_told_and_changes_nothing(lived: str, target: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    with pytest.raises(NotFound, match="there is no backup at"):
        restore(target, store)
    target.write_bytes(b"")
    with pytest.raises(StoreError, match="is not a fivefold store; it is empty"):
        restore(target, store)
    target.write_text("dear diary, " * 100)
    with pytest.raises(StoreError, match=r"is not a fivefold store, or it is damaged .*; restore another backup$"):
        restore(target, store)
    back_up(lived, target, replace=True)
    with closing(apsw.Connection(str(target))) as connection, connection:
        connection.execute("PRAGMA user_version = 999")
        checksums.renew(connection)
    with pytest.raises(NewerSchema, match="upgrade fivefold to open it"):
        restore(target, store)
    with pytest.raises(NewerSchema, match="upgrade fivefold to open it"):
        back_up(str(target), tmp_path / "further.db")
    assert not Path(store).exists()
    assert left(tmp_path) == []


def test_a_damaged_page_is_found(lived: str, target: Path, tmp_path: Path) -> None:
    back_up(lived, target)
    with closing(apsw.Connection(str(target))) as connection:
        place = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories'").fetchall()[0][0]
    assert isinstance(place, int)
    data = bytearray(target.read_bytes())
    data[(place - 1) * 4096 : (place - 1) * 4096 + 200] = os.urandom(200)
    target.write_bytes(bytes(data))
    with pytest.raises(StoreError, match="damaged"):
        restore(target, str(tmp_path / "store.db"))
    with pytest.raises(StoreError, match="damaged"):
        back_up(str(target), tmp_path / "further.db")
    assert not (tmp_path / "store.db").exists()
    assert not (tmp_path / "further.db").exists()
