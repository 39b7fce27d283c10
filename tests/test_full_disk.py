"""A disk that becomes full at any write: the operation is undone and says so, or it is there, and nothing is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.service.service import open_service
from tests.conformance.vectors import WordVectors
from tests.support.full_disk import Disk, disk, no_file_grows
from tests.support.toy_engine import toy
from tests.web.conftest import asking

pytestmark = pytest.mark.slow

TEXTS = [{"id": f"old-{i}", "content": f"Ines met Tom{i} on 3 May 2024", "session_id": f"s{i % 3}"} for i in range(9)]
POINTS = 5
"""At how many of its writes an operation finds the disk full, evenly from the first to the last."""

OPERATIONS: dict[str, Callable[[Engine], object]] = {
    "add": lambda engine: engine.remember("Nuno drinks tea", id="new"),
    "batch": lambda engine: engine.remember_many({"id": f"new-{i}", "content": f"{i} bags of tea"} for i in range(9)),
    "update": lambda engine: engine.update("old-3", content="Ines met nobody", tags=["new"], metadata={"new": 1}),
    "supersede": lambda engine: engine.supersede("old-4", {"id": "new", "content": "Ines met Tom again"}),
    "forget": lambda engine: engine.forget("old-5"),
    "forget a session": lambda engine: engine.forget_session("s1"),
    "rebuild": lambda engine: engine.doctor(repair=True),
    "reembed": lambda engine: engine.reembed(WordVectors()),
}


@pytest.fixture
def full() -> Iterator[Disk]:
    with disk() as made:
        yield made


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "original.db"
    with toy(str(path)) as engine:
        engine.configure(find_changes=False, find_repeats=False, route_budget_ms=600_000)
        engine.remember_many(TEXTS)
    return path


def copied(original: Path, target: Path) -> Engine:
    shutil.copy(original, target)
    return toy(str(target))


def seen(engine: Engine) -> tuple[object, ...]:
    """All that an operation may have changed."""
    memories = [(m.id, m.content, m.tags, m.superseded_by) for m in engine.memories(limit=500)]
    return sorted(memories), engine.embedder_pin(), engine.stats().sessions


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_full_disk_undoes_an_operation_wherever_it_strikes(
    operation: str, full: Disk, original: Path, tmp_path: Path
) -> None:
    act = OPERATIONS[operation]
    with copied(original, tmp_path / "whole.db") as engine:
        before, began = seen(engine), full.writes
        act(engine)
        after, writes = seen(engine), full.writes - began
    refused = 0
    for point in sorted({writes * place // POINTS for place in range(POINTS)}):
        with copied(original, tmp_path / f"{point}.db") as engine:
            with full.full_after(point):
                undone = refuses(act, engine)
            refused += undone
            assert seen(engine) == (before if undone else after)
            assert [finding for finding in engine.doctor() if not finding.ok] == []
            with suppress(fivefold.NotFound, fivefold.InvalidInput):  # it was done already
                act(engine)
            assert seen(engine) == after
    assert refused > 0


def refuses(act: Callable[[Engine], object], engine: Engine) -> bool:
    """Whether the engine says that there was no room and that the write was undone."""
    try:
        act(engine)
    except fivefold.DiskFull:
        return True
    return False


def test_a_recall_does_not_need_room(full: Disk, original: Path, tmp_path: Path) -> None:
    with copied(original, tmp_path / "m.db") as engine:
        engine.recall("Tom3", recipe="lexical")
        with full.full_after(0):
            assert engine.recall("Tom4", recipe="lexical").hits[0].memory.id == "old-4"


def test_a_store_that_finds_no_room_when_it_is_opened_is_there_afterwards(
    full: Disk, original: Path, tmp_path: Path
) -> None:
    path = str(tmp_path / "m.db")
    shutil.copy(original, path)
    with full.full_after(0), suppress(fivefold.DiskFull):
        toy(path).close()
    with toy(path) as engine:
        assert engine.stats().by_kind["turn"] == len(TEXTS)
        assert all(finding.ok for finding in engine.doctor())


def test_a_store_on_a_disk_that_is_full_already_is_opened_to_read(original: Path, tmp_path: Path) -> None:
    path = str(shutil.copy(original, tmp_path / "full.db"))
    with no_file_grows():
        service = open_service(path, writes_queue=True)
        with asking(service) as client:
            assert client.get("/ready").json()["status"] == "read-only"
            assert client.get("/v1/namespaces/default/memories/old-1").json()["content"] == TEXTS[1]["content"]
            refused = client.post("/v1/namespaces/default/memories?wait=false", json={"content": "more"})
            assert refused.json()["type"] == "urn:fivefold:problem:read-only"
        service.close()
    with toy(path) as engine:
        assert engine.remember("There is room again").stored


@pytest.mark.parametrize("writes", range(0, 12, 2))
def test_a_store_whose_making_was_cut_off_is_not_opened_to_read(tmp_path: Path, full: Disk, writes: int) -> None:
    """The file is there and empty, and the next opening finds the disk full too."""
    path = str(tmp_path / "new.db")
    for _ in range(2):
        with full.full_after(writes), pytest.raises(fivefold.StoreError, match="full"):
            toy(path)
    with toy(path) as engine:
        engine.remember("Now there is room")
