"""The learned reranker: what use has taught about this namespace corrects the order of the best (E5)."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log
from time import perf_counter
from typing import Annotated

import numpy as np

from fivefold.errors import FivefoldError, ReaderError, StoreClosed
from fivefold.learning.reranker import DEFAULT_BLEND, STEP, feature_rows, search_kinds
from fivefold.models.reader import Remark, pair_reader
from fivefold.models.rerankers import SCORES, reranker
from fivefold.retrieval.protocols import Pool, SearchContext, are_short, best_first, is_talk
from fivefold.retrieval.relations import inherited, replacements_among, stand_ins, vectors_of, wrong_time
from fivefold.retrieval.routes.late import late_scores
from fivefold.retrieval.stages.terms import SOFTNESS
from fivefold.retrieval.understand.entities import in_words_of_question, mentioned_people, people_meant
from fivefold.text import passages
from fivefold.text.passages import MAX_READ_CHARACTERS, passage_span
from fivefold.values.fields import About, Between
from fivefold.values.memory import Memory
from fivefold.values.query import TURNS
from fivefold.values.recall_trace import Candidate, StageNote
from fivefold.values.serialize import Value
from fivefold.values.vectors import Passage, QuestionReading, Vector

# A small model reads the question and each of the best memories together, and says whether the memory answers it.

READS = "reads"

MAX_ODDS = 6.0
"""Log-odds beyond which a verdict counts no more."""

MIN_SCORE = 1e-9

MAX_FUSED_READ = 2
"""Number of memories that are read because fusion puts them first, wherever the ranker has them."""

READ_TOGETHER = 2
"""Texts read at a time: one for each core of a small machine."""

LIKE_AN_ANSWER = 8.0
"""Weight of likeness to a memory that answers, compared with the sum, in the choice of the next one to read for a
list."""

MIN_HEIR_ODDS = -1.7
"""Log-odds below which a memory stands for no other: it replaced that in something that the question does not ask."""

MIN_CHANCE = 0.005
"""From which chance on the reason says that another memory is of the right time."""

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Reads(Value):
    """The number of memories that are read, and the weight of the reading."""

    depth: Annotated[int, Between(1, 100), About("Number of the best that it reads")] = 6
    further: Annotated[
        int,
        Between(0, 100),
        About("Number of further memories to read if none of these answers; for a list, those like the answers"),
    ] = 0
    unread: Annotated[
        float,
        Between(0, 100),
        About("Log-odds that an unread memory may have; if none can then come first, reading ends"),
    ] = 100.0
    weight: Annotated[float, Between(0, 100), About("Points that a unit of log-odds adds to the sum of a memory")] = 0.3
    overtaken: Annotated[
        float,
        Between(0, 100),
        About("Points off for a memory of the wrong time: outdated for the present, or too new for the past"),
    ] = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of a memory that was read: the log-odds that it answers, and the chance that another is of the right time."""

    odds: float
    overtaken: float

    def worth(self, by: Reads) -> float:
        return by.weight * self.odds - by.overtaken * self.overtaken


def reads(pool: Pool, context: SearchContext, by: Reads) -> Pool:
    """The sums of the best with weight · log-odds that they answer, less if another is of the right time.

    The others count as the worst of those read. Nothing is read if that does not pay; the note says why.
    """
    ranked = _fused_best_early(best_first(pool.candidates), by.depth)
    if not ranked:
        return pool
    if why := _unpaid([candidate.memory for candidate in ranked], context):
        return pool.with_note(StageNote(READS, "idle", why))
    try:
        if context.query.demand("list", "count"):
            ranked, said, found = _read_alike(ranked, context, by)
        else:
            said, found = _read_on(ranked, context, by)
    except ReaderError as error:
        return pool.with_note(StageNote(READS, "failed", str(error)))
    best = ranked[: len(said)]
    found = np.clip(found, -MAX_ODDS, MAX_ODDS)
    numbers = set(_NUMBER.findall(context.query.to_read))
    has = np.array([not numbers.isdisjoint(_NUMBER.findall(one.text)) for one in said])
    if has.any():  # the reader hardly tells numbers apart: without those of the question nothing beats what has them
        found = np.where(has, found, np.minimum(found, found[has].max()))
    read = [one.memory for one in best]
    gained = inherited(stand_ins(context, lambda: replacements_among(read, context).links), found)
    found += gained * (found >= MIN_HEIR_ODDS)
    stale = wrong_time(read, said, found, context) if by.overtaken else np.zeros(len(best))
    verdicts = [Verdict(*both) for both in zip(found.tolist(), stale.tolist(), strict=True)]
    note = StageNote(READS, "done", f"read the best {len(best)}", pair_reader().pin)
    rows = {one.memory.row: verdict.odds for one, verdict in zip(best, verdicts, strict=True)}
    return replace(pool.with_candidates(_weighed(ranked, verdicts, by)), answers=rows).with_note(note)


