"""What has ended steps back, and what replaced it stands where it stood, whatever the sign of the score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import fivefold
from fivefold.retrieval.stages.base import Pool
from fivefold.retrieval.stages.relations import Superseded, superseded
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import NOW, aged, of


class Known:
    """A reader that knows one memory which no route has found."""

    def __init__(self, candidate: Candidate) -> None:
        self.memory = candidate.memory
        self.memories = self

    def get_many(self, ids: Sequence[str]) -> dict[str, fivefold.Memory]:
        return {id: self.memory for id in ids if id == self.memory.id}


class Asked:
    def __init__(self, heir: Candidate) -> None:
        self.reader = Known(heir)
        self.query = type("Now", (), {"now": NOW})()


@pytest.mark.parametrize("score", [0.8, -0.3])
def test_what_no_route_found_takes_the_place_of_what_it_replaced(score: float) -> None:
    heir, other = of(2), of(3, 0.1)
    old = of(1, score, valid_to=aged(1), superseded_by=heir.memory.id)
    made = superseded(Pool((old, other)), Asked(heir), Superseded(0.5))  # type: ignore[arg-type]
    scores = {candidate.memory.id: candidate.score for candidate in made.candidates}
    assert scores[heir.memory.id] == score
    assert scores[old.memory.id] == (0.4 if score > 0 else -0.8)
    assert scores[other.memory.id] == 0.1


def test_a_memory_that_answers_nothing_is_not_lifted_by_what_it_replaced(tmp_path: Path) -> None:
    """As when the cross-encoder has given every other candidate less than nothing."""
    with fivefold.open(tmp_path / "me.db") as mem:
        mem.remember("I prefer meetings in the morning", speaker="user", event_at="2025-01-06T09:00:00Z")
        mem.remember("The API time-out of the Kestrel is 30 seconds", speaker="user", event_at="2025-01-07T09:00:00Z")
        mem.remember("I prefer meetings in the afternoon now", speaker="user", event_at="2025-02-06T09:00:00Z")
        mem.remember("I take my tea without milk", speaker="user", event_at="2025-02-07T09:00:00Z")
        answer = mem.recall("how do I take my tea?", k=4, now="2025-03-01T09:00:00Z")
        assert answer[0].memory.content == "I take my tea without milk"
        assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)
        assert 0.0 not in [hit.score for hit in answer]
