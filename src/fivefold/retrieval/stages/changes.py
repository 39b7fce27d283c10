"""Which candidates replaced which: by the links between memories, and by what is marked as ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.values.memory import Memory
from fivefold.values.vectors import Vector

LIKELY_LINK = 0.5
"""From this chance of a link on, the older memory counts as ended at the time of the newer one."""

TOGETHER_ODDS = 6.0
"""How many times the odds of a likely link rise because both memories come up for one question."""

MAX_CHAIN = 3
"""How many changes one after the other a memory inherits through."""

Successor = tuple[int, int, float]
"""The places of two candidates, of which the second stands for the first, and the chance of that."""


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """The chance of each memory that it was replaced, and that it replaced another; when those replaced ended.

    `marked` is 1 for what is surely replaced. `links` are places of an older and a newer candidate with the chance.
    """

    ended: Vector
    newer: Vector
    marked: Vector
    links: Sequence[Successor]
    ends: Mapping[int, datetime]


def changes_among(memories: Sequence[Memory], context: SearchContext) -> Changes:
    """The changes up to the time of the question."""
    now = context.query.now
    place = {memory.row: i for i, memory in enumerate(memories)}
    ended, newer, marked = (np.zeros(len(memories), dtype=np.float32) for _ in range(3))
    ends, links = dict[int, datetime](), []
    for link in context.reader.memories.successions(list(place)):
        if link.newer_at > now:
            continue
        if link.older in place and link.newer in place:
            links.append((place[link.older], place[link.newer], link.chance))
        if (i := place.get(link.older)) is not None:
            ended[i] = max(ended[i], _surer(link.chance))
            if link.chance >= LIKELY_LINK:
                ends[link.older] = min(ends.get(link.older, link.newer_at), link.newer_at)
        if (i := place.get(link.newer)) is not None:
            newer[i] = max(newer[i], _surer(link.chance))
    for i, memory in enumerate(memories):
        if not memory.is_current(now):
            ended[i] = marked[i] = 1.0
            ends.setdefault(memory.row, memory.valid_to or now)
    return Changes(ended, newer, marked, links, ends)


def stand_ins(memories: Sequence[Memory], context: SearchContext) -> Sequence[Successor]:
    """Which memory stands for which: the newer if the present is asked for, the older for the past."""
    if context.query.demand("current"):
        return changes_among(memories, context).links
    return reverse_links(changes_among(memories, context).links) if context.query.demand("past") else []


def reverse_links(links: Sequence[Successor]) -> list[Successor]:
    return [(newer, older, chance) for older, newer, chance in links]


def inherited(links: Sequence[Successor], likeness: Vector) -> Vector:
    """How much each memory gains from what it stands for, along chains: a successor answers for the old."""
    gained = likeness.copy()
    for _ in range(MAX_CHAIN):
        for source, target, chance in links:
            gained[target] = max(
                gained[target], likeness[target] + _surer(chance) * (gained[source] - likeness[target])
            )
    return gained - likeness


def _surer(chance: float) -> float:
    """The chance of a link between two memories that come up for one question."""
    return TOGETHER_ODDS * chance / (1 - chance + TOGETHER_ODDS * chance)