def _fused_best_early(ranked: list[Candidate], depth: int) -> list[Candidate]:
    """The candidates with the best of the fusion among the first to be read after `depth`, however it was weighed."""
    rest = ranked[depth:]
    first = sorted(rest, key=lambda one: -one.fused)[:MAX_FUSED_READ]
    return [*ranked[:depth], *first, *(one for one in rest if one not in first)]


def _unpaid(memories: Sequence[Memory], context: SearchContext) -> str:
    """Why reading does not pay here: the model orders such texts worse than the ranker, or time alone decides."""
    if is_talk(memories):
        return "people talk with each other; the ranker orders these better"
    if not are_short(memories):
        return "messages are long; the ranker orders these better"
    turns, window = context.query.demand(*TURNS), context.query.demand("window")
    decides = next((demand for demand in (turns, window) if demand and demand.decides), None)
    return f"the question asks for {decides.about}, which needs no reading" if decides else ""


def _read_on(ranked: Sequence[Candidate], context: SearchContext, by: Reads) -> tuple[list[Remark], Vector]:
    """Read from the best on, a few at a time, until it is settled."""
    last = by.depth + by.further
    sums = np.array([_sum(one) for one in ranked])
    said, found = _read(ranked[: min(READ_TOGETHER, by.depth)], context)
    while len(said) < min(last, len(ranked)) and not _is_settled(found, sums, by):
        at = len(said)
        more, odds = _read(ranked[at : min(at + READ_TOGETHER, by.depth) if at < by.depth else last], context)
        said, found = [*said, *more], np.concatenate([found, odds])
    return said, found


def _read_alike(
    ranked: Sequence[Candidate], context: SearchContext, by: Reads
) -> tuple[list[Candidate], list[Remark], Vector]:
    """All that belongs is asked for: read the best, then those most like what answers, which now follow the best."""
    best, rest = list(ranked[: by.depth]), list(ranked[by.depth :])
    said, found = _read(best, context)
    vectors = vectors_of([one.memory for one in ranked], context)
    if vectors is not None and rest:
        near = (vectors[by.depth :] @ vectors[: by.depth].T) / (1 + np.exp(-found))
        likely = LIKE_AN_ANSWER * near.max(axis=1) + np.array([_sum(one) for one in rest])
        rest = [rest[i] for i in np.argsort(-likely, kind="stable").tolist()]
    more, odds = _read(rest[: by.further], context)
    return [*best, *rest], [*said, *more], np.concatenate([found, odds])


def _is_settled(found: Vector, sums: Vector, by: Reads) -> bool:
    """True if one of the best answers, or no memory left can come first."""
    if len(found) >= by.depth and found.max() >= 0:
        return True
    return bool((by.weight * found + sums[: len(found)]).max() > sums[len(found) :].max() + by.weight * by.unread)


def _sum(candidate: Candidate) -> float:
    return log(max(candidate.score, MIN_SCORE)) * SOFTNESS


def _read(best: Sequence[Candidate], context: SearchContext) -> tuple[list[Remark], Vector]:
    """The text that is read of each memory, of a long one the passage nearest to the question, and the log-odds of an
    answer."""
    long = [one.memory.row for one in best if len(one.memory.content) > MAX_READ_CHARACTERS]
    found = late_scores(context, long) if isinstance(context.question, QuestionReading) else {}
    people, said = people_meant(context), []
    mentioned = mentioned_people(context, [one.memory for one in best])
    for one in best:
        content, late = one.memory.content, found.get(one.memory.row)
        start, end = passage_span(content, late.part) if late is not None and late.parts > 1 else (0, len(content))
        text = in_words_of_question(one.memory, content[start:end], mentioned.get(one.memory.id, frozenset()), people)
        said.append(Remark(text, one.memory.speaker or ""))
    return said, pair_reader().answers(context.query.to_read, said)


