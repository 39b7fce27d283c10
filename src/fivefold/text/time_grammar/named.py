"""Expressions that come round: months, weekdays, weekends, quarters, seasons; and the years and decades."""

from __future__ import annotations

import re

from fivefold.text.calendar_words import MONTH_WORDS, WEEKDAY_WORDS, month_number, weekday_number
from fivefold.text.time_grammar.disambiguate import (
    COUNTED,
    is_month,
    is_qualified_month,
    is_quarter,
    is_season,
    is_weekday,
    is_weekday_cue,
    is_year,
)
from fivefold.text.time_grammar.parts import part_of
from fivefold.text.time_grammar.periods import INSTANT, Calendar, Span
from fivefold.text.time_grammar.readings import MONTH, WEEK, Reading, monthly, recurring, weekly, yearly
from fivefold.text.time_grammar.words import DIGIT, compile_pattern, lower, ordinal, rule

_DECADES = {
    "twenties": 20,
    "thirties": 30,
    "forties": 40,
    "fifties": 50,
    "sixties": 60,
    "seventies": 70,
    "eighties": 80,
    "nineties": 90,
    "noughties": 0,
}
_OF = compile_pattern(" of | in {any month}")


@rule(MONTH_WORDS, "{which}{month}(?:,? (?:of )?{year})?")
def month(match: re.Match[str], calendar: Calendar) -> Reading | None:
    number, which, text = month_number(match["month"]), lower(match["which"]), match.string
    start, end = match.span("month")
    if match["year"]:
        return Reading(calendar.months(int(match["year"]), number), "month", explicit=True)
    if which and not is_qualified_month(text, start, end, which):
        return None
    latest = yearly(calendar, lambda year: calendar.months(year, number))
    return recurring(calendar, which, "month", latest, lambda cue: is_month(text, start, end, cue))


@rule(
    WEEKDAY_WORDS + " mon tue tues wed thu thur thurs fri sat sun",
    "{which}(?P<weekday>{any weekday}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)(?P<week>,? (?:of )?last week)?",
)
def weekday(match: re.Match[str], calendar: Calendar) -> Reading | None:
    number, which, text = weekday_number(match["weekday"]), lower(match["which"]), match.string
    start, end = match.span("weekday")
    latest = weekly(calendar, number)
    if match["week"]:
        return recurring(calendar, "last", "day", latest)
    if which and (_OF.match(text, end) or not is_weekday(text, start, end, "on")):
        return None
    return recurring(calendar, which, "day", latest, lambda cue: is_weekday(text, start, end, cue), period=WEEK)


@rule(
    "weekend",
    "(?:the )?(?P<last>weekend before last)"
    "|(?:the |(?=last|this|past|next|coming|every|each|most)){which}weekend"
    "(?! (?:of|trip|bag|house|home|job|away|getaway))",
)
def weekend(match: re.Match[str], calendar: Calendar) -> Reading | None:
    latest = weekly(calendar, 5, days=2)
    which = "before last" if match["last"] else lower(match["which"])
    if which == "next" and calendar.reach != "past":
        return Reading(latest(calendar.whole("week", ahead=1).end - INSTANT), "weekend", explicit=True)
    return recurring(calendar, which, "weekend", latest, period=WEEK)


@rule(
    "q quarter " + DIGIT,
    "(?:the )?{which}"
    "(?:q(?P<number>[1-4])|(?P<word>first|second|third|fourth|1st|2nd|3rd|4th) quarter(?! of (?![0-9])))"
    "(?:(?: of |,? |/){year})?|(?P<early>(?:19|20)[0-9]{2})[ -]?q(?P<after>[1-4])",
)
def quarter(match: re.Match[str], calendar: Calendar) -> Reading | None:
    number = int(match["number"] or match["after"] or 0) or ordinal(match["word"])
    if match["year"] or match["early"]:
        return Reading(_quarter(calendar, int(match["year"] or match["early"]), number), "quarter", explicit=True)
    latest = yearly(calendar, lambda year: _quarter(calendar, year, number))
    the = lower(match[0]).startswith("the ")
    return recurring(
        calendar, lower(match["which"]), "quarter", latest, lambda cue: is_quarter(f"{cue} the" if the else cue)
    )


def _quarter(calendar: Calendar, year: int, number: int) -> Span:
    return calendar.months(year, 3 * number - 2, 3)


@rule(
    "spring summer autumn fall winter",
    "(?:the )?(?P<season>spring|summer|autumn|fall|winter)(?: of |,? ){year}"
    "|(?:the )?(?P<earlier>spring|summer|autumn|fall|winter) before last"
    "|{which}(?P<name>spring|summer|autumn|fall|winter)",
)
def season(match: re.Match[str], calendar: Calendar) -> Reading | None:
    word, text, end = lower(match["season"] or match["earlier"] or match["name"]), match.string, match.end()
    name = "autumn" if word == "fall" else word
    if match["year"]:
        return Reading(calendar.season(int(match["year"]), name), "season", explicit=True)
    which = "before last" if match["earlier"] else lower(match["which"])
    if which and not is_season(text, end, word, "in"):
        return None
    latest = yearly(calendar, lambda year: calendar.season(year, name))
    return recurring(calendar, which, "season", latest, lambda cue: is_season(text, end, word, cue))


@rule(
    DIGIT,
    r"(?<![.,:/#$€£])(?:the year )?(?P<year>(?:1[89]|20)[0-9]{2})(?![0-9]|[./:,][0-9]|-[0-9]{1,2}(?![0-9]))" + COUNTED,
)
def year(match: re.Match[str], calendar: Calendar) -> Reading | None:
    span = calendar.months(int(match["year"]), 1, 12)
    accepts = None if lower(match[0]).startswith("the") else is_year
    return Reading(span, "year", accepts=accepts, explicit=True)


@rule(
    DIGIT + " " + " ".join(_DECADES),
    r"the (?:(?P<part>early|mid|late)(?: |-))?"
    rf"(?:(?P<full>(?:1[0-9]|20)[0-9]0)['’]?s|['’]?(?P<short>[0-9]0)['’]?s|(?P<word>{'|'.join(_DECADES)}))",
)
def decade(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """The decade by its number or its name: "the nineties" are the last ones begun, "his nineties" an age."""
    if match["full"]:
        first = int(match["full"])
    else:
        short = int(match["short"]) if match["short"] else _DECADES[lower(match["word"])]
        first = calendar.today.year - (calendar.today.year - short) % 100
    span = calendar.months(first, 1, 120)
    return Reading(part_of(calendar, span, "decade", lower(match["part"])) if match["part"] else span, "decade")


@rule("the", r"the (?P<day>[0-9]{1,2})(?:st|nd|rd|th)(?=\s?(?:$|[?!.,;]))")
def day_of_month(match: re.Match[str], calendar: Calendar) -> Reading | None:
    """The last one begun: "on the 15th"."""
    return recurring(calendar, "", "day", monthly(calendar, int(match["day"])), is_weekday_cue, period=MONTH)
