"""A recall as Why shows it: the question with what was read out of it, where the time went, what was left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from fivefold.values.query import Query
from fivefold.values.recall import Dropped, Recall
from fivefold.web.inspector.shares import kinds_of

Mark = Literal["", "entity", "window", "cue"]

DROPPED = 100
"""How many left-out candidates are named; the page says how many more there are."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the question, and all that it became."""

    text: str
    mark: Mark = ""
    became: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lap:
    """One row of the waterfall, in percent of the whole; a route lies inside the stage that runs the routes."""

    name: str
    start: float
    wide: float
    ms: float
    kind: str
    route: bool = False
    told: str = ""


def stretches(query: Query) -> list[Stretch]:
    """The question cut where a reading begins or ends, so that readings may overlap."""
    spans = [(start, end, what, _mark(query, start, what)) for start, end, what in query.spans()]
    cuts = sorted({0, len(query.text), *(edge for start, end, _, _ in spans for edge in (start, end))})
    pieces = []
    for start, end in pairwise(cuts):
        over = [(what, mark) for first, last, what, mark in spans if first <= start and end <= last]
        became = tuple(dict.fromkeys(what for what, _ in over))
        pieces.append(Stretch(query.text[start:end], over[0][1] if over else "", became))
    return pieces


def _mark(query: Query, start: int, what: str) -> Mark:
    if any(ref.start == start and ref.name == what for ref in query.entities):
        return "entity"
    return "cue" if any(what == f"{cue.kind}: {cue.value}" for cue in query.cues) else "window"


def waterfall(answer: Recall) -> list[Lap]:
    """The stages one after the other, and under `retrieve` the routes, which run side by side."""
    total = sum(timing.ms for timing in answer.timings) or 1.0
    return list(_laps(answer, 100 / total))


def _laps(answer: Recall, scale: float) -> Iterator[Lap]:
    kinds, at = kinds_of(answer.plan), 0.0
    for timing in answer.timings:
        yield Lap(timing.stage, at * scale, timing.ms * scale, timing.ms, "accent")
        if timing.stage == "retrieve":
            for run in answer.routes:
                if run.status != "skipped":
                    wide = min(run.ms * scale, 100 - at * scale)
                    yield Lap(run.route, at * scale, wide, run.ms, kinds[run.route], True, run.status)
        at += timing.ms


def left_out(answer: Recall) -> list[tuple[str, int]]:
    """At which stage how many candidates were left out."""
    counts: dict[str, int] = {}
    for item in answer.dropped:
        counts[item.stage] = counts.get(item.stage, 0) + 1
    return list(counts.items())


def named(answer: Recall) -> list[Dropped]:
    return list(answer.dropped[:DROPPED])
