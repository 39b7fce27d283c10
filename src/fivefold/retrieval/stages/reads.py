"""A small model reads the question and each of the best memories together, and says whether the memory answers it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Annotated

import numpy as np

from fivefold.errors import ReaderError
from fivefold.models.reader import Said, pair_reader
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.routes.late import late_scores
from fivefold.retrieval.stages.additive import SOFTNESS
from fivefold.retrieval.stages.base import Pool, are_short, best_first, is_talk
from fivefold.retrieval.stages.relations import inherited, overtaken, stand_ins
from fivefold.text.passages import LONGEST, passage_span
from fivefold.values.fields import About, Between
from fivefold.values.recall_trace import Candidate, StageNote
from fivefold.values.serialize import Value
from fivefold.values.vectors import QuestionReading, Vector

READS = "reads"

CLEAR = 6.0
"""Log-odds beyond which a verdict counts no more."""

LEAST_SCORE = 1e-9

AT_A_TIME = 4
"""How many are read together."""

SHOWN = 0.005
"""From which chance on the reason says that another memory is of the right time."""

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Reads(Value):
    """How many are read, and how much it counts."""

    depth: Annotated[int, Between(1, 100), About("How many of the best it reads")] = 6
    further: Annotated[
        int,
        Between(0, 100),
        About("How many more it reads where none of these answers, or where all that belongs is asked for"),
    ] = 0
    unread: Annotated[
        float,
        Between(0, 100),
        About("Log-odds that a memory not yet read may have; where none can come first by them, reading ends"),
    ] = 100.0
    weight: Annotated[float, Between(0, 100), About("What a unit of log-odds adds to the sum of a memory")] = 0.3
    overtaken: Annotated[
        float,
        Between(0, 100),
        About("What is taken off a memory of the wrong time: one outdated for the present, one too new for the past"),
    ] = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of a memory that was read: the log-odds that it answers, and the chance that another is of the right time."""

    odds: float
    overtaken: float

    def worth(self, by: Reads) -> float:
        return by.weight * self.odds - by.overtaken * self.overtaken


def reads(pool: Pool, context: SearchContext, by: Reads) -> Pool:
    """The sums of the best with weight · log-odds that they answer, less where another is of the right time.

    The others count as the worst of those read. The order stays if the turns themselves are asked for, and in talk
    between people and chats of long messages, which the model judges but orders worse than the ranker does.
    """
    memories = [candidate.memory for candidate in pool.candidates]
    if context.query.demand("just now", "last time") or is_talk(memories) or not are_short(memories):
        by = replace(by, weight=0.0, overtaken=0.0)
    ranked = best_first(pool.candidates)
    if not ranked:
        return pool
    try:
        said, found = _read_on(ranked, context, by)
    except ReaderError as error:
        return pool.with_note(StageNote(READS, "failed", str(error)))
    best = ranked[: len(said)]
    found = _by_numbers(np.clip(found, -CLEAR, CLEAR), context.query.to_read, said)
    found += inherited(stand_ins([one.memory for one in best], context), found)
    stale = overtaken([one.memory for one in best], said, found, context) if by.overtaken else np.zeros(len(best))
    verdicts = [Verdict(*both) for both in zip(found.tolist(), stale.tolist(), strict=True)]
    note = StageNote(READS, "done", f"read the best {len(best)}", pair_reader().pin)
    rows = {one.memory.row: verdict.odds for one, verdict in zip(best, verdicts, strict=True)}
    return replace(pool.with_candidates(_weighed(ranked, verdicts, by)), answers=rows).with_note(note)


def _read_on(ranked: Sequence[Candidate], context: SearchContext, by: Reads) -> tuple[list[Said], Vector]:
    """Read from the best on, a few at a time, until it is settled; or all, where all that belongs is asked for."""
    everything, last = context.query.demand("list", "count") is not None, by.depth + by.further
    sums = np.array([_sum(one) for one in ranked])
    said, found = _read(ranked[: last if everything else min(AT_A_TIME, by.depth)], context)
    while not everything and len(said) < min(last, len(ranked)) and not _is_settled(found, sums, by):
        at = len(said)
        more, odds = _read(ranked[at : min(at + AT_A_TIME, by.depth) if at < by.depth else last], context)
        said, found = [*said, *more], np.concatenate([found, odds])
    return said, found


def _is_settled(found: Vector, sums: Vector, by: Reads) -> bool:
    """Whether one of the best answers, or no memory left can come first."""
    if len(found) >= by.depth and found.max() >= 0:
        return True
    return bool((by.weight * found + sums[: len(found)]).max() > sums[len(found)] + by.weight * by.unread)


def _sum(candidate: Candidate) -> float:
    return log(max(candidate.score, LEAST_SCORE)) * SOFTNESS


def _read(candidates: Sequence[Candidate], context: SearchContext) -> tuple[list[Said], Vector]:
    """What is read of each, and the log-odds that it answers."""
    said = _said(candidates, context)
    return said, pair_reader().answers(context.query.to_read, said)


def _said(best: Sequence[Candidate], context: SearchContext) -> list[Said]:
    """Each memory with its speaker; of a long one the passage that comes nearest to the question."""
    long = [one.memory.row for one in best if len(one.memory.content) > LONGEST]
    found = late_scores(context, long) if isinstance(context.question, QuestionReading) else {}
    said = []
    for one in best:
        content, late = one.memory.content, found.get(one.memory.row)
        start, end = passage_span(content, late.part) if late is not None and late.parts > 1 else (0, len(content))
        said.append(Said(content[start:end], one.memory.speaker or ""))
    return said


def _by_numbers(odds: Vector, question: str, said: Sequence[Said]) -> Vector:
    """The reader hardly tells numbers apart: what lacks those of the question gains nothing over what has them."""
    asked = set(_NUMBER.findall(question))
    has = np.array([not asked.isdisjoint(_NUMBER.findall(one.text)) for one in said])
    return np.where(has, odds, np.minimum(odds, odds[has].max())) if asked and has.any() else odds


def _weighed(ranked: Sequence[Candidate], verdicts: Sequence[Verdict], by: Reads) -> list[Candidate]:
    worst = Verdict(min(one.odds for one in verdicts), 0.0)
    each = [*verdicts, *[worst] * (len(ranked) - len(verdicts))]
    sums = [_sum(one) for one in ranked]
    totals = [total + verdict.worth(by) for total, verdict in zip(sums, each, strict=True)]
    most = max(totals)
    whys = [_why(sums[i], each[i], most, by, i < len(verdicts)) for i in range(len(ranked))]
    return [one.with_step(READS, exp((totals[i] - most) / SOFTNESS), whys[i]) for i, one in enumerate(ranked)]


def _why(total: float, verdict: Verdict, most: float, by: Reads, was_read: bool) -> str:
    says = f"it answers with {1 / (1 + exp(-verdict.odds)):.0%}" if was_read else "not read, so as the worst that was"
    parts = f"{total:.2f} + {by.weight:g} · {verdict.odds:.2f}"
    if verdict.overtaken >= SHOWN:
        parts += f" − {by.overtaken:g} · {verdict.overtaken:.2f}"
        says += f", another is of the right time with {verdict.overtaken:.0%}"
    return f"e^(({parts} − {most:.2f}) / {SOFTNESS:g}); {says}"
