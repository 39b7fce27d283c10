"""A recall as Why shows it: the question with its readings, the time of each step, the dropped candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from fivefold.values.query import Query
from fivefold.values.recall import Recall

Mark = Literal["", "entity", "window", "cue"]

MOST_DROPPED = 1_000
"""Dropped candidates in the list; the page says how many there are in all."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the question, and everything that was read from it."""

    text: str
    mark: Mark = ""
    readings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimingBar:
    """One row of the waterfall, in percent of the whole; a route lies inside the stage that runs the routes."""

    name: str
    start: float
    width: float
    ms: float
    kind: str
    route: bool = False


def split_question(query: Query) -> list[Piece]:
    """The question, split where a reading begins or ends, so that readings may overlap."""
    spans = [(start, end, what, _mark(query, start, what)) for start, end, what in query.spans()]
    cuts = sorted({0, len(query.text), *(edge for start, end, _, _ in spans for edge in (start, end))})
    pieces = []
    for start, end in pairwise(cuts):
        over = [(what, mark) for first, last, what, mark in spans if first <= start and end <= last]
        readings = tuple(dict.fromkeys(what for what, _ in over))
        pieces.append(Piece(query.text[start:end], over[0][1] if over else "", readings))
    return pieces


def _mark(query: Query, start: int, what: str) -> Mark:
    if any(ref.start == start and ref.name == what for ref in query.entities):
        return "entity"
    demanded = any(demand.start == start and demand.kind == what for demand in query.demands)
    return "cue" if demanded or any(what == f"{cue.kind}: {cue.value}" for cue in query.cues) else "window"


def make_waterfall(recall: Recall) -> list[TimingBar]:
    """The stages one after the other, and under `retrieve` the routes, which run in parallel."""
    total = sum(timing.ms for timing in recall.timings) or 1.0
    return list(_timing_bars(recall, 100 / total))


def _timing_bars(recall: Recall, scale: float) -> Iterator[TimingBar]:
    kinds, start = recall.plan.kinds(), 0.0
    for timing in recall.timings:
        yield TimingBar(timing.stage, start * scale, timing.ms * scale, timing.ms, "accent")
        if timing.stage == "retrieve":
            for run in recall.routes:
                if run.status != "skipped":
                    width = min(run.ms * scale, 100 - start * scale)
                    yield TimingBar(run.route, start * scale, width, run.ms, kinds[run.route], route=True)
        start += timing.ms


def count_dropped(recall: Recall) -> list[tuple[str, int]]:
    """How many candidates each stage dropped, and the fusion before them."""
    return list(Counter(item.stage for item in recall.candidates if item.rank is None).items())