def _weighed(ranked: Sequence[Candidate], verdicts: Sequence[Verdict], by: Reads) -> list[Candidate]:
    worst = Verdict(min(one.odds for one in verdicts), 0.0)
    each = [*verdicts, *[worst] * (len(ranked) - len(verdicts))]
    sums = [_sum(one) for one in ranked]
    totals = [total + verdict.worth(by) for total, verdict in zip(sums, each, strict=True)]
    most = max(totals)
    whys = [_why(sums[i], each[i], most, by, i < len(verdicts)) for i in range(len(ranked))]
    return [one.with_step(READS, exp((totals[i] - most) / SOFTNESS), whys[i]) for i, one in enumerate(ranked)]


def _why(total: float, verdict: Verdict, most: float, by: Reads, was_read: bool) -> str:
    says = f"it answers with {1 / (1 + exp(-verdict.odds)):.0%}" if was_read else "not read, as the worst one read"
    parts = f"{total:.2f} + {by.weight:g} · {verdict.odds:.2f}"
    if verdict.overtaken >= MIN_CHANCE:
        parts += f" − {by.overtaken:g} · {verdict.overtaken:.2f}"
        says += f", another is of the right time with {verdict.overtaken:.0%}"
    return f"e^(({parts} − {most:.2f}) / {SOFTNESS:g}); {says}"


# Reranking: a cross-encoder reads question and memory together, and its score joins the fused one (F5, E4).

_log = logging.getLogger("fivefold")

_PACE: dict[str, float] = {}
"""Milliseconds a text has taken lately, by model."""

_WARM: set[str] = set()
"""Models that have run before: the first run includes loading, which says nothing about their pace."""

FIRST_DEPTH = 10
"""Number of memories that are judged before the pace of a model is known."""


@dataclass(frozen=True, slots=True)
class CrossEncoder(Value):
    """`weight` is what a unit of log-odds adds to the fused score; `budget_ms` cuts the depth down to fit."""

    model: Annotated[
        str, About("local, sentence-transformers:NAME, fastembed:NAME, voyage:MODEL, cohere:MODEL or jina:MODEL")
    ] = "local"
    depth: Annotated[int, Between(1, 1_000), About("Number of the best that it reads")] = 20
    weight: Annotated[
        float, Between(0, 100), About("Points that a unit of log-odds adds to the fused score on its scale of 0..1")
    ] = 0.15
    budget_ms: Annotated[
        float, Between(0, 600_000), About("Reads fewer if the model was too slow lately; 0 sets no limit")
    ] = 60.0
    timeout_ms: Annotated[float, Between(1, 600_000), About("Maximum milliseconds of a hosted model")] = 2_000.0
    alone: Annotated[bool, About("Replaces the fused score by its own in 0..1 (F5, E4)")] = False
    before: Annotated[bool, About("Reads a turn together with the end of the turn before it")] = True


def cross_encoder(pool: Pool, context: SearchContext, by: CrossEncoder) -> Pool:
    """Fused score, stretched to 0..1, + weight · log-odds that it answers, for the best; a failure leaves the order."""
    ranked = best_first(pool.candidates)
    if not ranked:
        return pool
    start = perf_counter()
    try:
        model = reranker(by.model)
        best = ranked[: _depth(model.pin, by)]
        scores, computed = SCORES.of(model, context.query.to_read, _passages(best, context, by), by.timeout_ms / 1000)
    except StoreClosed:
        raise
    except Exception as error:
        if not isinstance(error, FivefoldError):
            _log.warning("reranking failed: %s", error)
        why = f"{type(error).__name__}: {error}"
        return pool.with_note(StageNote(RERANKED, "failed", why, by.model))
    _learn_pace(model.pin, computed, (perf_counter() - start) * 1000)
    note = StageNote(RERANKED, "done", f"read the best {len(best)}, {computed} of them for the first time", model.pin)
    return replace(pool.with_candidates(_blend(ranked, scores, by)), judge=by.model).with_note(note)


def describe_use(by: CrossEncoder) -> str:
    """Says whether the model's score replaces the fused one or is added to it."""
    if by.alone:
        return "Its score in 0..1 replaces the fused one of the best; the others stay below; a failure leaves the order"
    return (
        "Fused score, stretched to 0..1, + weight · log-odds that it answers, for the best; a failure leaves the order"
    )


def _depth(pin: str, by: CrossEncoder) -> int:
    """As deep as the budget allows at the pace so far; without a budget there is no limit."""
    if not by.budget_ms:
        return by.depth
    pace = _PACE.get(pin)
    return min(by.depth, FIRST_DEPTH) if pace is None else max(1, min(by.depth, int(by.budget_ms / pace)))


