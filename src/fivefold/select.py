"""Selection: which candidates become the answer; the rest is named with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.recall import Candidate, Dropped, Hit


def select(candidates: Sequence[Candidate], k: int, now: datetime) -> tuple[list[Hit], list[Dropped]]:
    """The k best by score, ties by id, so that the same question on the same store gives the same answer.

    Asked as of an earlier time, what was neither told nor happened by then is left out.
    """
    known = [candidate for candidate in candidates if _known_by(now, candidate)]
    later = [
        Dropped(candidate.memory.id, candidate.score, "select", f"not yet known on {now:%d %b %Y}")
        for candidate in candidates
        if not _known_by(now, candidate)
    ]
    ranked = sorted(known, key=lambda candidate: (-candidate.score, candidate.memory.id))
    hits = [Hit(rank, candidate) for rank, candidate in enumerate(ranked[:k], 1)]
    dropped = [
        Dropped(
            candidate.memory.id, candidate.score, "select", f"rank {rank} of {len(ranked)}, beyond the {k} asked for"
        )
        for rank, candidate in enumerate(ranked[k:], k + 1)
    ]
    return hits, later + dropped


def _known_by(now: datetime, candidate: Candidate) -> bool:
    return candidate.memory.event_at <= now or candidate.memory.created_at <= now
