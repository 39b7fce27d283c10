"""Where models are kept: one a namespace, noticed when new, named once when unusable."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

import fivefold
from fivefold.errors import ReadOnly, StoreError
from fivefold.learning.model_store import NEVER, FileShelf, model_path, shelf_of
from tests.learning.test_reranker import VERDICT, liking
from tests.stores.test_sqlite import toy


@pytest.fixture
def location(store_path: str) -> str:
    toy(store_path).close()
    return store_path


def test_a_namespace_has_a_file_of_its_own(location: str) -> None:
    names = ["default", "Default", "a/b", "a_b", "..", "工作", "x" * 200]
    paths = [model_path(location, name) for name in names]
    assert len({str(path).lower() for path in paths}) == len(names)
    assert {path.parent for path in paths} == {Path(f"{location}.learned")}
    assert model_path(location, "default").name.startswith("default-")


def test_what_is_put_is_learned_and_others_see_it(location: str) -> None:
    mine, theirs = FileShelf(location, "home"), FileShelf(location, "home")
    assert theirs.learned().reason == NEVER
    mine.put(liking("event"), VERDICT)
    for shelf in (mine, theirs):
        known = shelf.learned()
        assert known.ranker is not None
        assert (known.name, known.verdict) == (VERDICT.model, VERDICT)
    mine.put(liking("event"), replace(VERDICT, on=False))
    assert theirs.learned().ranker is None
    assert theirs.learned().verdict == replace(VERDICT, on=False)
    mine.remove()
    mine.remove()
    assert theirs.learned() == mine.learned()
    assert [file.name for file in Path(f"{location}.learned").iterdir()] == []


def test_a_model_is_read_once(location: str) -> None:
    shelf = FileShelf(location, "home")
    shelf.put(liking("event"), VERDICT)
    assert shelf.learned() is shelf.learned()


def test_a_broken_file_is_off_and_named_once(location: str, caplog: pytest.LogCaptureFixture) -> None:
    shelf = FileShelf(location, "home")
    shelf.put(liking("event"), VERDICT)
    assert shelf.path is not None
    shelf.path.write_bytes(b"torn")
    with caplog.at_level(logging.WARNING, "fivefold"):
        for _ in range(5):
            assert shelf.learned().ranker is None
    assert "damaged" in shelf.learned().reason
    assert len(caplog.records) == 1
    assert shelf.path.name in caplog.text
    shelf.put(liking("event"), VERDICT)
    assert shelf.learned().ranker is not None


def test_a_folder_in_the_file_s_place_is_off(location: str) -> None:
    shelf = FileShelf(location, "home")
    assert shelf.path is not None
    shelf.path.mkdir(parents=True)
    assert "cannot be opened" in shelf.learned().reason
    with pytest.raises(StoreError, match="cannot be written"):
        shelf.put(liking("event"), VERDICT)
    assert list(shelf.path.parent.iterdir()) == [shelf.path]


def test_a_file_of_another_namespace_is_refused(location: str) -> None:
    mine, theirs = FileShelf(location, "mine"), FileShelf(location, "theirs")
    mine.put(liking("event"), VERDICT)
    assert mine.path is not None
    assert theirs.path is not None
    os.rename(mine.path, theirs.path)
    assert "belongs to namespace 'mine', not 'theirs'" in theirs.learned().reason
    assert mine.learned().reason == NEVER


def test_no_model_is_no_warning(location: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "fivefold"):
        shelf = FileShelf(location, "home")
        shelf.learned()
        shelf.learned()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", f"no learned reranker in namespace 'home': {NEVER}")
    ]


def test_a_store_in_memory_keeps_its_models_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fivefold.open(":memory:") as one, fivefold.open(":memory:") as other:
        shelf_of(one.store, "default").put(liking("event"), VERDICT)
        assert shelf_of(one.store, "default").learned().ranker is not None
        assert shelf_of(one.store, "elsewhere").learned().ranker is None
        assert shelf_of(other.store, "default").learned().ranker is None
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_can_only_be_read_keeps_no_model(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = FileShelf(location, "home")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ReadOnly, match="read-only"):
        shelf.put(liking("event"), VERDICT)


def test_files_are_as_private_as_memories(location: str) -> None:
    shelf = FileShelf(location, "home")
    shelf.put(liking("event"), VERDICT)
    assert shelf.path is not None
    assert shelf.path.stat().st_mode & 0o077 == 0
