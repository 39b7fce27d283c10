"""How wide the fuzzy words are. Everything a person could read differently is a field here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Value

LONGEST = 36_500
"""The largest number a span may be given: a hundred years in days."""
SEASON_MONTHS = 3


@dataclass(frozen=True, slots=True)
class TimeSettings(Value):
    """The readings of fuzzy words (R8). Pairs run from far to near: `few_days=(5, 2)` is five to two days ago."""

    recent_days: int = 30
    few_days: tuple[int, int] = (5, 2)
    few_weeks: tuple[int, int] = (35, 14)
    few_months: tuple[int, int] = (90, 30)
    few_years: tuple[int, int] = (5, 2)
    around_days: int = 3
    summer_months: tuple[int, int] = (6, 8)
    day_first: bool = True

    def __post_init__(self) -> None:
        if not _whole(self.recent_days, 1, LONGEST):
            raise InvalidInput(f"recent_days must be a whole number from 1 to {LONGEST}, not {self.recent_days!r}")
        if not _whole(self.around_days, 0, LONGEST):
            raise InvalidInput(f"around_days must be a whole number from 0 to {LONGEST}, not {self.around_days!r}")
        for name in ("few_days", "few_weeks", "few_months", "few_years"):
            pair = getattr(self, name)
            if not (_pair(pair, 0, LONGEST) and pair[0] > pair[1]):
                raise InvalidInput(f"{name} must be two whole numbers, the far one first, like (5, 2), not {pair!r}")
        months = self.summer_months
        if not (_pair(months, 1, 12) and (months[1] - months[0]) % 12 == SEASON_MONTHS - 1):
            raise InvalidInput(f"summer_months must be the first and last of three months, like (6, 8), not {months!r}")
        if not isinstance(self.day_first, bool):
            raise InvalidInput(f"day_first must be true or false, not {self.day_first!r}")

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> TimeSettings:
        """Settings from plain data, where a pair is any list of two; errors name the field."""
        if not isinstance(data, Mapping):
            raise InvalidInput(f"time settings must be a mapping of names to values, not {type(data).__name__}")
        known = [field.name for field in dataclasses.fields(cls)]
        for name in data:
            if name not in known:
                raise InvalidInput(f"unknown time setting {name!r}; known are {', '.join(known)}")
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return cls(**values)


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _pair(value: object, low: int, high: int) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(_whole(item, low, high) for item in value)


DEFAULTS = TimeSettings()
