from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fivefold import InvalidInput
from fivefold.text.time_grammar import TimeSettings, find_window
from fivefold.values.query import Window

NOW = datetime(2025, 6, 11, 15, 30, tzinfo=UTC)


def window(text: str, **settings: Any) -> Window:
    found = find_window(text, NOW, settings=TimeSettings.from_mapping(settings))
    assert found is not None
    return found


def days_ago(count: int) -> datetime:
    return NOW - timedelta(days=count)


@pytest.mark.parametrize(
    ("text", "settings", "start", "end"),
    [
        ("recently", {"recent_days": 7}, days_ago(7), NOW),
        ("a few days ago", {"few_days": [4, 1]}, days_ago(4), days_ago(1)),
        ("in the last few days", {"few_days": [4, 1]}, days_ago(4), NOW),
        ("a few weeks ago", {"few_weeks": (28, 10)}, days_ago(28), days_ago(10)),
        ("a few months ago", {"few_months": (120, 60)}, days_ago(120), days_ago(60)),
        ("a few years ago", {"few_years": (8, 3)}, NOW.replace(year=2017), NOW.replace(year=2022)),
        ("03/04/2024", {"day_first": False}, datetime(2024, 3, 4, tzinfo=UTC), datetime(2024, 3, 5, tzinfo=UTC)),
        ("15/04/2024", {"day_first": False}, datetime(2024, 4, 15, tzinfo=UTC), datetime(2024, 4, 16, tzinfo=UTC)),
        ("3/4/24", {"day_first": False}, datetime(2024, 3, 4, tzinfo=UTC), datetime(2024, 3, 5, tzinfo=UTC)),
        ("3/4/24", {"day_first": True}, datetime(2024, 4, 3, tzinfo=UTC), datetime(2024, 4, 4, tzinfo=UTC)),
        (
            "last summer",
            {"summer_months": (12, 2)},
            datetime(2024, 12, 1, tzinfo=UTC),
            datetime(2025, 3, 1, tzinfo=UTC),
        ),
        ("last winter", {"summer_months": (12, 2)}, datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 9, 1, tzinfo=UTC)),
        ("last spring", {"summer_months": (5, 7)}, datetime(2025, 2, 1, tzinfo=UTC), datetime(2025, 5, 1, tzinfo=UTC)),
        (
            "around Christmas",
            {"around_days": 1},
            datetime(2024, 12, 23, tzinfo=UTC),
            datetime(2024, 12, 29, tzinfo=UTC),
        ),
    ],
)
def test_settings_change_the_reading(text: str, settings: dict[str, Any], start: datetime, end: datetime) -> None:
    found = window(text, **settings)
    assert (found.start, found.end) == (start, end)


def test_an_empty_mapping_is_the_default() -> None:
    assert TimeSettings.from_mapping({}) == TimeSettings()


def test_settings_survive_a_round_trip_through_plain_data() -> None:
    settings = TimeSettings(recent_days=7, few_days=(4, 1))
    assert TimeSettings.from_mapping(settings.to_dict()) == settings


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("recent_days", 0),
        ("recent_days", -1),
        ("recent_days", True),
        ("recent_days", "30"),
        ("recent_days", 10**9),
        ("around_days", -1),
        ("few_days", (2, 5)),
        ("few_days", (2, 2)),
        ("few_weeks", (5,)),
        ("few_weeks", 5),
        ("few_months", (5, -1)),
        ("few_months", (5.0, 2.0)),
        ("few_years", "52"),
        ("summer_months", (6, 9)),
        ("summer_months", (0, 2)),
        ("summer_months", (8, 6)),
        ("summer_months", None),
        ("day_first", 1),
        ("day_first", "yes"),
        ("recnt_days", 30),
        (7, 30),
    ],
)
def test_nonsense_is_refused_and_named(field: Any, value: object) -> None:
    with pytest.raises(InvalidInput, match=str(field)):
        TimeSettings.from_mapping({field: value})


def test_settings_must_be_a_mapping() -> None:
    with pytest.raises(InvalidInput, match="mapping"):
        TimeSettings.from_mapping([("recent_days", 30)])  # type: ignore[arg-type]
