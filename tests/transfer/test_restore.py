"""Restoring: the old store or the new one, never while others use it, and never what is no backup."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from fivefold.errors import InvalidInput, NewerSchema, NotFound, StoreError
from fivefold.learning.model_store import model_path
from fivefold.stores.sqlite import checksums
from fivefold.transfer.backup import back_up, restore
from tests.support.backups import killed_at, left, lived_in
from tests.support.migrating import exported
from tests.support.toy_engine import toy

pytestmark = pytest.mark.slow


@pytest.fixture
def lived(sample_path: str, tmp_path: Path) -> str:
    return lived_in(sample_path, tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "kept.db"


@pytest.mark.parametrize(
    "step", ["Copying", "Checking", "before _swap", "before move_into_place", "after move_into_place"]
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


def test_nothing_is_overwritten_unless_told(lived: str, target: Path, tmp_path: Path) -> None:
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
    with closing(apsw.Connection(str(target))) as connection:
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
