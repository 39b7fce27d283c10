"""Expressions that count from now: yesterday, three weeks ago, last month, recently."""

from __future__ import annotations

import re
from datetime import timedelta

from fivefold.text.time_grammar.periods import DAY, Calendar, Span, back, later
from fivefold.text.time_grammar.readings import Reading
from fivefold.text.time_grammar.words import DIGIT, lower, number, rule

WIDTHS = {"week": 7, "month": 30, "year": 365}
"""How many days "N weeks ago" covers, around that day (R8)."""
FEW = frozenset({"day", "week", "month", "year"})
UNITS = "hour hours day days week weeks month months year years"
SPANNING = frozenset({"in", "over", "within", "during"})
"""Only after these is "the last day" the day just gone, and not the end of something."""


@rule("yesterday", "(?:the )?(?P<before>day before )?yesterday")
def yesterday(match: re.Match[str], calendar: Calendar) -> Reading | None:
    return Reading(calendar.day(calendar.today - DAY * (2 if match["before"] else 1)), "day")


@rule("today tonight", r"(?P<near>(?<!USA\x20)today|tonight(?! show))")
def today(match: re.Match[str], calendar: Calendar) -> Reading | None:
    if lower(match["near"]) == "tonight":
        return Reading(calendar.day_part(calendar.today, "evening"), explicit=True)
    return Reading(calendar.day(calendar.today), "day")


@rule("morning afternoon evening night", "(?:this (?P<part>morning|afternoon|evening)|(?P<night>last night))")
def part_of_today(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """An evening still to come is allowed, because it names its day."""
    if match["night"]:
        return Reading(calendar.day_part(calendar.today - DAY, "night"))
    return Reading(calendar.day_part(calendar.today, lower(match["part"])), explicit=True)


@rule("earlier later", "(?P<when>earlier|later) (?:(?P<day>today)|this (?P<unit>week|month|quarter|year))")
def earlier(match: re.Match[str], calendar: Calendar) -> Reading | None:
    if lower(match["when"]) == "later":
        if match["day"]:
            return Reading(calendar.day(calendar.today), "day")
        return rest_of(calendar, lower(match["unit"])) if calendar.reach != "past" else None
    if match["day"]:
        return Reading(calendar.to_now(calendar.midnight(calendar.today)))
    return Reading(calendar.this(lower(match["unit"])))


def rest_of(calendar: Calendar, unit: str) -> Reading:
    """From today to the end of the running unit."""
    return Reading(Span(calendar.midnight(calendar.today), calendar.whole(unit).end), explicit=True)


@rule("ago", "{count} {unit} ago")
def ago(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """A day is that day; anything longer is one unit wide around that day, an hour around that time (R8)."""
    count, unit = number(match["count"]), lower(match["unit"])
    if unit == "hour":
        middle, half = calendar.ago(count, unit), timedelta(minutes=30)
        return Reading(Span(middle - half, middle + half))
    day = back(calendar.today, count, unit)
    if unit == "day":
        return Reading(calendar.day(day), "day")
    first = day - timedelta(days=WIDTHS[unit] // 2)
    frame = calendar.months(day.year, 1, 12) if unit == "year" else None
    return Reading(calendar.days(first, first + timedelta(days=WIDTHS[unit])), f"around a {unit}", frame=frame)


@rule("ago", "(?:a few|few|several) (?P<unit>day|week|month|year)s? ago")
def few_ago(match: re.Match[str], calendar: Calendar) -> Reading | None:
    unit = lower(match["unit"])
    far, near = getattr(calendar.settings, f"few_{unit}s")
    step = "year" if unit == "year" else "day"
    return Reading(Span(calendar.ago(far, step), calendar.ago(near, step)))


@rule(
    UNITS + " minute minutes " + DIGIT,
    "(?P<whose>my |your |his |her |our |their )?(?:the )?(?:last|past|previous) "
    "(?:(?P<few>few|several)|{count}) (?P<unit>minute|hour|day|week|month|quarter|year)s?(?! (?:of|at|before|after))",
)
def last_few(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """The last two weeks, rolling (R8). "My last two weeks at the bank" is something else."""
    unit = lower(match["unit"])
    if match["whose"] or (match["few"] and unit not in FEW):
        return None
    if not match["few"]:
        return Reading(Span(calendar.ago(number(match["count"]), unit), calendar.now))
    far: int = getattr(calendar.settings, f"few_{unit}s")[0]
    return Reading(Span(calendar.ago(far, "year" if unit == "year" else "day"), calendar.now))


@rule("hour day", "the (?:last|past) (?P<unit>hour|day)(?! (?:of|at|before|after))")
def just_gone(match: re.Match[str], calendar: Calendar) -> Reading | None:
    return Reading(Span(calendar.ago(1, lower(match["unit"])), calendar.now), accepts=SPANNING.__contains__)


@rule(
    "week month quarter year",
    "(?P<the>the )?(?P<which>last|this past|this|past|previous|current|next|every|each) "
    "(?P<unit>week|month|quarter|year)(?! of)",
)
def running(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """Last week is the seven days just gone; last month is the calendar one, "the last month" the rolling one (R8)."""
    which, unit = lower(match["which"]), lower(match["unit"])
    if which == "next" and calendar.reach != "past":
        return Reading(calendar.whole(unit, ahead=1), unit, explicit=True)
    if which in {"next", "every", "each"}:
        return None
    if which in {"this", "current"}:
        return Reading(calendar.this(unit), unit)
    if unit == "week" or "past" in which or (match["the"] and which == "last" and unit != "quarter"):
        return Reading(Span(calendar.ago(1, unit), calendar.now), unit if unit == "week" else "")
    return Reading(previous(calendar, unit, 1), unit)


@rule("last", "(?:the )?(?P<unit>week|month|quarter|year) before last")
def before_last(match: re.Match[str], calendar: Calendar) -> Reading | None:
    unit = lower(match["unit"])
    if unit == "week":
        return Reading(Span(calendar.ago(2, unit), calendar.ago(1, unit)), unit)
    return Reading(previous(calendar, unit, 2), unit)


def previous(calendar: Calendar, unit: str, count: int) -> Span:
    """The whole calendar month, quarter or year, `count` before the running one."""
    first = back(calendar.first(unit), count, unit)
    return calendar.days(first, later(first, {"month": 1, "quarter": 3, "year": 12}[unit]))


@rule("month quarter year", "the (?P<unit>month|quarter|year)")
def within(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """This year, where "the beginning of the year" is asked for; "the year" alone says nothing."""
    unit = lower(match["unit"])
    return Reading(calendar.this(unit), unit, accepts="part".__eq__)


@rule("recently lately", r"(?<!most\x20)(?<!more\x20)(?<!how\x20)(?:recently|lately)")
def recently(match: re.Match[str], calendar: Calendar) -> Reading | None:
    return Reading(Span(calendar.ago(calendar.settings.recent_days, "day"), calendar.now))


@rule(
    "since",
    "since (?:we last|(?:the )?last time we) (?:talked|spoke|met|chatted)(?! (?:to|with))"
    "|since we (?:talked|spoke|met|chatted) last|since (?:our|my) last (?:talk|chat|conversation|session|meeting)"
    r"|since last time(?=\s*(?:$|[?!.,;]))",
)
def since_last_talk(match: re.Match[str], calendar: Calendar) -> Reading | None:
    if calendar.last_talk is None or calendar.last_talk > calendar.now:
        return None
    return Reading(calendar.to_now(calendar.last_talk))
