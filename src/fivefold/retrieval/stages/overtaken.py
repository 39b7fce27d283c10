"""Which of the memories just read are of the wrong time: another of them answers too, and one replaces the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from fivefold.models.reader import Said, SaidPair, pair_reader
from fivefold.retrieval.routes import SearchContext
from fivefold.values.memory import Memory
from fivefold.values.vectors import Vector

LEAST = 0.25
"""A memory that answers with less than this chance puts no other behind."""

WORTH = 0.05
"""One that answers with less than this chance is behind already, and is not compared."""


def overtaken(memories: Sequence[Memory], said: Sequence[Said], odds: Vector, context: SearchContext) -> Vector:
    """Of each memory the chance that another one answers and is of the right time.

    For a question about the present that is a newer one that replaces it; for one about the past, an older one that it
    replaces. Writing compares a memory with a few that are like it; here two meet because one question brings both.
    """
    found = np.zeros(len(memories), dtype=np.float32)
    now, past = (context.query.demand(kind) is not None for kind in ("current", "past"))
    if now is past or context.query.demand("list", "count") is not None:
        return found
    answers = 1 / (1 + np.exp(-odds))
    pairs = [
        (older, newer)
        for older, newer in permutations(range(len(memories)), 2)
        if answers[newer if now else older] >= LEAST
        and answers[older if now else newer] >= WORTH
        and memories[older].event_at < memories[newer].event_at
    ]
    relations = pair_reader().relations([SaidPair(said[older], said[newer]) for older, newer in pairs])
    for (older, newer), relation in zip(pairs, relations, strict=True):
        right, wrong = (newer, older) if now else (older, newer)
        found[wrong] = max(found[wrong], answers[right] * relation.replaces)
    return found
