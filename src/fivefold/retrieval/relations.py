"""Ranks by the three relations between memories, which writing finds: replaces, may replace (with a chance), repeats.

Of two memories that were read together the one of the wrong time is found here as well, for that question alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import permutations
from typing import Annotated

import numpy as np

from fivefold.models.reader import Remark, SaidPair, pair_reader
from fivefold.retrieval.protocols import Pool, SearchContext
from fivefold.stores.records import Succession
from fivefold.values.fields import About, Between
from fivefold.values.memory import Memory
from fivefold.values.query import TURNS, DemandKind
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix, Vector

LOOKS_BACK: tuple[DemandKind, ...] = ("past", "window", "first", "last", *TURNS, "list", "count")
"""Demands that what has ended may meet as well as what holds."""

PAST: tuple[DemandKind, ...] = ("past", "first")
"""Demands for which what was replaced answers rather than what replaced it."""

LIKELY_CHANCE = 0.5
"""From this chance of a replacement on, the older memory counts as ended at the time of the newer one."""

TOGETHER_ODDS = 6.0
"""Factor by which the odds of a likely replacement rise because both memories come up for one question."""

MAX_CHAIN = 3
"""Maximum number of replacements one after the other that a memory inherits through."""

MAX_LOOKED_UP = 40
"""Of how many of the best rows it is looked up what replaced them."""

MIN_PAIR_COSINE = 0.35
"""The least cosine of two memories that are read together: others hardly speak of the same thing."""

MIN_RIGHT, MIN_WRONG = 0.25, 0.05
"""The least chances to answer of a memory that puts another behind, and of one that is not behind already."""


# Replaces: what has ended ranks below what replaced it.


@dataclass(frozen=True, slots=True)
class EndedConstants(Value):
    """The share of the score that a memory keeps after it has ended."""

    factor: Annotated[float, Between(0, 1), About("Share of its score that a memory keeps after it has ended")] = 0.5
    past_stays: Annotated[
        bool, About("Changes nothing if the question asks for the past, a time or everything of a kind")
    ] = False


def lower_ended(pool: Pool, context: SearchContext, by: EndedConstants) -> Pool:
    """A memory that has ended stops winning; if something newer replaced it, that takes its place."""
    now, factor = context.query.now, by.factor
    if by.past_stays and context.query.demand(*LOOKS_BACK) and not context.query.demand("current"):
        return pool
    if all(candidate.memory.is_current(now) for candidate in pool.candidates):
        return pool
    candidates = {candidate.memory.id: candidate for candidate in pool.candidates}
    memories = _with_successors({id: candidate.memory for id, candidate in candidates.items()}, context)
    for old in pool.candidates:
        if old.memory.is_current(now):
            continue
        successor = _current_successor(old.memory, now, memories)
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
    """The memory that holds at the time of the question in place of `memory`, along the whole chain; None if it holds
    itself."""
    successor, seen = memory, {memory.id}
    while successor.superseded_by and not successor.is_current(now) and successor.superseded_by not in seen:
        seen.add(successor.superseded_by)
        newer = memories.get(successor.superseded_by)
        if newer is None or not newer.known_at(now):
            break
        successor = newer
    return successor if successor.id != memory.id else None


# May replace: the chance that a candidate was replaced, by the links between memories and by what has surely ended.

StandIn = tuple[int, int, float]
"""The places of two candidates, of which the second stands for the first, and the chance of that."""


@dataclass(frozen=True, slots=True, eq=False)
class Replacements:
    """The chance of each candidate that it was replaced, and that it replaces another.

    `ended` is 1 for what has surely ended, `ends` when what was likely replaced ended, by row. `links` are places of an
    older and a newer candidate with the chance.
    """

    replaced: Vector
    replaces: Vector
    ended: Vector
    links: Sequence[StandIn]
    ends: Mapping[int, datetime]


def replacements_among(memories: Sequence[Memory], context: SearchContext) -> Replacements:
    """The replacements up to the time of the question."""
    now = context.query.now
    place = {memory.row: i for i, memory in enumerate(memories)}
    replaced, replaces, ended = (np.zeros(len(memories), dtype=np.float32) for _ in range(3))
    ends, links = dict[int, datetime](), []
    for link in _successions(list(place), context):
        if link.newer_at > now:
            continue
        if link.older in place and link.newer in place:
            links.append((place[link.older], place[link.newer], link.chance))
        if (i := place.get(link.older)) is not None:
            replaced[i] = max(replaced[i], _surer(link.chance))
            if link.chance >= LIKELY_CHANCE:
                ends[link.older] = min(ends.get(link.older, link.newer_at), link.newer_at)
        if (i := place.get(link.newer)) is not None:
            replaces[i] = max(replaces[i], _surer(link.chance))
    for i, memory in enumerate(memories):
        if not memory.is_current(now):
            replaced[i] = ended[i] = 1.0
            ends.setdefault(memory.row, memory.valid_to or now)
    return Replacements(replaced, replaces, ended, links, ends)


def _successions(rows: Sequence[int], context: SearchContext) -> list[Succession]:
    """The replacements with either end among these; who is trusted less replaces nothing by itself."""
    trust = context.settings.trust
    links = context.reader.memories.successions(rows)
    return [link for link in links if trust(link.newer_origin) >= trust(link.older_origin)]


def stand_ins(context: SearchContext, links: Callable[[], Sequence[StandIn]]) -> Sequence[StandIn]:
    """The candidates that stand for others: the newer if the present is asked for, the older for the past."""
    if context.query.demand("current"):
        return links()
    return [(newer, older, chance) for older, newer, chance in links()] if context.query.demand(*PAST) else []


def rows_standing_in(rows: Sequence[int], context: SearchContext) -> list[int]:
    """The rows that replaced the best of these, if the present is asked for, and those they replaced for the past."""
    now, past = context.query.demand("current") is not None, context.query.demand(*PAST) is not None
    if not (now or past):
        return []
    best = set(rows[:MAX_LOOKED_UP])
    links = _successions(list(best), context)
    newer = [link.newer for link in links if now and link.older in best]
    return newer + [link.older for link in links if past and link.newer in best]


def inherited(links: Sequence[StandIn], likeness: Vector) -> Vector:
    """The gain of each memory from those it stands for, along chains: a successor answers for the old."""
    gained = likeness.copy()
    for _ in range(MAX_CHAIN):
        for source, target, chance in links:
            gained[target] = max(
                gained[target], likeness[target] + _surer(chance) * (gained[source] - likeness[target])
            )
    return gained - likeness


def _surer(chance: float) -> float:
    """The chance of a replacement between two memories that come up for one question."""
    return TOGETHER_ODDS * chance / (1 - chance + TOGETHER_ODDS * chance)


def wrong_time(memories: Sequence[Memory], said: Sequence[Remark], odds: Vector, context: SearchContext) -> Vector:
    """Of each memory that was read the chance that another one answers and is of the right time.

    For a question about the present that is a newer one that replaces it; for one about the past, an older one that it
    replaces. Writing compares a memory with a few that are like it; here two meet because one question brings both.
    Only memories alike enough to be about the same thing are read together.
    """
    found = np.zeros(len(memories), dtype=np.float32)
    now, past = context.query.demand("current") is not None, context.query.demand(*PAST) is not None
    if now is past or context.query.demand("list", "count") is not None:
        return found
    answers, vectors = 1 / (1 + np.exp(-odds)), vectors_of(memories, context)
    alike = vectors @ vectors.T if vectors is not None else np.ones((len(memories), len(memories)))
    pairs = [
        (older, newer)
        for older, newer in permutations(range(len(memories)), 2)
        if answers[newer if now else older] >= MIN_RIGHT
        and answers[older if now else newer] >= MIN_WRONG
        and memories[older].event_at < memories[newer].event_at
        and alike[older, newer] >= MIN_PAIR_COSINE
        and not context.settings.trusts_less(*(memories[i] for i in ((newer, older) if now else (older, newer))))
    ]
    relations = pair_reader().relations([SaidPair(said[older], said[newer]) for older, newer in pairs])
    for (older, newer), relation in zip(pairs, relations, strict=True):
        right, wrong = (newer, older) if now else (older, newer)
        found[wrong] = max(found[wrong], answers[right] * relation.replaces)
    return found


def vectors_of(memories: Sequence[Memory], context: SearchContext) -> Matrix | None:
    """A row for each memory, of zeros if it has no vector; None if nothing is embedded."""
    if context.space is None:
        return None
    known = context.reader.search.vectors(context.space, [memory.row for memory in memories])
    zero = np.zeros(context.space.dimension, dtype=np.float32)
    rows = [known.get(memory.row, zero) for memory in memories]
    return np.concatenate(rows).reshape(len(rows), -1) if known else None


# Repeats: of two memories that say the same, the newest answers for both.

TALK_ABOUT = frozenset({"say", "said", "tell", "told", "mention"})
"""Lexemes of a question that wants whatever was said, also what was said twice."""


@dataclass(frozen=True, slots=True)
class Repeats(Value):
    """Near-duplicates and restatements were linked when they were written: in numbers, names and dates they agree."""

    shared: Annotated[
        float,
        Between(0, 1),
        About("The share of common words, or the chance, from which the newest stands for the other"),
    ] = 0.75


def repeats(pool: Pool, context: SearchContext, by: Repeats) -> Pool:
    """The older of two linked memories is folded into the newest, which has the better score and chance of both.

    Nothing changes if the question asks for a time, an order or every occurrence, or if sessions are wanted. A list
    names each state once, and an event as often as it happened.
    """
    query = context.query
    listed = query.demand("list") is not None and not TALK_ABOUT & set(query.lexemes)
    demands = [kind for kind in LOOKS_BACK if not (listed and kind == "list")]
    if context.unit == "session" or query.demand(*demands):
        return pool

    def may_fold(memory: Memory) -> bool:
        return memory.superseded_by is None and memory.is_current(query.now) and not (listed and memory.type == "event")

    candidates = {candidate.memory.id: candidate for candidate in pool.candidates}
    stands: dict[str, str] = {}
    left: list[tuple[Candidate, str]] = []
    latest = sorted(pool.candidates, key=lambda one: (one.memory.event_at, one.memory.row), reverse=True)
    links = context.reader.memories.links([one.memory.row for one in latest])
    for one in latest:
        for link in links.get(one.memory.row, ()) if may_fold(one.memory) else ():
            first = stands.get(link.source, link.source)
            newer, older = candidates.get(first), candidates.get(link.target)
            if link.relation != "repeats" or link.chance < by.shared or newer is None or older is None:
                continue
            if older.memory.pinned or not may_fold(older.memory):
                continue
            if context.settings.trusts_less(newer.memory, older.memory):
                continue
            del candidates[link.target]
            stands[link.target] = first
            left.append((older, f"{first} says nearly the same, and is newer"))
            chances = [chance for chance in (newer.chance, older.chance) if chance is not None]
            best = newer.with_step("repeats", max(newer.score, older.score), f"stands for {link.target} too")
            folded = sorted((*newer.folded, older.memory), key=lambda one: (one.event_at, one.row), reverse=True)
            candidates[first] = replace(best, chance=max(chances, default=None), folded=tuple(folded))
    return pool.without(left, "repeats").with_candidates(candidates.values()) if left else pool
