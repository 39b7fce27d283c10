"""Many tasks on one store: what was confirmed is counted and found, and what fails is reported."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fivefold.engine.async_engine import AsyncEngine
from fivefold.errors import StoreError
from fivefold_bench import async_tasks
from fivefold_bench.async_tasks import AsyncReport
from tests.support.toy_engine import Toy

pytestmark = pytest.mark.slow


def measured(tmp_path: Path, tasks: int = 12) -> AsyncReport:
    return asyncio.run(async_tasks._measure(tmp_path / "x.db", tasks, 1.0, Toy(), False))


def test_tasks_read_and_write_and_nothing_is_lost(tmp_path: Path) -> None:
    report = measured(tmp_path)
    assert report.ok
    assert (report.tasks, report.lost, report.errors) == (12, 0, 0)
    assert report.written == next(item.count for item in report.figures if item.call == "remember") > 0
    assert next(item.count for item in report.figures if item.call == "recall") > 0
    assert report.blocked_most_ms >= report.blocked_p99_ms >= 0
    assert report.idle_most_ms >= 0


def test_a_write_that_is_missing_counts_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forgetful(self: AsyncEngine, ids: list[str]) -> set[str]:
        return set(ids[1:])

    monkeypatch.setattr(AsyncEngine, "stored_ids", forgetful)
    report = measured(tmp_path)
    assert (report.lost, report.ok) == (1, False)


def test_an_error_is_counted_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: AsyncEngine, *given: object, **named: object) -> None:
        await asyncio.sleep(0.01)
        raise StoreError("the disk is away")

    monkeypatch.setattr(AsyncEngine, "remember", fail)
    report = measured(tmp_path)
    assert report.errors > 0
    assert not report.ok
    assert report.failures[0] == "StoreError: the disk is away"
    assert report.written == 0


def test_a_blocked_loop_is_seen() -> None:
    async def block() -> list[float]:
        loop = asyncio.get_running_loop()
        watching = asyncio.create_task(async_tasks._watch(loop.time() + 0.5))
        await asyncio.sleep(0.05)
        until = loop.time() + 0.2
        while loop.time() < until:
            pass
        return await watching

    assert max(asyncio.run(block())) >= 150
