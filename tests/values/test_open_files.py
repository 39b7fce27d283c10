"""A store's file is opened by SQLite alone: whatever a caller names, its locks stay."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.transfer.backup import back_up, restore
from fivefold.transfer.importers import FORMATS, detect_format, import_from
from fivefold.values.open_files import is_open
from tests.support.toy_engine import toy

OTHER_PROCESS = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
print(connection.execute("SELECT count(*) FROM memories").fetchall()[0][0])
connection.close()
"""


@pytest.fixture
def engine(store_path: str) -> Iterator[Engine]:
    with toy(store_path) as opened:
        opened.remember("The first of eight")
        yield opened


def seen_by_another_process(path: str) -> int:
    """Opens the file and closes it; one that believes to be the last deletes the log."""
    ran = subprocess.run([sys.executable, "-c", OTHER_PROCESS, path], capture_output=True, text=True, check=True)
    return int(ran.stdout)


def test_nothing_is_lost_after_an_import_of_the_store_itself(engine: Engine, store_path: str) -> None:
    with pytest.raises(fivefold.InvalidInput, match="open in this process"):
        import_from(engine, store_path)
    assert seen_by_another_process(store_path) == 1
    for number in range(7):
        engine.remember(f"Written afterwards, number {number}")
    assert seen_by_another_process(store_path) == 8
    engine.close()
    assert seen_by_another_process(store_path) == 8


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("format", ["auto", *FORMATS])
def test_no_importer_opens_a_file_of_the_store(engine: Engine, store_path: str, format: str, end: str) -> None:
    with opens_of(store_path) as opened, pytest.raises(fivefold.InvalidInput):
        import_from(engine, store_path + end, format)
    assert opened == []


@pytest.mark.parametrize(
    "call",
    [
        lambda engine, path: detect_format(path),
        lambda engine, path: engine.import_jsonl(path),
        lambda engine, path: engine.export_jsonl(path),
        lambda engine, path: engine.recall("anything", recipe=Path(path)),
        lambda engine, path: restore(back_up(path, f"{path}.copy").file, path, replace=True),
        lambda engine, path: back_up(back_up(path, f"{path}.copy").file, path, replace=True),
        lambda engine, path: back_up(path, f"{path}-shm", replace=True),
    ],
    ids=["detect", "import lines", "export", "recipe", "restore", "backup over it", "backup over its index"],
)
def test_nothing_else_opens_or_replaces_it(
    engine: Engine, store_path: str, call: Callable[[Engine, str], object]
) -> None:
    before = os.stat(store_path).st_ino
    with opens_of(store_path) as opened, pytest.raises(fivefold.FivefoldError):
        call(engine, store_path)
    assert opened == []
    assert os.stat(store_path).st_ino == before
    assert engine.remember("Still the same file").stored


def test_a_doctor_and_a_backup_leave_the_file_to_sqlite(engine: Engine, store_path: str) -> None:
    with opens_of(store_path) as opened:
        engine.doctor()
        engine.stats()
        back_up(store_path, f"{store_path}.copy")
    assert opened == []


def test_another_name_of_the_file_is_the_same_file(engine: Engine, store_path: str, tmp_path: Path) -> None:
    link, hard = tmp_path / "link.jsonl", tmp_path / "hard.jsonl"
    link.symlink_to(store_path)
    hard.hardlink_to(store_path)
    for path in (link, hard):
        with pytest.raises(fivefold.InvalidInput, match="open in this process"):
            engine.import_jsonl(path)


def test_a_closed_store_is_not_open(store_path: str) -> None:
    first, second = toy(store_path), toy(store_path)
    first.close()
    assert is_open(store_path)
    second.close()
    assert not is_open(store_path)


@contextmanager
def opens_of(path: str) -> Iterator[list[str]]:
    """The files of a store that Python opens inside the block; SQLite opens its files without it."""
    _watched[path] = []
    try:
        yield _watched[path]
    finally:
        del _watched[path]


def _note(event: str, args: tuple[object, ...]) -> None:
    if not _watched or event not in ("open", "sqlite3.connect") or not isinstance(args[0], str | os.PathLike):
        return
    name = os.fspath(args[0])
    for path, opened in _watched.items():
        if name in [path + end for end in ("", "-wal", "-shm")] or f"{path}?" in name:
            opened.append(name)


_watched: dict[str, list[str]] = {}
sys.addaudithook(_note)
