"""Figures over time: what was written and asked, by day or by week."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import fivefold
from fivefold.values.reports import MAX_DAYS, MAX_WEEKS, periods_of, series_of

THURSDAY = 20_055
"""The days from 1970 to 28 November 2024."""


def test_days_of_a_month_are_shown_one_by_one() -> None:
    recalls = [(THURSDAY, True, 10.0), (THURSDAY, False, 30.0), (THURSDAY, True, 90.0), (THURSDAY + 2, None, None)]
    periods = periods_of({THURSDAY: 4, THURSDAY + 3: 1}, recalls)
    assert [each.start for each in periods] == [datetime(2024, 11, 28 + day, tzinfo=UTC) for day in range(3)] + [
        datetime(2024, 12, 1, tzinfo=UTC)
    ]
    assert [each.memories for each in periods] == [4, 0, 0, 1]
    assert [each.recalls for each in periods] == [3, 0, 1, 0]
    assert [each.found for each in periods] == [2 / 3, None, None, None]
    assert [each.ms for each in periods] == [30.0, None, None, None]
    written, made, found, time = series_of(periods)
    assert (written.heights, written.summary, written.texts) == ((1.0, 0.0, 0.0, 0.25), "5", ("4", "0", "0", "1"))
    assert (made.summary, found.summary, time.summary) == ("4", "67%", "30 ms")
    assert found.heights[0] == 2 / 3, "a share is drawn as a part of all"
    assert found.texts == ("67%", "–", "–", "–")


def test_more_than_a_month_is_by_week_from_monday_on() -> None:
    periods = periods_of({THURSDAY: 2, THURSDAY + MAX_DAYS: 3}, ())
    assert {each.days for each in periods} == {7}
    assert periods[0].start == datetime(2024, 11, 25, tzinfo=UTC)
    assert [each.memories for each in periods] == [2, 0, 0, 0, 3]
    years = periods_of({THURSDAY - 4_000: 1, THURSDAY: 2}, ())
    assert len(years) == MAX_WEEKS
    assert [years[0].memories, years[-1].memories] == [0, 2]
    assert [each.start for each in years] == [years[0].start + timedelta(weeks=week) for week in range(MAX_WEEKS)]


def test_the_store_knows_what_was_written_and_found(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as memory:
        assert memory.stats().periods == ()
        memory.remember_messages([{"role": "user", "content": "My badge ID is E-47821"}], session_id="monday")
        memory.recall("What is my badge ID?")
        memory.recall("What is the capital of the moon?")
        recall = memory.recall("What is my badge ID?", recipe="ditto")
        (today,) = memory.stats().periods
        assert (today.days, today.memories, today.recalls) == (1, 1, 3), "a session memory is not counted"
        assert today.found is not None
        assert today.ms is not None
        assert today.ms > 0
        memory.feedback(recall.id, used=[recall.hits[0].memory.id])
        assert memory.stats().feedback == 1
        memory.forget(memory.memories()[0].id)
        assert memory.stats().periods == ()
