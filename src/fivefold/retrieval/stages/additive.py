"""An additive model: the weighted sum of all that is known about a candidate, compared with the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.retrieval.stages.features import FEATURES, feature_table
from fivefold.values.field_types import About, Between
from fivefold.values.later import later
from fivefold.values.serialize import Value
from fivefold.values.vectors import Vector

ADDITIVE = "additive"

SHOWN = 6
"""How many parts of a sum its explanation names: those that set the candidate apart from the others most."""


LEAST = 0.01
"""Smaller parts are not named."""

SOFTNESS = 3.0
"""A sum that is less by this much leaves about a third of the score, so that later stages still see the rest."""


@dataclass(frozen=True, slots=True)
class AdditiveConstants(Value):
    """A weight for each feature."""

    late: Annotated[float, Between(-100, 100), About("Late interaction, ten times its distance to the best")] = 0.0
    late_peak: Annotated[float, Between(-100, 100), About("Late interaction near the best: 1 for the best, soon 0")] = (
        0.0
    )
    dense: Annotated[float, Between(-100, 100), About("Cosine, ten times its distance to the best")] = 0.0
    dense_peak: Annotated[float, Between(-100, 100), About("Cosine near the best")] = 0.0
    lexical: Annotated[float, Between(-100, 100), About("BM25, divided by 10")] = 0.0
    lexical_some: Annotated[float, Between(-100, 100), About("BM25 up to 6, as a share of that")] = 0.0
    dense_before: Annotated[float, Between(-100, 100), About("Cosine of the turn before, 0..1")] = 0.0
    dense_after: Annotated[float, Between(-100, 100), About("Cosine of the turn after, 0..1")] = 0.0
    late_before: Annotated[float, Between(-100, 100), About("Late interaction of the turn before, 0..1")] = 0.0
    late_after: Annotated[float, Between(-100, 100), About("Late interaction of the turn after, 0..1")] = 0.0
    session_words: Annotated[float, Between(-100, 100), About("BM25 of its session, 0..1")] = 0.0
    session_best: Annotated[float, Between(-100, 100), About("Twice the fused score of its session's best turn")] = 0.0
    general_session_words: Annotated[
        float, Between(-100, 100), About("Added to `session_words` where the question is about what holds in general")
    ] = 0.0
    general_session_best: Annotated[
        float, Between(-100, 100), About("Added to `session_best` where the question is about what holds in general")
    ] = 0.0
    named: Annotated[
        float, Between(-100, 100), About("The question names its speaker (1) or only another one (−1)")
    ] = 0.0
    user: Annotated[float, Between(-100, 100), About("Said by the user (1) or by the assistant (−1)")] = 0.0
    user_mine: Annotated[float, Between(-100, 100), About("Added to `user` where the user asks about themselves")] = 0.0
    assistant_yours: Annotated[
        float,
        Between(-100, 100),
        About("Said by the assistant (1) or the user (−1) where the question asks what “you” said"),
    ] = 0.0
    asks: Annotated[float, Between(-100, 100), About("The memory is a question itself")] = 0.0
    length: Annotated[float, Between(-100, 100), About("Logarithm of its characters, less 5")] = 0.0
    time: Annotated[float, Between(-100, 100), About("It names a time, where the question asks when")] = 0.0
    number: Annotated[float, Between(-100, 100), About("It has a number, where the question asks how many")] = 0.0
    chat_late: Annotated[float, Between(-100, 100), About("Added to `late` where a user talks with an assistant")] = 0.0
    chat_late_peak: Annotated[
        float, Between(-100, 100), About("Added to `late_peak` where a user talks with an assistant")
    ] = 0.0
    chat_dense: Annotated[float, Between(-100, 100), About("Added to `dense` where a user talks with an assistant")] = (
        0.0
    )
    chat_dense_peak: Annotated[
        float, Between(-100, 100), About("Added to `dense_peak` where a user talks with an assistant")
    ] = 0.0
    chat_lexical: Annotated[
        float, Between(-100, 100), About("Added to `lexical` where a user talks with an assistant")
    ] = 0.0
    chat_lexical_some: Annotated[
        float, Between(-100, 100), About("Added to `lexical_some` where a user talks with an assistant")
    ] = 0.0
    chat_dense_before: Annotated[
        float, Between(-100, 100), About("Added to `dense_before` where a user talks with an assistant")
    ] = 0.0
    chat_dense_after: Annotated[
        float, Between(-100, 100), About("Added to `dense_after` where a user talks with an assistant")
    ] = 0.0
    chat_session_words: Annotated[
        float, Between(-100, 100), About("Added to `session_words` where a user talks with an assistant")
    ] = 0.0
    chat_session_best: Annotated[
        float, Between(-100, 100), About("Added to `session_best` where a user talks with an assistant")
    ] = 0.0
    chat_asks: Annotated[float, Between(-100, 100), About("Added to `asks` where a user talks with an assistant")] = 0.0
    chat_length: Annotated[
        float, Between(-100, 100), About("Added to `length` where a user talks with an assistant")
    ] = 0.0
    chat_time: Annotated[float, Between(-100, 100), About("Added to `time` where a user talks with an assistant")] = 0.0
    chat_number: Annotated[
        float, Between(-100, 100), About("Added to `number` where a user talks with an assistant")
    ] = 0.0
    turns: Annotated[float, Between(-100, 100), About("A turn of the conversation asked about: 1 for the latest")] = 0.0
    window_only_said: Annotated[float, Between(-100, 100), About("Said in the time that alone decides")] = 0.0
    window_only_named: Annotated[float, Between(-100, 100), About("Names the time that alone decides")] = 0.0
    window_said: Annotated[float, Between(-100, 100), About("Said in the time asked about")] = 0.0
    window_named: Annotated[float, Between(-100, 100), About("Names the time asked about")] = 0.0
    ended_now: Annotated[
        float, Between(-100, 100), About("The chance that something newer replaced it, where the present is asked for")
    ] = 0.0
    ended: Annotated[float, Between(-100, 100), About("The same, where neither present nor past is asked for")] = 0.0
    ended_past: Annotated[float, Between(-100, 100), About("The same, where the past is asked for")] = 0.0
    marked_now: Annotated[float, Between(-100, 100), About("Added to `ended_now` where it is surely replaced")] = 0.0
    marked: Annotated[float, Between(-100, 100), About("Added to `ended` where it is surely replaced")] = 0.0
    marked_past: Annotated[float, Between(-100, 100), About("Added to `ended_past` where it is surely replaced")] = 0.0
    heir_now: Annotated[
        float, Between(-100, 100), About("The likeness it gains from what it replaced, where the present is asked for")
    ] = 0.0
    heir_past: Annotated[
        float, Between(-100, 100), About("The likeness it gains from what replaced it, where the past is asked for")
    ] = 0.0
    newer_now: Annotated[
        float, Between(-100, 100), About("The chance that it replaced something, where the present is asked for")
    ] = 0.0
    newer_past: Annotated[float, Between(-100, 100), About("The same, where the past is asked for")] = 0.0
    outdated_now: Annotated[
        float,
        Between(-100, 100),
        About("How alike a newer candidate is that answers as well, where the present is asked for"),
    ] = 0.0
    outdated_past: Annotated[float, Between(-100, 100), About("The same, where the past is asked for")] = 0.0
    held_then: Annotated[float, Between(-100, 100), About("It held in the time asked about")] = 0.0
    earliest: Annotated[float, Between(-100, 100), About("How early, where the first is asked for")] = 0.0
    latest: Annotated[float, Between(-100, 100), About("How late, where the last is asked for")] = 0.0
    ahead: Annotated[float, Between(-100, 100), About("How soon it names a day, where the next is asked for")] = 0.0
    recent_now: Annotated[float, Between(-100, 100), About("How late, where the present is asked for")] = 0.0
    person: Annotated[float, Between(-100, 100), About("The share of the question's names that it has")] = 0.0
    relative: Annotated[
        float, Between(-100, 100), About("The same for names that a relation or a pronoun stands for")
    ] = 0.0
    taste: Annotated[float, Between(-100, 100), About("A taste, dislike or allergy, where those matter")] = 0.0
    negates: Annotated[float, Between(-100, 100), About("It denies something, where that is asked for")] = 0.0
    event: Annotated[float, Between(-100, 100), About("An event, where one is asked for")] = 0.0
    like_best: Annotated[
        float, Between(-100, 100), About("Cosine to the best, where everything of a kind is asked for")
    ] = 0.0

    def weights(self) -> Vector:
        return np.array([getattr(self, name) for name in FEATURES], dtype=np.float32)


def additive(pool: Pool, context: SearchContext, by: AdditiveConstants) -> Pool:
    """e^((sum − best sum) / softness): 1 for the best, and less the further its sum is from that."""
    if not pool.candidates:
        return pool
    parts = feature_table(pool, context) * by.weights()
    sums = parts.sum(axis=1, dtype=np.float64)
    best, totals = float(sums.max()), sums.tolist()
    scores = np.exp((sums - best) / SOFTNESS).tolist()
    apart = parts - parts.mean(axis=0)
    explained = set(np.argsort(-sums, kind="stable")[: 2 * context.k].tolist())
    return pool.with_candidates(
        candidate.with_step(ADDITIVE, scores[i], later(_why, totals[i], best, apart[i] if i in explained else None))
        for i, candidate in enumerate(pool.candidates)
    )


def _why(total: float, best: float, apart: Vector | None) -> str:
    why = f"e^(({total:.2f} − {best:.2f}) / {SOFTNESS:g})"
    if apart is None:
        return why
    most = [i for i in np.argsort(-np.abs(apart), kind="stable")[:SHOWN].tolist() if abs(apart[i]) >= LEAST]
    parts = ", ".join(f"{FEATURES[i].replace('_', ' ')} {apart[i]:+.2f}" for i in most)
    return f"{why}; compared with the mean candidate: {parts}"
