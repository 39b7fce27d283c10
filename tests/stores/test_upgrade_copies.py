"""The copies of schema upgrades: as private as the store, whole or absent, and gone when something is forgotten."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from fivefold.stores.atomic_files import LEFTOVER_S, temporary_folder
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.schema import KEPT_DAYS, copies_of
from fivefold.transfer.backup import back_up
from tests.support.older_files import BEFORE_LIFE
from tests.support.toy_engine import toy


@pytest.fixture
def older(store_path: str) -> str:
    """A store that the next opening upgrades."""
    with toy(store_path) as engine:
        engine.remember("The safe opens with marmalade", id="secret")
    connection = connect(store_path)
    connection.execute(BEFORE_LIFE)
    connection.close()
    return store_path


def mode(path: str | Path) -> int:
    return os.stat(path).st_mode & 0o777


def make_old(path: Path, seconds: float) -> None:
    for entry in (*path.rglob("*"), path):
        os.utime(entry, (time.time() - seconds,) * 2)


def test_a_copy_is_as_private_as_its_store(older: str) -> None:
    before = os.umask(0o022)
    try:
        toy(older).close()
    finally:
        os.umask(before)
    (copy,) = copies_of(older)
    assert mode(older) == mode(copy) == 0o600
    assert b"marmalade" in copy.read_bytes()


def test_a_store_for_a_group_has_copies_for_the_group(older: str) -> None:
    os.chmod(older, 0o660)
    toy(older).close()
    assert [mode(copy) for copy in copies_of(older)] == [0o660]


def test_copies_that_earlier_versions_left_become_private(older: str) -> None:
    toy(older).close()
    (copy,) = copies_of(older)
    copy.chmod(0o644)
    with toy(older) as engine:
        assert mode(copy) == 0o600
        copy.chmod(0o644)
        findings = {finding.check: finding for finding in engine.doctor()}
    assert not findings["copies of upgrades"].ok
    assert copy.name in findings["copies of upgrades"].detail


def test_the_doctor_names_the_copies(older: str) -> None:
    with toy(older) as engine:
        (finding,) = (finding for finding in engine.doctor() if finding.check == "copies of upgrades")
    assert finding.ok
    assert copies_of(older)[0].name in finding.detail
    assert f"{KEPT_DAYS} days" in finding.detail


def test_what_is_forgotten_is_in_no_copy(older: str, tmp_path: Path) -> None:
    with toy(older) as engine:
        assert copies_of(older)
        engine.forget("secret")
        assert copies_of(older) == []
        assert not any(b"marmalade" in path.read_bytes() for path in tmp_path.iterdir())


def test_old_and_empty_copies_are_deleted_on_opening(older: str) -> None:
    toy(older).close()
    (copy,) = copies_of(older)
    empty = Path(f"{older}.v1.bak")
    empty.touch()
    toy(older).close()
    assert copies_of(older) == [copy]
    make_old(copy, (KEPT_DAYS + 1) * 86_400)
    toy(older).close()
    assert copies_of(older) == []


def test_a_file_of_another_store_is_not_taken_for_a_copy(older: str) -> None:
    others = [Path(f"{older}.v1.bak.txt"), Path(f"{older}2.v1.bak"), Path(f"{older}.backup")]
    for path in others:
        path.write_text("mine")
    with toy(older) as engine:
        engine.forget("secret")
    assert all(path.read_text() == "mine" for path in others)


@pytest.mark.slow
def test_a_killed_upgrade_leaves_no_copy_under_its_name(older: str, tmp_path: Path) -> None:
    killed_in("fivefold.stores.sqlite.schema.move_into_place", f"fivefold.open({older!r})")
    assert copies_of(older) == []
    (left,) = tmp_path.glob(".memory.db.*.part")
    make_old(left, LEFTOVER_S + 1)
    with toy(older) as engine:
        assert engine.get("secret").content.endswith("marmalade")
    assert not left.exists()


@pytest.mark.slow
def test_what_a_killed_backup_left_goes_with_the_next_one(older: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    call = f"back_up({older!r}, {str(folder)!r})"
    killed_in("fivefold.transfer.backup.move_into_place", f"from fivefold.transfer.backup import back_up; {call}")
    (left,) = folder.glob(".*.part")
    make_old(left, LEFTOVER_S + 1)
    made = back_up(older, folder)
    assert [path.name for path in folder.iterdir()] == [Path(made.file).name]


def test_a_run_under_way_keeps_what_it_writes(tmp_path: Path) -> None:
    target = tmp_path / "kept.db"
    with temporary_folder(target) as folder:
        make_old(folder, 10 * LEFTOVER_S)
        with temporary_folder(target):
            assert folder.exists()
    assert list(tmp_path.iterdir()) == []


def killed_in(function: str, call: str) -> None:
    """Run a call in a process that ends by SIGKILL where the function is called."""
    module, _, name = function.rpartition(".")
    child = textwrap.dedent(f"""
        import os, signal, fivefold, {module}
        {module}.{name} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        {call}
    """)
    ran = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    assert ran.returncode == -9, ran.stderr
