"""A store that is deleted, moved or replaced while it is open: nothing is confirmed that would be lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.errors import StoreReplaced
from tests.support.toy_engine import toy


@pytest.fixture
def engine(store_path: str) -> Iterator[Engine]:
    with toy(store_path) as opened:
        opened.remember("Written while the file was there", id="first")
        yield opened


def delete(path: str) -> None:
    os.unlink(path)


def replace(path: str) -> None:
    shutil.copy(path, f"{path}.other")
    os.replace(f"{path}.other", path)


def delete_log(path: str) -> None:
    os.unlink(f"{path}-wal")


def replace_log(path: str) -> None:
    replace(f"{path}-wal")


def move_folder(path: str) -> None:
    folder = Path(path).parent
    folder.rename(folder.with_name("elsewhere"))


@pytest.mark.parametrize("change", [delete, replace, delete_log, replace_log, move_folder])
def test_nothing_is_confirmed_or_read_afterwards(
    engine: Engine, store_path: str, change: Callable[[str], None]
) -> None:
    change(store_path)
    for call in (
        lambda: engine.remember("Never confirmed"),
        lambda: engine.forget("first"),
        lambda: engine.configure(hops=1),
        lambda: engine.get("first"),
        lambda: engine.recall("file", recipe="lexical"),
        engine.store.audit.all,
    ):
        with pytest.raises(StoreReplaced, match="was deleted, moved or replaced while it was open"):
            call()


def test_a_write_under_way_is_not_confirmed(engine: Engine, store_path: str) -> None:
    with pytest.raises(StoreReplaced), engine.store.write("default"):
        os.unlink(store_path)


def test_it_goes_on_when_the_file_is_back(engine: Engine, store_path: str) -> None:
    os.rename(store_path, f"{store_path}.away")
    with pytest.raises(StoreReplaced):
        engine.remember("Not now")
    os.rename(f"{store_path}.away", store_path)
    engine.remember("But now", id="second")
    engine.close()
    with toy(store_path) as again:
        assert {memory.id for memory in again.memories()} == {"first", "second"}


def test_recalls_are_not_logged_in_another_store(engine: Engine, store_path: str) -> None:
    engine.recall("file", recipe="lexical")
    os.unlink(store_path)
    with toy(store_path) as other:
        other.remember("Of the new store")
        engine.close()
        assert other.stats().recalls == 0


CUT_OFF = """
import os, sys, fivefold
from tests.support.toy_engine import toy
engine = toy(sys.argv[1])
engine.configure(find_changes=False, find_repeats=False)
engine.remember_many([{"content": f"Note {i} " + "about plums " * 200, "id": f"n{i}"} for i in range(60)])
engine.close()
engine = toy(sys.argv[1])
engine.remember("So that the log says how long the file is")
engine.get("n1")
os.truncate(sys.argv[1], os.path.getsize(sys.argv[1]) // 3)
for id in ("n1", "n30", "n59"):
    try:
        engine.get(id)
    except fivefold.StoreError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_file_that_is_cut_off_is_an_error_and_not_the_end_of_the_process(store_path: str) -> None:
    ran = subprocess.run([sys.executable, "-c", CUT_OFF, store_path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("DamagedStore")
