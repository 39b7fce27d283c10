"""Which of the memories just read are out of date: a newer one of them answers too, and replaces it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fivefold.models.reader import Said, SaidPair, pair_reader
from fivefold.retrieval.routes import SearchContext
from fivefold.values.memory import Memory
from fivefold.values.vectors import Vector

LEAST = 0.05
"""A memory that answers with less than this chance replaces no other."""


def overtaken(memories: Sequence[Memory], said: Sequence[Said], odds: Vector, context: SearchContext) -> Vector:
    """For a question about the present: of each memory the chance that a newer one answers and replaces it.

    Writing compares a memory with a few that are like it; here two meet because one question brings both.
    """
    answers = 1 / (1 + np.exp(-odds))
    found = np.zeros(len(memories), dtype=np.float32)
    if context.query.demand("current") is None or context.query.demand("list", "count") is not None:
        return found
    pairs = [
        (older, newer)
        for newer, chance in enumerate(answers.tolist())
        if chance >= LEAST
        for older, memory in enumerate(memories)
        if memory.event_at < memories[newer].event_at
    ]
    relations = pair_reader().relations([SaidPair(said[older], said[newer]) for older, newer in pairs])
    for (older, newer), relation in zip(pairs, relations, strict=True):
        found[older] = max(found[older], answers[newer] * relation.replaces)
    return found
