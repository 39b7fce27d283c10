"""Processes that write at once never collide, and a clock that goes back loses nothing.

Processes that are killed are in `tests/bench/test_faults.py`, a disk that becomes full in `tests/test_full_disk.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest

from fivefold.engine import Engine
from fivefold.stores.sqlite.store import SqliteStore
from tests.support.toy_engine import Toy, toy

pytestmark = pytest.mark.slow

WRITERS = 8
EACH = 24


def write_many(path: str, name: str, way: str) -> None:
    """In a process of its own."""
    with toy(path) as engine:
        texts = [f"{name} wrote number {i}" for i in range(EACH)]
        if way == "in batches":
            for start in range(0, EACH, 12):
                engine.remember_many(texts[start : start + 12])
            return
        for text in texts:
            engine.remember(text)
            if text.endswith("0"):
                engine.recall(name, recipe="lexical")


def at_once(target: Callable[..., None], arguments: Sequence[tuple[str, ...]]) -> list[int | None]:
    """Run a process with each of these arguments, all at once; how they ended."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    processes = [context.Process(target=target, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


@pytest.mark.parametrize("way", ["one by one", "in batches"])
def test_eight_processes_write_at_once(store_path: str, way: str) -> None:
    with toy(store_path) as engine:
        engine.configure(find_changes=False, find_repeats=False, route_budget_ms=600_000)
    given = [(store_path, f"writer{number}x", way) for number in range(WRITERS)]
    assert at_once(write_many, given) == [0] * WRITERS
    with toy(store_path) as engine:
        assert engine.stats().memories == WRITERS * EACH
        for number in range(WRITERS):
            found = engine.recall(f"writer{number}x", k=EACH, recipe="lexical")
            assert len(found.hits) == EACH
        assert all(finding.ok for finding in engine.doctor())


def write_one(path: str, name: str) -> None:
    """In a process of its own."""
    with toy(path) as engine:
        engine.remember(f"process {name}")


def test_many_processes_may_open_a_new_file_at_once(store_path: str) -> None:
    assert at_once(write_one, [(store_path, str(number)) for number in range(WRITERS)]) == [0] * WRITERS
    with toy(store_path) as engine:
        assert engine.stats().memories == WRITERS


def test_a_clock_that_goes_back_loses_nothing(tmp_path: Path) -> None:
    """The same clock is first a year ahead, then right, then years behind."""
    times = [datetime(year, 5, 3, tzinfo=UTC) for year in (2027, 2026, 1999)]
    now = times[:1]
    with Engine(SqliteStore(str(tmp_path / "m.db")), embedder=Toy(), clock=lambda: now[-1]) as engine:
        engine.configure(find_changes=False, find_repeats=False, route_budget_ms=600_000, event_days=30)
        for number, moment in enumerate(times):
            now.append(moment)
            engine.remember(f"Note word{number}x", id=f"note-{number}")
            engine.remember(f"Turn turn{number}x", id=f"turn-{number}", session_id="talk")
            engine.remember("Old news", id=f"old-{number}", type="fact")
            engine.supersede(f"note-{number}", {"id": f"new-{number}", "content": f"Newer word{number}x"})
            engine.update(f"turn-{number}", tags=[f"t{number}"])
            assert [memory.id for memory in engine.turns("talk")] == [f"turn-{n}" for n in range(number + 1)]
            assert engine.recall(f"turn{number}x", recipe="lexical").hits[0].memory.id == f"turn-{number}"
        engine.remember("It ends tomorrow", id="ending", expires_at=times[-1] + timedelta(days=1))
        assert engine.sweep().swept == ()
        assert all(engine.get(f"note-{n}").superseded_by == f"new-{n}" for n in range(3))
        engine.forget("turn-1")
        assert [memory.id for memory in engine.turns("talk")] == ["turn-0", "turn-2"]
        now.append(times[0])
        assert engine.sweep().swept == ("ending",)
        assert all(finding.ok for finding in engine.doctor())
