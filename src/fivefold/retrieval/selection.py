"""The end of a recall: what was not yet known is left out, the best k are the answer, the rest is listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from fivefold.retrieval.recipe import Unit
from fivefold.retrieval.stages import Pool, best_first
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit
from fivefold.values.recall_trace import Candidate, Dropped


def drop_not_yet_known(pool: Pool, now: datetime) -> Pool:
    """Drops what was neither stored by then nor is dated on that day or before, if asked as of an earlier time."""
    later = [
        (candidate, f"not yet known on {now:%d %b %Y}")
        for candidate in pool.candidates
        if not candidate.memory.known_at(now)
    ]
    return pool.without(later, "select") if later else pool


def drop_unmatched(pool: Pool, keep: Filter, now: datetime, passed: set[int]) -> Pool:
    """What a stage has added and has expired or does not pass the filter is left out, also next to a candidate.

    `passed` are the rows that passed before in this recall; those that pass now are added to them.
    """
    tests = keep or None
    new = [candidate for candidate in pool.candidates if candidate.memory.row not in passed]
    faults = [(candidate, _fault(candidate.memory, tests, now)) for candidate in new]
    unmatched = [(candidate, fault) for candidate, fault in faults if fault]
    passed.update(candidate.memory.row for candidate, fault in faults if not fault)
    pool = pool.without(unmatched, "filter") if unmatched else pool
    if not any(candidate.neighbours for candidate in pool.candidates):
        return pool
    return pool.with_candidates(_without_unmatched(candidate, tests, now) for candidate in pool.candidates)


def _fault(memory: Memory, keep: Filter | None, now: datetime) -> str:
    if memory.expires_at is not None and not memory.is_alive(now):
        return f"expired on {memory.expires_at:%d %b %Y}"
    return "does not pass the filter" if keep is not None and not keep.matches(memory) else ""


def _without_unmatched(candidate: Candidate, keep: Filter | None, now: datetime) -> Candidate:
    if not candidate.neighbours:
        return candidate
    kept = tuple(memory for memory in candidate.neighbours if not _fault(memory, keep, now))
    return replace(candidate, neighbours=kept)


def drop_unlikely(pool: Pool, least: float | None) -> Pool:
    """Candidates whose chance is below `least` are left out, and those that are too far down to have one."""
    if least is None:
        return pool
    unlikely = [
        (candidate, _unlikely(candidate.chance, least))
        for candidate in pool.candidates
        if candidate.chance is None or candidate.chance < least
    ]
    return pool.without(unlikely, "min_chance")


def _unlikely(chance: float | None, least: float) -> str:
    return "too far down to have a chance" if chance is None else f"chance {chance:.3f}, below {least:g}"


def select(pool: Pool, k: int, unit: Unit, composite: bool = False) -> tuple[list[Hit], list[Dropped]]:
    """The k best by score; by session, the best of each stands for it."""
    if unit == "turn":
        sessions = [
            (candidate, "a session, and only turns are wanted")
            for candidate in pool.candidates
            if candidate.memory.kind == "session"
        ]
        pool = pool.without(sessions, "select")
    ranked = best_first(pool.candidates)
    if unit == "session":
        pool = pool.without(_beyond_first(ranked), "select")
        ranked = best_first(pool.candidates)
    hits = [Hit(rank, candidate, composite) for rank, candidate in enumerate(ranked[:k], 1)]
    beyond = [
        Dropped(
            candidate.memory.id, candidate.score, "select", f"rank {rank} of {len(ranked)}, beyond the {k} asked for"
        )
        for rank, candidate in enumerate(ranked[k:], k + 1)
    ]
    return hits, [*pool.dropped, *beyond]


def _beyond_first(ranked: list[Candidate]) -> list[tuple[Candidate, str]]:
    """All but the best of each session."""
    seen: dict[str, str] = {}
    further = []
    for candidate in ranked:
        session = candidate.memory.session_id
        if session is None:
            continue
        if session in seen:
            further.append((candidate, f"its session is answered for by {seen[session]}"))
        else:
            seen[session] = candidate.memory.id
    return further
