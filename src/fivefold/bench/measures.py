"""What every measurement of speed shares: a figure, a corpus written, a call timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import perf_counter

import numpy as np

from fivefold import sample
from fivefold.bench.corpus import PARTS, new_questions, records
from fivefold.engine import Engine
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.request import RecipeChoice
from fivefold.text.progress import bar
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Value

BATCH = 2_000

WARM = 5
"""Calls that are made first and not counted."""

PUBLISHED_P99 = 50
"""Milliseconds of the whole of `recall`, the best fifty read again, as its document reports them (R11)."""

PUBLISHED_MEMORIES = 10_000_000
"""The memories among which its document reports them (R11)."""

MOST_READINGS = 100
"""Recalls measured in which a model reads fifty texts each time."""


WHOLE, WHOLE_LOW = "recall default, encoding and ranking included", "recall default, low effort, all included"
READ_AGAIN = "recall recall, the best 50 read, all included"


@dataclass(frozen=True, slots=True)
class Fit(Value):
    """How an extrapolated figure came about: the sizes of the fit, its slopes, and those between the last two sizes."""

    sizes: tuple[int, ...]
    slope_p50: float
    slope_p99: float
    last_slope_p50: float
    last_slope_p99: float


@dataclass(frozen=True, slots=True)
class Measure(Value):
    """One figure, its limit, and whether it meets the limit. Only times have a tail; only extrapolated ones a fit."""

    what: str
    memories: int
    p50: float
    p95: float | None
    p99: float | None
    unit: str
    bar: str
    ok: bool | None
    fit: Fit | None = None


def figure(what: str, memories: int, value: float, unit: str, bar: str = "", ok: bool | None = None) -> Measure:
    """A rate or a size."""
    return Measure(what, memories, value, None, None, unit, bar, ok)


def times(
    what: str, memories: int, ms: Sequence[float], limit: float | None = None, limit_p99: float | None = None
) -> Measure:
    """The middle and the tail of some calls; a limit is for the middle, another may be for the tail."""
    p50, p95, p99 = (float(value) for value in np.percentile(ms, (50, 95, 99)))
    limits = [(p50, limit), (p99, limit_p99)]
    bar = " / ".join(f"≤ {most:g}" for _, most in limits if most is not None)
    if limit is None and bar:
        bar = f"p99 {bar}"
    ok = all(value <= most for value, most in limits if most is not None) if bar else None
    return Measure(what, memories, p50, p95, p99, "ms", bar, ok)


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


def timed_recall(engine: Engine, recipe: str, question: str, keep: str = "", least: int = 0) -> float:
    """Milliseconds of a recall without those of the two models, which are measured by themselves.

    With a filter, as many memories as it leaves must come back, up to ten.
    """
    start = perf_counter()
    answer = engine.recall(question, recipe=recipe, filter=keep)
    whole = (perf_counter() - start) * 1000
    assert len(answer) >= least, f"{len(answer)} memories where {least} pass the filter"
    return whole - sum(timing.ms for timing in answer.timings if timing.stage in {"encode", "rerank"})


def filtered_recall(engine: Engine, size: int, rounds: int, limit: float | None) -> Measure:
    """A recall among the hundredth part of the notes that a filter on their metadata leaves."""
    once = partial(timed_recall, engine, "default", keep=f"meta.part:{PARTS // 2}", least=min(10, size // PARTS))
    return times("recall default, a filter leaves 1 %", size, ask_rounds(once, rounds), limit)


def read_again(engine: Engine, size: int, rounds: int) -> Measure:
    """Recipe `recall` with its fifty best read by the cross-encoder, new questions, all included (R11)."""
    recipe = load_recipe("recall", {"rerank.cross_encoder.effort": "normal"})
    ms = ask_new(partial(whole_recall, engine, recipe), min(rounds, MOST_READINGS))
    return times(READ_AGAIN, size, ms, limit_p99=PUBLISHED_P99)


def whole_recalls(
    engine: Engine, size: int, rounds: int, limits: tuple[float | None, float | None] = (None, None)
) -> Iterator[Measure]:
    """Recipe `default` from call to answer, new questions, at normal and at low effort; the limits are of the first."""
    yield times(WHOLE, size, ask_new(partial(whole_recall, engine, "default"), rounds), *limits)
    yield times(WHOLE_LOW, size, ask_new(partial(whole_recall, engine, "default", effort="low"), rounds))


def whole_recall(engine: Engine, recipe: RecipeChoice, question: str, effort: Effort = "normal") -> float:
    """Milliseconds of a recall from call to answer, with encoding and ranking."""
    start = perf_counter()
    engine.recall(question, recipe=recipe, effort=effort)
    return (perf_counter() - start) * 1000


def ask_rounds(once: Callable[[str], float], rounds: int) -> list[float]:
    """What `once` gives for the sample's questions, after a few to warm up."""
    questions = [question.query for question in sample.questions()]
    for question in questions[:WARM]:
        once(question)
    return [once(questions[i % len(questions)]) for i in range(rounds)]


def ask_new(once: Callable[[str], float], rounds: int) -> list[float]:
    """The same with questions that were never asked before, so that no cached reading or score helps."""
    asked = [once(question) for question in new_questions(WARM + rounds)]
    return asked[WARM:]
