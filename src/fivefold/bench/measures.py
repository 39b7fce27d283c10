"""What every measurement of speed shares: a figure, a corpus written, a recall timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from time import perf_counter

import numpy as np

from fivefold import sample
from fivefold.bench.corpus import records
from fivefold.engine import Engine
from fivefold.text.progress import bar
from fivefold.values.serialize import Value

BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Measure(Value):
    """One figure, its limit, and whether it meets the limit."""

    what: str
    memories: int
    p50: float
    p95: float | None
    unit: str
    bar: str
    ok: bool | None


def write_rate(engine: Engine, size: int, progress: bool) -> float:
    """Write the corpus; gives memories a second."""
    source = records(size)
    seconds = 0.0
    with bar(f"Writing {size:,} memories", size, show=progress) as advance:
        while batch := list(islice(source, BATCH)):
            start = perf_counter()
            engine.remember_many(batch)
            seconds += perf_counter() - start
            advance(len(batch))
    return size / seconds


def timed_recall(engine: Engine, recipe: str, question: str) -> float:
    """Milliseconds of a recall without those of the two models, which are measured by themselves."""
    start = perf_counter()
    answer = engine.recall(question, recipe=recipe)
    whole = (perf_counter() - start) * 1000
    return whole - sum(timing.ms for timing in answer.timings if timing.stage in {"encode", "rerank"})


def spread(once: Callable[[str], float], rounds: int) -> tuple[float, float]:
    """Middle and tail of what `once` gives for the sample's questions, after a few to warm up."""
    questions = [question.query for question in sample.questions()]
    for question in questions[:5]:
        once(question)
    times = [once(questions[i % len(questions)]) for i in range(rounds)]
    return float(np.percentile(times, 50)), float(np.percentile(times, 95))
