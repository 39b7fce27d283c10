"""Selection: which candidates become the answer; the rest is named with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.recall import Candidate, Dropped, Hit


def select(candidates: Sequence[Candidate], k: int) -> tuple[list[Hit], list[Dropped]]:
    """The k best by score, ties by id, so that the same question on the same store gives the same answer."""
    ranked = sorted(candidates, key=lambda candidate: (-candidate.score, candidate.memory.id))
    hits = [Hit(rank, candidate) for rank, candidate in enumerate(ranked[:k], 1)]
    dropped = [
        Dropped(
            candidate.memory.id,
            candidate.score,
            "select",
            f"rank {rank} of {len(ranked)}, beyond the {k} asked for",
        )
        for rank, candidate in enumerate(ranked[k:], k + 1)
    ]
    return hits, dropped
