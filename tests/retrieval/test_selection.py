"""The end of a recall: what was known, the best k, ties by id, and what a unit makes of sessions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from fivefold.retrieval.selection import drop_not_yet_known, drop_unlikely, drop_unmatched, select
from fivefold.retrieval.stages import Pool
from fivefold.values.filters import Filter
from fivefold.values.memory import Kind
from fivefold.values.recall_trace import Candidate
from tests.retrieval.test_fuse import NOW, memory
from tests.support.toy_engine import toy

LATER = datetime(2025, 6, 1, tzinfo=UTC)


def of(row: int, kind: Kind, session: str | None, score: float) -> Candidate:
    return Candidate(replace(memory(row), kind=kind, session_id=session), (), score)


def test_ties_break_by_id() -> None:
    candidates = [Candidate(replace(memory(row), id=id), (), 0.5) for row, id in ((1, "c"), (2, "a"), (3, "b"))]
    hits, dropped = select(Pool(candidates), 2, "memory")
    assert [hit.memory.id for hit in hits] == ["a", "b"]
    assert [hit.rank for hit in hits] == [1, 2]
    assert [(item.id, item.reason) for item in dropped] == [("c", "rank 3 of 3, beyond the 2 asked for")]


def test_a_step_reorders() -> None:
    strong, weak = Candidate(memory(1), (), 0.9), Candidate(memory(2), (), 0.6)
    hits, _ = select(Pool([strong.with_step("superseded", 0.45, "× 0.5"), weak]), 2, "memory")
    assert [hit.memory.row for hit in hits] == [2, 1]


def test_what_is_less_likely_than_asked_for_is_left_out() -> None:
    chances = {1: 0.4, 2: 0.7, 3: None, 4: 0.5}
    pool = Pool([Candidate(memory(row), (), 1 / row, chance=chance) for row, chance in chances.items()])
    hits, dropped = select(drop_unlikely(pool, 0.5), 5, "memory")
    assert [(hit.rank, hit.memory.row) for hit in hits] == [(1, 2), (2, 4)]
    assert [(item.stage, item.reason) for item in dropped] == [
        ("min_chance", "chance 0.400, below 0.5"),
        ("min_chance", "too far down to have a chance"),
    ]
    assert drop_unlikely(pool, None) is pool


def test_what_was_not_known_yet_is_left_out() -> None:
    told_later = Candidate(replace(memory(1), event_at=LATER, created_at=LATER), (), 0.9)
    planned = Candidate(replace(memory(2), event_at=LATER), (), 0.5)
    pool = drop_not_yet_known(Pool([told_later, planned]), NOW)
    hits, dropped = select(pool, 5, "memory")
    assert [hit.memory.row for hit in hits] == [2]
    assert dropped[0].reason == "not yet known on 01 Jan 2025"


def test_told_later_about_an_earlier_time_is_known() -> None:
    reported = Candidate(replace(memory(1), created_at=LATER), (), 0.9)
    assert drop_not_yet_known(Pool([reported]), NOW).candidates == [reported]


@pytest.mark.parametrize(
    ("zone", "asked", "known"),
    [
        ("UTC", "2025-03-10T07:00:00Z", {"night", "morning", "evening"}),
        ("UTC", "2025-03-09T23:59:00Z", {"night"}),
        ("Asia/Tokyo", "2025-03-09T16:00:00Z", {"night", "morning"}),
        ("America/New_York", "2025-03-10T14:00:00Z", {"night", "morning", "evening", "late"}),
        ("America/New_York", "2025-03-10T03:00:00Z", {"night"}),
    ],
)
@pytest.mark.parametrize("recipe", ["default", "lexical", "recall", "memsense"])
def test_what_is_dated_on_the_day_of_the_question_is_known(
    tmp_path: Path, recipe: str, zone: str, asked: str, known: set[str]
) -> None:
    """By the clock of the namespace; the turns are neighbours in one session, and a recall may bring those along."""
    told = {"night": "09T20:00", "morning": "10T09:00", "evening": "10T20:00", "late": "11T02:00", "next": "11T20:00"}
    with toy(str(tmp_path / "day.db")) as engine:
        engine.configure(timezone=zone)
        engine.remember_many(
            {"id": id, "content": f"the kestrel came in the {id}", "session_id": "s", "event_at": f"2025-03-{at}:00Z"}
            for id, at in told.items()
        )
        answer = engine.recall("when came the kestrel?", 20, recipe=recipe, now=asked)
    found = {memory.id for hit in answer for memory in (hit.memory, *hit.neighbours) if memory.kind == "turn"}
    assert found <= known
    assert found == known or recipe == "memsense"


def test_a_day_is_that_of_the_clock_of_the_question() -> None:
    at = datetime(2025, 3, 10, 20, tzinfo=UTC)
    told = replace(memory(1), event_at=at, created_at=LATER)
    asked = datetime(2025, 3, 10, 7, tzinfo=UTC)
    assert told.known_at(asked)
    assert not told.known_at(asked.astimezone(ZoneInfo("Asia/Tokyo"))), "in Tokyo it is of the next day"
    assert not told.known_at(asked - timedelta(days=1))
    assert told.known_at(asked + timedelta(days=1))


def test_by_turn_session_memories_are_named_as_dropped() -> None:
    pool = Pool([of(1, "session", "s", 0.9), of(2, "turn", "s", 0.5), of(3, "note", None, 0.4)])
    hits, dropped = select(pool, 5, "turn")
    assert [hit.memory.row for hit in hits] == [2, 3]
    assert [(item.id, item.reason) for item in dropped] == [("m00001", "a session, and only turns are wanted")]


def test_by_session_the_best_of_each_stands_for_it_and_notes_stand_alone() -> None:
    pool = Pool(
        [
            of(1, "turn", "s", 0.9),
            of(2, "session", "s", 0.8),
            of(3, "turn", "t", 0.7),
            of(4, "note", None, 0.6),
            of(5, "note", None, 0.5),
            of(6, "turn", "t", 0.4),
        ]
    )
    hits, dropped = select(pool, 3, "session")
    assert [hit.memory.row for hit in hits] == [1, 3, 4]
    reasons = {item.id: item.reason for item in dropped}
    assert reasons["m00002"] == "its session is answered for by m00001"
    assert reasons["m00006"] == "its session is answered for by m00003"
    assert reasons["m00005"] == "rank 4 of 4, beyond the 3 asked for"


def test_what_earlier_stages_dropped_stays_named() -> None:
    gone = of(1, "note", None, 0.9)
    pool = Pool([gone, of(2, "note", None, 0.5)]).without([(gone, "says nothing new")], "mmr")
    hits, dropped = select(pool, 5, "memory")
    assert [hit.memory.row for hit in hits] == [2]
    assert [(item.id, item.stage, item.score) for item in dropped] == [("m00001", "mmr", 0.9)]


def test_what_a_stage_adds_is_tested_like_the_first() -> None:
    keep, passed = Filter(kinds=("note",)), set[int]()
    note, turn = of(1, "note", None, 0.9), of(2, "turn", "s", 0.8)
    pool = drop_unmatched(Pool([note, turn]), keep, NOW, passed)
    assert [one.memory.row for one in pool.candidates] == [1]
    assert passed == {1}
    added = of(3, "turn", "s", 0.7)
    pool = drop_unmatched(pool.with_candidates([*pool.candidates, added]), keep, NOW, passed)
    assert [one.memory.row for one in pool.candidates] == [1]
    assert [item.id for item in pool.dropped] == [turn.memory.id, added.memory.id]
