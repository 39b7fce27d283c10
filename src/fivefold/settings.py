"""A namespace's settings: every default a user may want otherwise, stored with the namespace."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fivefold.errors import InvalidInput
from fivefold.text.time_grammar import TimeSettings
from fivefold.values.serialize import Value
from fivefold.values.validate import MAX_RECENT

TIME_FIELDS = tuple(field.name for field in dataclasses.fields(TimeSettings))


@dataclass(frozen=True, slots=True)
class Settings(Value):
    """What is not set keeps its default. The fuzzy spans of time are those of `TimeSettings` (R8)."""

    timezone: str = "UTC"
    recent_days: int = 30
    few_days: tuple[int, int] = (5, 2)
    few_weeks: tuple[int, int] = (35, 14)
    few_months: tuple[int, int] = (90, 30)
    few_years: tuple[int, int] = (5, 2)
    summer_months: tuple[int, int] = (6, 8)
    day_first: bool = True
    around_days: int = 3
    widen_below: int = 5
    hops: int = 2
    hops_asked: int = 3
    fan_out: int = 32
    sure_entity: float = 0.7
    route_budget_ms: int = 2_000
    dense_weight: float | None = None
    lexical_weight: float | None = None
    graph_weight: float | None = None
    temporal_weight: float | None = None
    learn_after: int = 0
    recent_turns: int = 0
    """How many of the last turns a recall brings along unless it says otherwise (D11)."""

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def times(self) -> TimeSettings:
        return TimeSettings.from_mapping({name: getattr(self, name) for name in TIME_FIELDS})

    def weight(self, route: str, default: float) -> float:
        """The namespace's weight for a route, or the recipe's."""
        own = getattr(self, f"{route}_weight", None)
        return default if own is None else float(own)


_RANGES: dict[str, tuple[float, float]] = {
    "widen_below": (0, 100),
    "hops": (0, 3),
    "hops_asked": (0, 3),
    "fan_out": (1, 500),
    "sure_entity": (0, 1),
    "route_budget_ms": (1, 600_000),
    "dense_weight": (0, 100),
    "lexical_weight": (0, 100),
    "graph_weight": (0, 100),
    "temporal_weight": (0, 100),
    "learn_after": (0, 1_000_000),
    "recent_turns": (0, MAX_RECENT),
}


def settings_of(stored: Mapping[str, Any]) -> Settings:
    """Settings from what a namespace has stored; errors name the field."""
    known = {field.name for field in dataclasses.fields(Settings)}
    unknown = sorted(set(stored) - known)
    if unknown:
        raise InvalidInput(f"unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}")
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }
    for name, value in values.items():
        _check(name, value)
    settings = Settings(**values)
    settings.times  # noqa: B018 - checks the spans
    return settings


def _check(name: str, value: object) -> None:
    if name == "timezone":
        try:
            ZoneInfo(value if isinstance(value, str) else "")
        except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
            raise InvalidInput(f"timezone {value!r} is unknown; give one such as Europe/Berlin") from None
    elif name in _RANGES and value is not None:
        low, high = _RANGES[name]
        whole = Settings.__annotations__[name] == "int"
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not low <= value <= high:
            raise InvalidInput(
                f"{name} must be a {'whole ' if whole else ''}number from {low:g} to {high:g}, not {value!r}"
            )
