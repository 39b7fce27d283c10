"""Many tasks of one event loop on one store, reading and writing: nothing is lost, and the loop is hardly blocked."""

from __future__ import annotations

import asyncio
import gc
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, perf_counter

import numpy as np

from fivefold import sample
from fivefold.engine.async_engine import AsyncEngine, aopen
from fivefold.errors import FivefoldError
from fivefold.models.embedders import Embedder
from fivefold.text.display import bar
from fivefold.values.serialize import Value

WRITES = 0.3
"""The share of calls that write."""

TICK_S = 0.001
"""Sleep of the task that watches the event loop; if it wakes up later, the loop was blocked."""

IDLE_S = 2.0
"""Time for which the loop is watched before the tasks begin."""

ALLOWED_MS = 50.0
"""The longest that the loop may be blocked."""

MAX_FAILURES = 5
"""Maximum number of errors shown."""

_PAGE = 500


@dataclass(frozen=True, slots=True)
class CallFigure(Value):
    """Time of one kind of call for the task that awaited it, its turn among the others included."""

    call: str
    count: int
    per_second: float
    p50_ms: float
    p95_ms: float
    most_ms: float


@dataclass(frozen=True, slots=True)
class AsyncReport(Value):
    """The result of many tasks."""

    tasks: int
    seconds: float
    figures: tuple[CallFigure, ...]
    written: int
    """Memories whose writing was confirmed."""
    lost: int
    """Those of them that are missing."""
    errors: int
    blocked_most_ms: float
    """The longest that the event loop was blocked."""
    blocked_p99_ms: float
    idle_most_ms: float
    """Longest block of the loop before the tasks began: the machine's own part."""
    failures: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if nothing was lost and nothing failed."""
        return not (self.lost or self.errors)


@dataclass(slots=True)
class _Tally:
    """Counts of the tasks so far."""

    times: dict[str, list[float]] = field(default_factory=lambda: {"recall": [], "remember": []})
    written: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def measure_async(tasks: int, seconds: float, embedder: str | None = None, progress: bool = False) -> AsyncReport:
    """Run the tasks on a new file, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder) / "async.db", tasks, seconds, embedder, progress))


async def _measure(
    path: Path, tasks: int, seconds: float, embedder: str | Embedder | None, progress: bool
) -> AsyncReport:
    questions = [question.query for question in sample.questions()]
    async with await aopen(path, embedder=embedder) as mem:
        await _warm_up(mem, questions)
        idle = await _watch(monotonic() + min(IDLE_S, seconds))
        tally, until = _Tally(), monotonic() + seconds
        with bar(f"Running {tasks} tasks", round(seconds), show=progress) as advance:
            watching = asyncio.create_task(_watch(until))
            telling = asyncio.create_task(_tell(advance, round(seconds)))
            await asyncio.gather(*(_agent(mem, number, questions, until, tally) for number in range(tasks)))
            blocked = await watching
            telling.cancel()
        lost = await _count_missing(mem, tally.written)
    return AsyncReport(
        tasks=tasks,
        seconds=seconds,
        figures=tuple(_figure(call, times, seconds) for call, times in tally.times.items()),
        written=len(tally.written),
        lost=lost,
        errors=len(tally.failures),
        blocked_most_ms=round(max(blocked), 1),
        blocked_p99_ms=round(float(np.percentile(blocked, 99)), 1),
        idle_most_ms=round(max(idle), 1),
        failures=tuple(tally.failures[:MAX_FAILURES]),
    )


async def _warm_up(mem: AsyncEngine, questions: Sequence[str]) -> None:
    """Some memories to find, the models loaded, and what they made out of the way of the garbage collector."""
    await mem.remember_many(sample.memories()[:200])
    for question in questions[:5]:
        await mem.recall(question)
    gc.collect()
    gc.freeze()


async def _agent(mem: AsyncEngine, number: int, questions: Sequence[str], until: float, tally: _Tally) -> None:
    """Remembers and recalls by turns, as chance has it."""
    chance, said = random.Random(number), 0
    while monotonic() < until:
        start = perf_counter()
        try:
            if chance.random() < WRITES:
                said += 1
                id = f"task-{number}-{said}"
                await mem.remember(f"Task {number} notes {said}: the parcel is at gate {chance.randrange(90)}", id=id)
                tally.written.append(id)
                tally.times["remember"].append(perf_counter() - start)
            else:
                await mem.recall(chance.choice(questions))
                tally.times["recall"].append(perf_counter() - start)
        except FivefoldError as error:
            tally.failures.append(f"{type(error).__name__}: {error}")


async def _watch(until: float) -> list[float]:
    """By how many milliseconds the loop was late, tick by tick."""
    late = [0.0]
    while monotonic() < until:
        start = perf_counter()
        await asyncio.sleep(TICK_S)
        late.append((perf_counter() - start - TICK_S) * 1000)
    return late


async def _tell(advance: Callable[[int], None], seconds: int) -> None:
    for _ in range(seconds):
        await asyncio.sleep(1)
        advance(1)


async def _count_missing(mem: AsyncEngine, written: list[str]) -> int:
    stored: set[str] = set()
    for start in range(0, len(written), _PAGE):
        stored |= await mem.stored_ids(written[start : start + _PAGE])
    return len(set(written) - stored)


def _figure(call: str, times: list[float], seconds: float) -> CallFigure:
    ms = np.array(times or [0.0]) * 1000
    p50, p95 = np.percentile(ms, [50, 95])
    return CallFigure(
        call=call,
        count=len(times),
        per_second=round(len(times) / seconds, 1),
        p50_ms=round(float(p50), 1),
        p95_ms=round(float(p95), 1),
        most_ms=round(float(ms.max()), 1),
    )