def _learn_pace(pin: str, computed: int, ms: float) -> None:
    """Few texts say less than many, but always something, so that one slow moment does not last."""
    if not computed:
        return
    if pin in _WARM:
        share = 0.2 * min(1.0, computed / FIRST_DEPTH)
        seen = ms / computed
        _PACE[pin] = (1 - share) * _PACE.get(pin, seen) + share * seen
    _WARM.add(pin)


def _passages(best: list[Candidate], context: SearchContext, by: CrossEncoder) -> list[Passage]:
    """Each memory as the model reads it: who, when, what, and what was said just before."""
    before: dict[int, Memory] = {}
    if by.before:
        pairs = context.reader.sessions.neighbours([candidate.memory.row for candidate in best])
        by_row = {candidate.memory.row: candidate.memory for candidate in best}
        rows = {row: pair[0] for row, pair in pairs.items() if pair[0] is not None}
        fetched = by_row | context.reader.memories.fetch([row for row in rows.values() if row not in by_row])
        before = {row: fetched[other] for row, other in rows.items() if other in fetched}
    return [
        Passage(
            passages.attributed_text(one.memory, one.memory.content),
            before[one.memory.row].content if one.memory.row in before else "",
        )
        for one in best
    ]


def _blend(ranked: list[Candidate], scores: list[float], by: CrossEncoder) -> list[Candidate]:
    """Unread candidates count as the worst that was read, and so stay behind.

    If the model's score stands alone, what was not read shares out the worst of those by its fused score.
    """
    values = [candidate.score for candidate in ranked]
    low, span = min(values), max(values) - min(values)
    odds = [log_odds(score) for score in scores]
    out = []
    for i, candidate in enumerate(ranked):
        fused, read = (candidate.score - low) / span if span > 0 else 1.0, i < len(scores)
        scaled = f"({candidate.score:.4f} − {low:.4f}) / {span:.4f} = {fused:.4f} fused" if span > 0 else "1.0000 fused"
        if by.alone and read:
            score, why = scores[i], f"{scores[i]:.4f} that it answers"
        elif by.alone:
            score = fused * min(scores)
            why = f"{fused:.4f} fused · {min(scores):.4f}, not read and so below the worst that was"
        elif read:
            score = fused + by.weight * odds[i]
            why = f"{scaled} + {by.weight:g} · {odds[i]:.4f}, the log-odds of {scores[i]:.4f} that it answers"
        else:
            score = fused + by.weight * min(odds)
            why = f"{scaled} + {by.weight:g} · {min(odds):.4f}, not read and so as the worst that was"
        out.append(candidate.with_step(RERANKED, score, why))
    return out


@dataclass(frozen=True, slots=True)
class LearnedConstants(Value):
    """The number of the best that are looked at, and the weight of the model compared with their order.

    Not many more than are shown: feedback says nothing about memories far below.
    """

    top: Annotated[int, Between(1, 4_096), About("Number of the best that it reorders")] = 20
    blend: Annotated[float, Between(0, 1), About("The weight of the model against the order before")] = DEFAULT_BLEND


def learned(pool: Pool, context: SearchContext, by: LearnedConstants) -> Pool:
    """The best in a new order over the scores they span; nothing changes if no model is switched on."""
    model = context.learned
    if model is None or model.ranker is None or len(pool.candidates) < 2:
        return pool
    ranked = best_first(pool.candidates)
    best, rest = ranked[: by.top], ranked[by.top :]
    rows = feature_rows(best, context.query.now, search_kinds(context.plan))
    scores, verdicts, positions = model.ranker.blend(rows[:, 0], rows[:, 1:], by.blend)
    low = best[-1].score
    span = best[0].score - low or 1.0  # equal scores: only the model orders them
    reordered = [
        candidate.with_step(
            STEP,
            low + span * float(score),
            f"{low:.4f} + {span:.4f} · ({by.blend:g} · {word:.4f} by {model.name} + {1 - by.blend:.4g} · {place:.4f})",
        )
        for candidate, score, word, place in zip(best, scores, verdicts, positions, strict=True)
    ]
    note = StageNote(STEP, "done", f"moved the best {len(best)} by what was used before", model.name)
    return pool.with_candidates([*reordered, *rest]).with_note(note)


RERANKED = "cross-encoder"
"""The step by which a candidate shows that a cross-encoder has judged it."""


def log_odds(score: float) -> float:
    """ln(p / (1 − p)), kept finite."""
    chance = min(1 - 1e-6, max(1e-6, score))
    return log(chance / (1 - chance))
