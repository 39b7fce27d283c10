"""Which of the memories just read are of the wrong time: another of them answers too, and one replaces the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import permutations
from typing import Annotated

import numpy as np

from fivefold.models.reader import Said, SaidPair, pair_reader
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool
from fivefold.values.fields import About, Between
from fivefold.values.memory import Memory
from fivefold.values.query import DemandKind
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value
from fivefold.values.vectors import Vector

# What has ended ranks below what replaced it.

LOOKS_BACK: tuple[DemandKind, ...] = ("past", "window", "first", "last", "just now", "last time", "list", "count")
"""Demands that what has ended may meet as well as what holds."""


@dataclass(frozen=True, slots=True)
class Superseded(Value):
    """What is left of the score of a memory that has ended."""

    factor: Annotated[float, Between(0, 1), About("What is left of the score of a memory that has ended")] = 0.5
    past_stays: Annotated[
        bool, About("Whether nothing changes where the question asks for the past, a time or everything of a kind")
    ] = False


def superseded(pool: Pool, context: SearchContext, by: Superseded) -> Pool:
    """A memory that has ended stops winning; where something newer replaced it, that takes its place."""
    if by.past_stays and context.query.demand(*LOOKS_BACK) and not context.query.demand("current"):
        return pool
    if all(candidate.memory.is_current(context.query.now) for candidate in pool.candidates):
        return pool
    candidates = {candidate.memory.id: candidate for candidate in pool.candidates}
    memories = _with_successors({id: candidate.memory for id, candidate in candidates.items()}, context)
    factor = by.factor
    for old in pool.candidates:
        if old.memory.is_current(context.query.now):
            continue
        successor = _current_successor(old.memory, context.query.now, memories)
        why = f"× {factor:g}, ended {old.memory.valid_to:%d %b %Y}"
        if successor is not None:
            why = f"× {factor:g}, replaced by {successor.id}"
            new = candidates.get(successor.id)
            if new is None or old.score > new.score:
                new = new or Candidate(successor, (), 0.0)
                candidates[successor.id] = new.with_step("superseded", old.score, f"takes the place of {old.memory.id}")
        lowered = candidates[old.memory.id].with_step("superseded", lower_score(old.score, factor), why)
        candidates[old.memory.id] = lowered
    return pool.with_candidates(candidates.values())


def lower_score(score: float, factor: float) -> float:
    """The factor's share of a score, or of the way up from a negative one, which a cross-encoder may give."""
    return score * factor if score >= 0 else score - (1 - factor) * max(1.0, abs(score))


def _with_successors(memories: dict[str, Memory], context: SearchContext) -> dict[str, Memory]:
    """The memories and, of those that have ended, all that replaced them one after the other."""
    found, ended = dict(memories), list(memories.values())
    now, asked = context.query.now, set(memories)
    while ended:
        successors = {memory.superseded_by for memory in ended if memory.superseded_by and not memory.is_current(now)}
        wanted = sorted(id for id in successors if id not in asked)
        asked.update(wanted)
        newer = context.reader.memories.get_many(wanted) if wanted else {}
        found |= newer
        ended = list(newer.values())
    return found


def _current_successor(memory: Memory, now: datetime, memories: Mapping[str, Memory]) -> Memory | None:
    """What holds at the time of the question in place of `memory`, along the whole chain; None if it holds itself."""
    successor, seen = memory, {memory.id}
    while successor.superseded_by and not successor.is_current(now) and successor.superseded_by not in seen:
        seen.add(successor.superseded_by)
        newer = memories.get(successor.superseded_by)
        if newer is None or not newer.known_at(now):
            break
        successor = newer
    return successor if successor.id != memory.id else None


# Which candidates replaced which: by the links between memories, and by what is marked as ended.

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


# Of two memories that say nearly the same, the newest answers for both.

STAGE = "repeats"


@dataclass(frozen=True, slots=True)
class Repeats(Value):
    """Near-duplicates were linked when they were written: in numbers, names and dates they agree."""

    shared: Annotated[
        float, Between(0, 1), About("The share of common words from which the newest stands for the other")
    ] = 0.75


def repeats(pool: Pool, context: SearchContext, by: Repeats) -> Pool:
    """The older of two linked near-duplicates is left out; the newest has the better score of both.

    Nothing changes where the question asks for a time, an order or every occurrence, or where sessions are wanted.
    """
    if context.unit == "session" or context.query.demand(*LOOKS_BACK):
        return pool
    candidates = {candidate.memory.id: candidate for candidate in pool.candidates}
    left: list[tuple[Candidate, str]] = []
    for newer, older in list(_pairs(candidates, context, by)):
        if newer in candidates and older in candidates:
            gone = candidates.pop(older)
            left.append((gone, f"{newer} says nearly the same, and is newer"))
            candidates[newer] = _standing_for(candidates[newer], gone)
    return pool.without(left, STAGE).with_candidates(candidates.values()) if left else pool


def _pairs(candidates: dict[str, Candidate], context: SearchContext, by: Repeats) -> Iterator[tuple[str, str]]:
    """The ids of linked near-duplicates that both hold, the newest pair first."""
    latest = sorted(candidates.values(), key=lambda one: (one.memory.event_at, one.memory.row), reverse=True)
    links = context.reader.memories.links([one.memory.row for one in latest])
    for candidate in latest:
        for link in links.get(candidate.memory.row, ()):
            older = candidates.get(link.target)
            if link.relation != "repeats" or link.chance < by.shared or older is None or older.memory.pinned:
                continue
            if _holds(candidate.memory, context) and _holds(older.memory, context):
                yield link.source, link.target


def _holds(memory: Memory, context: SearchContext) -> bool:
    return memory.superseded_by is None and memory.is_current(context.query.now)


def _standing_for(newer: Candidate, older: Candidate) -> Candidate:
    chances = [chance for chance in (newer.chance, older.chance) if chance is not None]
    best = newer.with_step(STAGE, max(newer.score, older.score), f"stands for {older.memory.id} too")
    return replace(best, chance=max(chances, default=None))


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
