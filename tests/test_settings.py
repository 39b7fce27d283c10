"""Settings of a namespace: stored with it, checked, shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.settings import Settings


def test_defaults_hold_until_something_is_set(engine: Engine) -> None:
    assert engine.settings == Settings()


def test_a_setting_is_stored_with_the_namespace(store_path: str) -> None:
    with fivefold.open(store_path) as engine:
        engine.configure(timezone="Europe/Berlin", few_months=(120, 40))
    with fivefold.open(store_path) as again, fivefold.open(store_path, namespace="other") as other:
        assert (again.settings.timezone, again.settings.few_months) == ("Europe/Berlin", (120, 40))
        assert other.settings == Settings()
        assert again.configure(timezone=None).timezone == "UTC"
        assert again.settings.few_months == (120, 40)


def test_settings_changed_at_once_are_all_kept(engine: Engine) -> None:
    for value in (1, 2, 3):
        changes: list[dict[str, int]] = [{"hops": value}, {"fan_out": value}, {"recent_turns": value}]
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda change: engine.configure(**change), changes))
        assert (engine.settings.hops, engine.settings.fan_out, engine.settings.recent_turns) == (value, value, value)


def test_the_zone_moves_the_day(engine: Engine) -> None:
    now = "2025-06-10T23:30:00Z"
    in_utc = engine.understand("today", now=now).window
    engine.configure(timezone="Europe/Berlin")
    in_berlin = engine.understand("today", now=now).window
    assert in_utc is not None
    assert in_berlin is not None
    assert in_utc.start.isoformat() == "2025-06-10T00:00:00+00:00"
    assert in_berlin.start.isoformat() == "2025-06-10T22:00:00+00:00"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": 1}, "unknown setting 'colour'"),
        ({"timezone": "Mars/Base"}, "timezone must be a known time zone, such as Europe/Berlin, not 'Mars/Base'"),
        ({"timezone": [1, 2]}, "timezone must be a known time zone, such as Europe/Berlin, not \\[1, 2"),
        ({"hops": 9}, "hops must be a whole number from 0 to 3"),
        ({"hops": 1.5}, "hops must be a whole number"),
        ({"ef_search": 0}, "ef_search must be a whole number from 1 to 1000"),
        ({"sure_entity": 2}, "sure_entity must be a number from 0 to 1"),
        ({"recent_days": 0}, "recent_days"),
        ({"few_months": (30, 90)}, "few_months"),
    ],
)
def test_a_bad_setting_is_named_and_nothing_changes(engine: Engine, change: dict[str, object], said: str) -> None:
    with pytest.raises(fivefold.InvalidInput, match=said):
        engine.configure(**change)
    assert engine.settings == Settings()
