"""A handful of holidays. Easter and Thanksgiving move, the others are fixed."""

from __future__ import annotations

import re
from datetime import date, timedelta

from fivefold.text.time_grammar.disambiguate import is_holiday
from fivefold.text.time_grammar.periods import DAY, Calendar, Span, easter
from fivefold.text.time_grammar.readings import Reading, recurring, yearly
from fivefold.text.time_grammar.words import lower, rule

FIXED = {
    "christmas eve": (12, 24, 1),
    "christmas day": (12, 25, 1),
    "christmas": (12, 24, 4),
    "xmas": (12, 24, 4),
    "new year eve": (12, 31, 1),
    "new year day": (1, 1, 1),
    "new year": (12, 31, 2),
    "halloween": (10, 31, 1),
    "valentine": (2, 14, 1),
    "valentine day": (2, 14, 1),
}
"""First month, day and length in days (R8): Christmas is 24 to 27 December, New Year its eve and its day."""
MOVING = {"good friday": (-2, 1), "easter sunday": (0, 1), "easter monday": (1, 1), "easter": (-2, 4)}
"""Days from Easter Sunday, and length; Easter is Good Friday to Easter Monday."""
HOLIDAY = (
    "christmas (?:eve|day)|christmas|xmas|new year(?:['’]?s)? (?:eve|day)|new year(?:['’]s|s)?|good friday"
    "|easter (?:sunday|monday)|easter|halloween|valentine(?:['’]?s)?(?: day)?|thanksgiving"
)


@rule(
    "christmas xmas year years friday easter halloween valentine valentines thanksgiving",
    rf"{{which}}(?P<name>{HOLIDAY})(?:,? (?:of )?{{year}})?",
)
def holiday(match: re.Match[str], calendar: Calendar) -> Reading | None:
    name = holiday_name(match["name"])
    if match["year"]:
        return Reading(holiday_span(calendar, name, int(match["year"])), "holiday", explicit=True)
    latest = yearly(calendar, lambda year: holiday_span(calendar, name, year))
    return recurring(calendar, lower(match["which"]), "holiday", latest, is_holiday)


def holiday_name(text: str) -> str:
    """The name under which the tables have a holiday: "New Year's Eve" is "new year eve"."""
    return re.sub(r"(?<=year|tine)['’]?s", "", lower(text))


def holiday_span(calendar: Calendar, name: str, year: int) -> Span:
    """The days of a holiday of this table in one year."""
    if name == "thanksgiving":
        first, length = _thanksgiving(year), 1
    elif name in MOVING:
        offset, length = MOVING[name]
        first = easter(year) + offset * DAY
    else:
        month, day, length = FIXED[name]
        first = date(year, month, day)
    return calendar.days(first, first + timedelta(days=length))


def _thanksgiving(year: int) -> date:
    """The fourth Thursday of November."""
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)
