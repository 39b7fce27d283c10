"""How wide the fuzzy words are. Everything a person could read differently is a field here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fivefold.errors import InvalidInput
from fivefold.values.fields import About, Between, Rule, build
from fivefold.values.serialize import Value

LONGEST = 36_500
"""The largest number of a span: a hundred years in days."""
SEASON_MONTHS = 3


def _far_first(pair: tuple[int, int]) -> bool:
    return pair[0] > pair[1]


def _is_season(months: tuple[int, int]) -> bool:
    return (months[1] - months[0]) % 12 == SEASON_MONTHS - 1


Span = Annotated[
    tuple[int, int], Between(0, LONGEST), Rule(_far_first, "two whole numbers, the far one first, like (5, 2)")
]
Season = Annotated[tuple[int, int], Between(1, 12), Rule(_is_season, "the first and last of three months, like (6, 8)")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSettings(Value):
    """The readings of fuzzy words (R8). Pairs run from far to near: `few_days=(5, 2)` is five to two days ago."""

    recent_days: Annotated[int, Between(1, LONGEST), About("How many days back “recently” and “lately” go")] = 30
    few_days: Annotated[Span, About("“A few days ago”: from and to, in days")] = (5, 2)
    few_weeks: Annotated[Span, About("“A few weeks ago”: from and to, in days")] = (35, 14)
    few_months: Annotated[Span, About("“A few months ago”: from and to, in days")] = (90, 30)
    few_years: Annotated[Span, About("“A few years ago”: from and to, in years")] = (5, 2)
    summer_months: Annotated[Season, About("First and last month of summer; the other seasons follow")] = (6, 8)
    day_first: Annotated[bool, About("Whether 03/04/2025 is 3 April")] = True
    around_days: Annotated[int, Between(0, LONGEST), About("How many days “around” adds on both sides")] = 3

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> TimeSettings:
        """Settings from plain data, where a pair is any list of two; errors name the field."""
        if not isinstance(data, Mapping):
            raise InvalidInput(f"time settings must be a mapping of names to values, not {type(data).__name__}")
        return build(cls, data, noun="time setting")


DEFAULTS = TimeSettings()
