"""How well each candidate meets what the question demands: its time, its state, its order, its people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import scores_of
from fivefold.retrieval.stages.named_people import people_columns
from fivefold.values.memory import Memory
from fivefold.values.query import Query
from fivefold.values.recall_trace import Candidate
from fivefold.values.vectors import Matrix, Vector

DEMAND_FEATURES = (
    "turns",
    "window_only_said",
    "window_only_named",
    "window_said",
    "window_named",
    "ended_now",
    "ended",
    "ended_past",
    "marked_now",
    "marked",
    "marked_past",
    "heir_now",
    "heir_past",
    "newer_now",
    "newer_past",
    "outdated_now",
    "outdated_past",
    "held_then",
    "earliest",
    "latest",
    "ahead",
    "recent_now",
    "person",
    "relative",
    "taste",
    "negates",
    "event",
    "like_best",
)

NEAR = 0.12
"""Candidates whose late interaction is at most this much below the best may speak of the same thing."""

ALIKE = 0.45
"""Cosine from which two memories may be statements about the same thing."""

ALIKE_TO = 4
"""How many of the best stand for the kind of thing that is asked for."""

LIKELY = 0.5
"""From this chance of a link on, the older memory counts as ended at the time of the newer one."""

SURER = 6.0
"""How many times the odds of a likely link rise because both memories come up for one question."""

LONGEST_CHAIN = 3
"""How many changes one after the other a memory inherits through."""

COMPARED = 24
"""How many of the best candidates are compared with each other."""

READ = 2_000
"""Characters of a memory that are searched for words."""

_NEGATES = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|cannot|without|avoid\w*|allerg\w*|hates?|dislikes?|stopped|quit"
    r"|gave up|declin\w*|refus\w*|turn(?:ed|s)? down|cancel\w*|off|intoleran\w*|forbid\w*|banned)\b|n['’]t\b",
    re.IGNORECASE,
)
_TASTE = re.compile(
    r"\b(?:love[sd]?|likes?|liked|enjoy\w*|prefer\w*|favou?rite\w*|hates?|dislikes?|can(?:'t|’t|not) stand|allerg\w*"
    r"|vegetarian|vegan|halal|kosher|gluten|lactose|into|obsess\w*|fan of|fond of|intoleran\w*|collects?|wishes"
    r"|always wanted|crazy about|adores?)\b",
    re.IGNORECASE,
)


def demand_columns(
    candidates: Sequence[Candidate], context: SearchContext, late: Vector, likeness: Vector
) -> dict[str, Vector]:
    """A column for each of `DEMAND_FEATURES`; those that the question does not ask for are 0.

    `likeness` is what the searches together say, by its distance to the best.
    """
    memories = [candidate.memory for candidate in candidates]
    query = context.query
    columns: dict[str, Vector] = dict.fromkeys(DEMAND_FEATURES, _zeros(memories))
    columns |= _turns(candidates)
    columns |= _window(candidates, query)
    columns |= _state(memories, context, late, likeness)
    columns |= _order(memories, context, late)
    columns |= people_columns(memories, query)
    columns |= _words(memories, query)
    columns |= _alike(memories, context, late)
    return columns


def _turns(candidates: Sequence[Candidate]) -> dict[str, Vector]:
    return {"turns": _evidence(candidates, "turns")}


def _window(candidates: Sequence[Candidate], query: Query) -> dict[str, Vector]:
    demand = query.demand("window")
    if demand is None:
        return {}
    prefix = "window_only" if demand.decides else "window"
    notes = [next((item.note or "" for item in c.evidence if item.route == "window"), "") for c in candidates]
    scores = _evidence(candidates, "window")
    said = _column("said" in note for note in notes)
    named = _column("names" in note for note in notes) * scores
    return {f"{prefix}_said": said, f"{prefix}_named": named}


def _evidence(candidates: Sequence[Candidate], route: str) -> Vector:
    return _column(score or 0.0 for score in scores_of(candidates, route))


def _state(memories: Sequence[Memory], context: SearchContext, late: Vector, likeness: Vector) -> dict[str, Vector]:
    """What has ended, what replaced something, and what something newer about the same thing outdates."""
    query = context.query
    changes = _changes(memories, context)
    now, past = query.demand("current") is not None, query.demand("past") is not None
    columns: dict[str, Vector] = {}
    for state, asked in (("_now", now), ("_past", past), ("", not now and not past)):
        if asked:
            columns |= {f"ended{state}": changes.ended, f"marked{state}": changes.marked}
    outdated = _outdated(memories, context, late) if now or past else _zeros(memories)
    if now:
        heirs = inherited(changes.links, likeness)
        columns |= {"heir_now": heirs, "newer_now": changes.newer, "outdated_now": outdated}
    if past:
        heirs = inherited(_backwards(changes.links), likeness)
        columns |= {"heir_past": heirs, "newer_past": changes.newer, "outdated_past": outdated}
    if past and query.window is not None:
        window = query.window
        columns["held_then"] = _column(
            memory.event_at < window.end and changes.ends.get(memory.row, query.now) > window.start
            for memory in memories
        )
    return columns


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


def _changes(memories: Sequence[Memory], context: SearchContext) -> Changes:
    """By the links between memories up to the time of the question, and by what is marked as ended."""
    now = context.query.now
    place = {memory.row: i for i, memory in enumerate(memories)}
    ended, newer, marked, ends = _zeros(memories), _zeros(memories), _zeros(memories), dict[int, datetime]()
    links = []
    for link in context.reader.memories.successions(list(place)):
        if link.newer_at > now:
            continue
        if link.older in place and link.newer in place:
            links.append((place[link.older], place[link.newer], link.chance))
        if (i := place.get(link.older)) is not None:
            ended[i] = max(ended[i], _surer(link.chance))
            if link.chance >= LIKELY:
                ends[link.older] = min(ends.get(link.older, link.newer_at), link.newer_at)
        if (i := place.get(link.newer)) is not None:
            newer[i] = max(newer[i], _surer(link.chance))
    for i, memory in enumerate(memories):
        if not memory.is_current(now):
            ended[i] = marked[i] = 1.0
            ends.setdefault(memory.row, memory.valid_to or now)
    return Changes(ended, newer, marked, links, ends)


def stand_ins(memories: Sequence[Memory], context: SearchContext) -> Sequence[Successor]:
    """Which memory stands for which: the newer where the present is asked for, the older for the past."""
    query = context.query
    if query.demand("current"):
        return _changes(memories, context).links
    return _backwards(_changes(memories, context).links) if query.demand("past") else []


def _backwards(links: Sequence[Successor]) -> list[Successor]:
    return [(newer, older, chance) for older, newer, chance in links]


def inherited(links: Sequence[Successor], likeness: Vector) -> Vector:
    """How much each memory gains from what it stands for, along chains: a successor answers for the old."""
    gained = likeness.copy()
    for _ in range(LONGEST_CHAIN):
        for source, target, chance in links:
            gained[target] = max(
                gained[target], likeness[target] + _surer(chance) * (gained[source] - likeness[target])
            )
    return gained - likeness


def _surer(chance: float) -> float:
    """The chance of a link between two memories that come up for one question."""
    return SURER * chance / (1 - chance + SURER * chance)


def _outdated(memories: Sequence[Memory], context: SearchContext, late: Vector) -> Vector:
    """How much a newer candidate about the same thing speaks against each: its likeness, where it answers as well."""
    outdated = _zeros(memories)
    if context.space is None:
        return outdated
    best = np.argsort(-late, kind="stable")[:COMPARED]
    best = best[late[best] >= late.max() - NEAR]
    vectors = context.reader.search.vectors(context.space, [memories[i].row for i in best])
    known = [i for i in best.tolist() if memories[i].row in vectors]
    if len(known) < 2:
        return outdated
    table: Matrix = np.stack([vectors[memories[i].row] for i in known])
    times = np.array([memories[i].event_at.timestamp() for i in known])
    alike = np.clip((table @ table.T - ALIKE) / (1 - ALIKE), 0, 1)
    close = np.clip(1 - np.maximum(late[known][:, None] - late[known][None, :], 0) / NEAR, 0, 1)
    later = times[None, :] > times[:, None]
    outdated[known] = (alike * close * later).max(axis=1)
    return outdated


def _order(memories: Sequence[Memory], context: SearchContext, late: Vector) -> dict[str, Vector]:
    """Where a candidate stands in time among those that answer about as well."""
    query = context.query
    columns: dict[str, Vector] = {}
    if not query.demand("first", "last", "current", "next"):
        return columns
    near = late >= late.max() - NEAR
    times = np.array([memory.event_at.timestamp() for memory in memories])
    place = _placed(times, near)
    if query.demand("first"):
        columns["earliest"] = (1 - place) * near
    if query.demand("last"):
        columns["latest"] = place * near
    if query.demand("current"):
        columns["recent_now"] = place * near
    if query.demand("next"):
        columns["ahead"] = _ahead(memories, context)
    return columns


def _placed(times: Vector, near: Vector) -> Vector:
    """0 for the earliest to 1 for the latest of those that are near."""
    order = np.argsort(np.argsort(times[near], kind="stable"), kind="stable")
    place = np.zeros(len(times), dtype=np.float32)
    place[near] = order / max(1, len(order) - 1)
    return place


def _ahead(memories: Sequence[Memory], context: SearchContext) -> Vector:
    """1 for a memory that names a day from today on, less the further ahead it is; 0 for others."""
    start = context.query.now - timedelta(days=1)
    named = context.reader.memories.named_times([memory.row for memory in memories])
    ahead = _zeros(memories)
    for i, memory in enumerate(memories):
        days = [(begin - context.query.now).days for begin, end in named.get(memory.row, ()) if end > start]
        if days:
            ahead[i] = 1 / (1 + max(0, min(days)) / 14)
    return ahead


def _words(memories: Sequence[Memory], query: Query) -> dict[str, Vector]:
    columns: dict[str, Vector] = {}
    if query.demand("suggestion") or "preference" in query.type_hints:
        columns["taste"] = _column(
            memory.type == "preference" or bool(_TASTE.search(memory.content[:READ])) for memory in memories
        )
    if query.demand("negation"):
        columns["negates"] = _column(bool(_NEGATES.search(memory.content[:READ])) for memory in memories)
    if "event" in query.type_hints:
        columns["event"] = _column(memory.type == "event" for memory in memories)
    return columns


def _alike(memories: Sequence[Memory], context: SearchContext, late: Vector) -> dict[str, Vector]:
    """How near a memory is to the best ones, where everything of a kind is asked for."""
    if context.space is None or not context.query.demand("list", "count", "negation"):
        return {}
    vectors = context.reader.search.vectors(context.space, [memory.row for memory in memories])
    if not vectors:
        return {}
    zero = np.zeros(context.space.dimension, dtype=np.float32)
    table: Matrix = np.stack([vectors.get(memory.row, zero) for memory in memories])
    best = np.argsort(-late, kind="stable")[:ALIKE_TO]
    near = np.sort(table @ table[best].T, axis=1)
    return {"like_best": near[:, -2] if near.shape[1] > 1 else near[:, -1]}


def _zeros(of: Sequence[object]) -> Vector:
    return np.zeros(len(of), dtype=np.float32)


def _column(values: Iterable[float]) -> Vector:
    return np.fromiter(values, dtype=np.float32)
