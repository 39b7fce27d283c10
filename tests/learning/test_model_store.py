"""Where models are kept: one a namespace, noticed when new, named once when unusable."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

import fivefold
from fivefold.errors import ReadOnly, StoreError
from fivefold.learning.model_store import NEVER, FileRerankerStore, model_path, reranker_store
from tests.learning.test_reranker import VERDICT, liking
from tests.support.toy_engine import toy


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
    mine, theirs = FileRerankerStore(location, "home"), FileRerankerStore(location, "home")
    assert theirs.load().reason == NEVER
    mine.save(liking("event"), VERDICT)
    for rerankers in (mine, theirs):
        known = rerankers.load()
        assert known.ranker is not None
        assert (known.name, known.verdict) == (VERDICT.model, VERDICT)
    mine.save(liking("event"), replace(VERDICT, on=False))
    assert theirs.load().ranker is None
    assert theirs.load().verdict == replace(VERDICT, on=False)
    mine.remove()
    mine.remove()
    assert theirs.load() == mine.load()
    assert [file.name for file in Path(f"{location}.learned").iterdir()] == []


def test_a_model_is_read_once(location: str) -> None:
    rerankers = FileRerankerStore(location, "home")
    rerankers.save(liking("event"), VERDICT)
    assert rerankers.load() is rerankers.load()


def test_a_broken_file_is_off_and_named_once(location: str, caplog: pytest.LogCaptureFixture) -> None:
    rerankers = FileRerankerStore(location, "home")
    rerankers.save(liking("event"), VERDICT)
    assert rerankers.path is not None
    rerankers.path.write_bytes(b"torn")
    with caplog.at_level(logging.WARNING, "fivefold"):
        for _ in range(5):
            assert rerankers.load().ranker is None
    assert "damaged" in rerankers.load().reason
    assert len(caplog.records) == 1
    assert rerankers.path.name in caplog.text
    rerankers.save(liking("event"), VERDICT)
    assert rerankers.load().ranker is not None


def test_a_folder_in_the_file_s_place_is_off(location: str) -> None:
    rerankers = FileRerankerStore(location, "home")
    assert rerankers.path is not None
    rerankers.path.mkdir(parents=True)
    assert "cannot be opened" in rerankers.load().reason
    with pytest.raises(StoreError, match="cannot be written"):
        rerankers.save(liking("event"), VERDICT)
    assert list(rerankers.path.parent.iterdir()) == [rerankers.path]


def test_a_file_of_another_namespace_is_refused(location: str) -> None:
    mine, theirs = FileRerankerStore(location, "mine"), FileRerankerStore(location, "theirs")
    mine.save(liking("event"), VERDICT)
    assert mine.path is not None
    assert theirs.path is not None
    os.rename(mine.path, theirs.path)
    assert "belongs to namespace 'mine', not 'theirs'" in theirs.load().reason
    assert mine.load().reason == NEVER


def test_no_model_is_no_warning(location: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "fivefold"):
        rerankers = FileRerankerStore(location, "home")
        rerankers.load()
        rerankers.load()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", f"no learned reranker in namespace 'home': {NEVER}")
    ]


def test_a_store_in_memory_keeps_its_models_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fivefold.open(":memory:") as one, fivefold.open(":memory:") as other:
        reranker_store(one.store, "default").save(liking("event"), VERDICT)
        assert reranker_store(one.store, "default").load().ranker is not None
        assert reranker_store(one.store, "elsewhere").load().ranker is None
        assert reranker_store(other.store, "default").load().ranker is None
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_can_only_be_read_keeps_no_model(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rerankers = FileRerankerStore(location, "home")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ReadOnly, match="read-only"):
        rerankers.save(liking("event"), VERDICT)


def test_files_are_as_private_as_memories(location: str) -> None:
    rerankers = FileRerankerStore(location, "home")
    rerankers.save(liking("event"), VERDICT)
    assert rerankers.path is not None
    assert rerankers.path.stat().st_mode & 0o077 == 0
