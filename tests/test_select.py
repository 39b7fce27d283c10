"""Selection keeps the best and breaks ties by id."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from fivefold.recall import Candidate
from fivefold.select import select
from tests.test_fuse import NOW, memory


def test_ties_break_by_id() -> None:
    candidates = [Candidate(replace(memory(row), id=id), (), 0.5) for row, id in ((1, "c"), (2, "a"), (3, "b"))]
    hits, dropped = select(candidates, 2, NOW)
    assert [hit.memory.id for hit in hits] == ["a", "b"]
    assert [item.id for item in dropped] == ["c"]


def test_a_step_reorders() -> None:
    strong, weak = Candidate(memory(1), (), 0.9), Candidate(memory(2), (), 0.6)
    hits, _ = select([strong.stepped("superseded", 0.45, "× 0.5"), weak], 2, NOW)
    assert [hit.memory.row for hit in hits] == [2, 1]


def test_what_was_not_known_yet_is_left_out() -> None:
    later = datetime(2025, 6, 1, tzinfo=UTC)
    told_later = Candidate(replace(memory(1), event_at=later, created_at=later), (), 0.9)
    planned = Candidate(replace(memory(2), event_at=later), (), 0.5)
    hits, dropped = select([told_later, planned], 5, NOW)
    assert [hit.memory.row for hit in hits] == [2]
    assert dropped[0].reason == "not yet known on 01 Jan 2025"
