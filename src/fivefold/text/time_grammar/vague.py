"""Vague times of the past: the other day, a while ago. Read only where the caller wants more than R8 names."""

from __future__ import annotations

import re

from fivefold.text.time_grammar.periods import Calendar, Span
from fivefold.text.time_grammar.readings import Reading
from fivefold.text.time_grammar.words import lower, rule

OTHER_DAYS = {"day": 10, "night": 10, "evening": 10, "morning": 10, "week": 30}
"""How many days back "the other day" and "the other week" go."""
WHILE_DAYS = (365, 21)
"""The far and the near end of "a while ago", in days."""


@rule("other", "the other (?P<unit>day|night|evening|morning|week)")
def other_day(match: re.Match[str], calendar: Calendar) -> Reading | None:
    if calendar.reach == "past":
        return None
    return Reading(Span(calendar.ago(OTHER_DAYS[lower(match["unit"])], "day"), calendar.now))


@rule("ago while", "(?:quite )?a while (?:ago|back)|some time ago|ages ago|(?:a )?long (?:time )?ago")
def while_ago(match: re.Match[str], calendar: Calendar) -> Reading | None:
    if calendar.reach == "past":
        return None
    far, near = (calendar.ago(days, "day") for days in WHILE_DAYS)
    return Reading(Span(far, near))
