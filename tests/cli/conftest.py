"""Fixtures of the command line: the small store, and a shell without a process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import fivefold
from tests.support import shell
from tests.support.shell import RECORDS, Small
from tests.support.warm_commands import warm_commands


@pytest.fixture(scope="session")
def small_made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("small") / "small.db"
    with fivefold.open(path) as mem:
        mem.remember_many({**record, "event_at": "2025-01-06T09:00:00Z"} for record in RECORDS)
        answer = mem.recall("what is my badge ID?", k=1)
        assert [hit.memory.id for hit in answer] == ["badge"]
        return path, answer.id


@pytest.fixture
def small(small_made: tuple[Path, str], tmp_path: Path) -> Small:
    """A copy of its own for every test."""
    made, recall = small_made
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"content": "Mia likes the corner table"}\n', "utf-8")
    return Small(str(shutil.copy(made, tmp_path / "small.db")), recall, str(lines), str(tmp_path))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with warm_commands(tmp_path_factory.mktemp("programs")) as folder:
        yield folder


@pytest.fixture
def warm(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of `fivefold` are forks of one that has the package loaded, for files that start dozens."""
    monkeypatch.setattr(shell, "FIVEFOLD", [str(programs / "fivefold")])
