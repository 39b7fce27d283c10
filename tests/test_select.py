"""Selection keeps the best and breaks ties by id."""

from __future__ import annotations

from dataclasses import replace

from fivefold.recall import Candidate
from fivefold.select import select
from tests.test_fuse import memory


def test_ties_break_by_id() -> None:
    candidates = [Candidate(replace(memory(row), id=id), (), 0.5) for row, id in ((1, "c"), (2, "a"), (3, "b"))]
    hits, dropped = select(candidates, 2)
    assert [hit.memory.id for hit in hits] == ["a", "b"]
    assert [item.id for item in dropped] == ["c"]


def test_a_step_reorders() -> None:
    strong, weak = Candidate(memory(1), (), 0.9), Candidate(memory(2), (), 0.6)
    hits, _ = select([strong.stepped("superseded", 0.45, "× 0.5"), weak], 2)
    assert [hit.memory.row for hit in hits] == [2, 1]
