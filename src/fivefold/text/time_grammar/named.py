"""The table of expressions, second part: what has a name or a number in the calendar: June, Christmas, 3 to 7 May."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import replace
from datetime import date

from fivefold.text.calendar_words import MONTH_WORDS, WEEKDAY_WORDS, month_number, weekday_number
from fivefold.text.time_grammar.periods import DAY, MONTH, THIRDS, Calendar, Reading, Span, later
from fivefold.text.time_grammar.questions import Question, asked
from fivefold.text.time_grammar.relative import both
from fivefold.text.time_grammar.stored import DatedText, told
from fivefold.text.time_grammar.words import (
    COUNTED,
    HABITS,
    ORDINAL_WORDS,
    day_number,
    describes_a_thing,
    is_dated_month,
    is_day_of_month,
    is_days_off,
    is_holiday,
    is_month,
    is_qualified_month,
    is_quarter,
    is_season,
    is_the_fast,
    is_weekday_cue,
    is_year,
    lower,
    ordinal,
)


@asked(MONTH_WORDS, "{which}{month}(?:,? (?:of )?{year})?")
def month(match: re.Match[str], at: Question | DatedText) -> Reading | None:
    """A month with its year, or the one that "this", "last" or the tense means."""
    number, which, text = month_number(match["month"]), lower(match["which"]), match.string
    start, end = match.span("month")
    if match["year"]:
        return Reading(at.months(int(match["year"]), number), "month", explicit=True)
    if which and not is_qualified_month(text, start, end, which):
        return None

    def make(year: int) -> Span:
        return at.months(year, number)

    return at.yearly(match, which, "month", make, lambda cue: is_month(text, start, end, cue))


_HOLDS = r"(?: (?:hold|bring|have in store|look(?: like)?)(?!\w)| (?:looking|holding|bringing)(?!\w))"


@asked(MONTH_WORDS, "(?:does|do|will|did|is) {month}(?=" + _HOLDS + ")")
def month_as_subject(match: re.Match[str], question: Question) -> Reading | None:
    """ "What June holds" asks for the events in it, as a month to come unless it "did"."""
    number, did = month_number(match["month"]), lower(match[0]).startswith("did")
    if question.reach == "past" or match["month"] == "may":
        return None
    reach = "this" if did else "next"
    now = question.months(question.today.year, number)
    if not did and now.start <= question.now < now.end:
        return Reading(now, "month", explicit=True)
    return question.yearly(match, reach, "month", lambda year: question.months(year, number))


_MONTH_PART = (
    "(?:(?:the )?(?P<part>beginning|start|middle|end|early|mid|late|(?:first|last) (?:week|weekend|day|half))"
    "(?: of| in)?[ -])?"
)
_PLAIN_MONTHS = frozenset("january february july september october november december".split())
"""Months whose names mean nothing else; with a capital they need no word before them."""
_MONTH_CUE = re.compile(r"([^\W\d_]+)[ -]+$")
_COUNT_BEFORE = re.compile(r"\d\s$")
_TO = re.compile(r"\s(?:to|until|till|through|on)\b|\s?[-–]")


@told(MONTH_WORDS, _MONTH_PART + "{which}{month}(?:,? (?:of )?{year})?(?! ?[0-9])")
def month_or_part(match: re.Match[str], saying: DatedText) -> Reading | Span | None:
    """Early March 2024; without its year a month needs a word before it, or a capital if it means nothing else."""
    which, text = lower(match["which"]), match.string
    start, end = match.span("month")
    if which in HABITS or _COUNT_BEFORE.search(text, max(0, match.start() - 3), match.start()):
        return None
    if not match["year"] and not which:
        before = _MONTH_CUE.search(text, max(0, start - 14), start)
        cue = "part" if match["part"] else lower(before[1]) if before else ""
        if cue in ("for", "till") or (cue == "from" and _TO.match(text, end)):
            cue = "in"
        plain = not match["part"] and match["month"][0].isupper() and lower(match["month"]) in _PLAIN_MONTHS
        if not plain and not is_month(text, start, end, cue):
            return None
    found = month(match, saying)
    part = lower(match["part"]).replace("weekend", "saturday")
    return saying.part(found.span, "month", part) if found and part else found


@both(
    "q quarter",
    "(?:the )?{which}"
    "(?:q(?P<number>[1-4])|(?P<word>first|second|third|fourth|1st|2nd|3rd|4th) quarter(?! of (?![0-9])))"
    "(?:(?: of |,? |/){year})?|(?P<early>(?:19|20)[0-9]{2})[ -]?q(?P<after>[1-4])",
)
def quarter(match: re.Match[str], at: Question | DatedText) -> Reading | None:
    """A quarter; without its year "the 4th quarter" of a stored text may be that of a game."""
    number = int(match["number"] or match["after"] or 0) or ordinal(match["word"])
    if match["year"] or match["early"]:
        return Reading(at.quarter(int(match["year"] or match["early"]), number), "quarter", explicit=True)
    if match["word"] and isinstance(at, DatedText):
        return None
    the = " the" * lower(match[0]).startswith("the ")

    def make(year: int) -> Span:
        return at.quarter(year, number)

    return at.yearly(match, lower(match["which"]), "quarter", make, lambda cue: is_quarter(cue + the))


@asked(
    "spring summer autumn fall winter",
    "(?:the )?{season}(?: of |,? ){year}|(?:the )?(?P<earlier>spring|summer|autumn|fall|winter) before last"
    "|{which}(?P<name>spring|summer|autumn|fall|winter)",
)
def season(match: re.Match[str], question: Question) -> Reading | None:
    word, text, end = lower(match["season"] or match["earlier"] or match["name"]), match.string, match.end()
    if match["year"]:
        return Reading(question.season(int(match["year"]), word), "season", explicit=True)
    which = "before last" if match["earlier"] else lower(match["which"])
    if which and not is_season(text, end, word, "in"):
        return None

    def make(year: int) -> Span:
        return question.season(year, word)

    return question.yearly(match, which, "season", make, lambda cue: is_season(text, end, word, cue))


@told("spring summer autumn fall winter", "{part of}{which}(?:the )?{season}(?:(?: of)? {year})?")
def season_or_part(match: re.Match[str], saying: DatedText) -> Reading | Span | None:
    word, which, found = lower(match["season"]), lower(match["which"]), None
    part = lower(match["part"]).removeprefix("very ")
    if match["year"]:
        found = Reading(saying.season(int(match["year"]), word), "season")
    elif which not in HABITS:
        before = re.search(r"(\w+)( the)? ?$", match.string[max(0, match.start() - 14) : match.start("season")])
        cue = "in" if which or part else lower(before[0]) if before else ""
        if is_season(match.string, match.end(), word, cue):
            found = saying.yearly(match, which, "season", lambda year: saying.season(year, word))
    return saying.part(found.span, "season", part) if found and part in THIRDS else found


_HOLIDAY_WORDS = (
    "christmas xmas year years friday easter halloween valentine valentines thanksgiving boxing palm whitsun pentecost"
    " bonfire advent lent ash shrove holy ascension turn epiphany may midsummer saints nicholas patrick patricks"
)


@asked(
    "weekend holidays break vacation",
    "{which}(?:(?P<easter>easter) (?:weekend|holidays|break)"
    "|(?P<christmas>(?:christmas|xmas|festive) (?:holidays|break))"
    "|(?P<summer>summer) (?:holidays|break|vacation)|holidays)(?! (?:in|to)(?! {any month})(?!\\w))",
)
def days_off(match: re.Match[str], question: Question) -> Reading | None:
    """Easter weekend has the width of Easter; "over the holidays" means those of Christmas."""
    if question.reach == "past":
        return None
    name = "easter" if match["easter"] else "summer holidays" if match["summer"] else "holidays"
    accepts = None if name != "holidays" or match["christmas"] else is_days_off
    return question.yearly(match, lower(match["which"]), "days off", lambda year: question.holiday(year, name), accepts)


@asked(
    "term year semester",
    "(?:the )?{which}(?P<term>(?:autumn|fall|winter|spring|summer) (?:term|semester)|(?:school|academic) year)",
)
def school(match: re.Match[str], question: Question) -> Reading | None:
    """A term or a school year, the one that runs or ran last."""
    if question.reach == "past":
        return None
    word = (
        re.sub("fall|winter", "autumn", lower(match["term"])).replace("semester", "term").replace("academic", "school")
    )
    return question.yearly(match, lower(match["which"]), "term", lambda year: question.holiday(year, word))


@asked(_HOLIDAY_WORDS, "{which}{holiday}(?: (?:days|period|time|season))?(?:,? (?:of )?{year})?")
@told(_HOLIDAY_WORDS, "(?P<greeting>happy |merry )?{which}{holiday}(?:,? (?:of )?{year})?")
def holiday(match: re.Match[str], at: Question | DatedText) -> Reading | None:
    """A holiday, unless a stored text greets with it or only describes a thing: "a Christmas card"."""
    which, name = lower(match["which"]), _holiday_name(match["holiday"])
    if name == "lent" and not is_the_fast(match):
        return None
    if isinstance(at, DatedText):
        small = name in ("new year", "valentine") and not match["holiday"][0].isupper()
        if small or match["greeting"] or which in HABITS or describes_a_thing(match):
            return None
        if not match["year"] and not which and at.is_habit(*match.span()):
            return None
    if match["year"]:
        return Reading(at.holiday(int(match["year"]), name), "holiday", explicit=True)
    return at.yearly(match, which, "holiday", lambda year: at.holiday(year, name), is_holiday)


def _holiday_name(word: str) -> str:
    name = re.sub(r"(?<=year|tine|rick)['’]?s|(?<=saints)['’]", "", lower(word)).replace("st. ", "st ")
    return name.removesuffix(" day") if name.startswith(("st ", "all ", "ascension")) else name


@told("year", "(?:in|into|early in|until|till|after) the new year")
def new_year(match: re.Match[str], saying: DatedText) -> Span:
    """January, the one that is nearer by the tense."""
    januaries = [date(saying.today.year + step, 1, 1) for step in (0, 1)]
    return saying.months(saying.choose(januaries, saying.tense(*match.span())).year, 1)


@asked(
    "#",
    r"(?<![.,:/#$€£])(?:the year )?(?P<year>(?:1[89]|20)[0-9]{2})(?![0-9]|[./:,][0-9]|-[0-9]{1,2}(?![0-9]))" + COUNTED,
)
def year(match: re.Match[str], question: Question) -> Reading:
    accepts = None if lower(match[0]).startswith("the") else is_year
    return Reading(question.months(int(match["year"]), 1, 12), "year", accepts=accepts, explicit=True)


@told(
    "####",
    r"(?P<cue>in|since|until|till|by|during|from|around|of|before|after|back in|early|mid|late|end of|year"
    r"|class of)[ -](?P<year>(?:19|20)\d{2})(?:(?: ?[-–] ?| (?:to|until|till|through) )(?P<last>(?:19|20)\d{2}|\d{2}))?"
    r"(?!\d|[./:,]\d|-\d)" + COUNTED,
)
def year_after_cue(match: re.Match[str], saying: DatedText) -> Span | None:
    """A year after a word that leads to a time, or the years to another one."""
    first, last = int(match["year"]), match["last"] or match["year"]
    years = int(last if len(last) == 4 else f"{first // 100}{last}") - first + 1
    span = saying.months(first, 1, 12 * years)
    cue = lower(match["cue"]).removesuffix(" of")
    return saying.part(span, "year", cue) if cue in THIRDS and years > 0 else span


_DECADES = {"noughties": 0, "twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60} | {
    "seventies": 70,
    "eighties": 80,
    "nineties": 90,
}


@asked(
    "# " + " ".join(_DECADES),
    r"the (?:(?P<part>early|mid|late)(?: |-))?"
    rf"(?:(?P<full>(?:1[0-9]|20)[0-9]0)['’]?s|['’]?(?P<short>[0-9]0)['’]?s|(?P<word>{'|'.join(_DECADES)}))",
)
def decade(match: re.Match[str], question: Question) -> Reading:
    """The decade by its number or its name: "the nineties" are the last ones begun, "his nineties" an age."""
    if match["full"]:
        first = int(match["full"])
    else:
        short = int(match["short"]) if match["short"] else _DECADES[lower(match["word"])]
        first = question.today.year - (question.today.year - short) % 100
    span = question.months(first, 1, 120)
    return Reading(question.part(span, "decade", lower(match["part"])) if match["part"] else span, "decade")


_SIGNS = "#-# #/# #.#"
_RANGE = "(?:{to}(?:the )?{last day})?"
_DATE_CUE = re.compile(
    r"(?:\b(?:on|by|until|till|since|before|after|from|due|date|deadline):?|day,?)\s+$", re.IGNORECASE
)


@both(
    _SIGNS,
    r"(?<![./:-])(?P<year>[12][0-9]{3})(?P<sign>[-/.])(?P<month>[0-9]{1,2})(?P=sign)(?P<day>[0-9]{1,2})"
    r"(?:t[0-9:.]{2,15}(?:z|[+-][0-9:]{2,6})?)?(?![0-9/-])",
)
def iso(match: re.Match[str], at: Question | DatedText) -> Reading:
    return _exactly(at, date(int(match["year"]), int(match["month"]), int(match["day"])))


def _exactly(at: Calendar, day: date) -> Reading:
    return Reading(at.day(day), "day", explicit=True)


_NUMERIC = r"(?<![./:-])(?P<first>\d{1,2})(?P<sign>[-/.])(?P<second>\d{1,2})(?P=sign)"


@asked(_SIGNS, _NUMERIC + r"(?P<year>[12][0-9]{3})(?![0-9/-])")
@asked(_SIGNS, _NUMERIC + r"(?P<year>(?<!-)[0-9]{2})(?![./-]?[0-9])")
@told(_SIGNS, _NUMERIC + r"(?P<year>(?:19|20)\d{2}|\d{2}(?![.\d]))(?!\d)")
def numeric(match: re.Match[str], at: Question | DatedText) -> Reading | None:
    """Day first unless the settings say otherwise or it cannot be (R8). With two digits of a year, dots between
    single digits are a version more often than a date."""
    day, month, year = int(match["first"]), int(match["second"]), match["year"]
    if month > 12 or (not at.settings.day_first and day <= 12):
        day, month = month, day
    doubtful = len(year) == 2 and match["sign"] == "." and len(match["first"] + match["second"]) < 4
    if isinstance(at, Question):
        found = _exactly(at, _latest(at.today, year, month, day))
        return replace(found, accepts=is_weekday_cue) if doubtful else found
    if doubtful or (len(year) == 2 and match["sign"] == "-"):
        return None
    return _exactly(at, date(int(year) if len(year) == 4 else 2000 + int(year), month, day))


def _latest(today: date, year: str, month: int, day: int) -> date:
    """The day in a year of four digits, or the latest one that has come in a year of two."""
    if len(year) == 4:
        return date(int(year), month, day)
    century = today.year - (today.year - int(year)) % 100
    latest = date(century, month, day)
    return latest if latest <= today else date(century - 100, month, day)


@told("#/#", r"(?<![\d./:-])(?P<first>\d{1,2})/(?P<second>\d{1,2})(?![\d/])")
def short_numeric(match: re.Match[str], saying: DatedText) -> Span | None:
    """Only after a word that leads to a date, and only if one order makes a month: 25/12 does, 3/5 does not."""
    first, second = int(match["first"]), int(match["second"])
    if (first <= 12) == (second <= 12) or not _DATE_CUE.search(match.string, max(0, match.start() - 14), match.start()):
        return None
    return saying.day(saying.day_of_year(match, min(first, second), max(first, second)))


@told("#/#", r"(?<![\d./:-])(?P<month>0?[1-9]|1[0-2])/(?P<year>20\d{2})(?![\d/])")
def month_and_year(match: re.Match[str], saying: DatedText) -> Span:
    return saying.months(int(match["year"]), int(match["month"]))


@told("#.#", r"(?<![\d.])(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?!\d)")
def dotted(match: re.Match[str], saying: DatedText) -> Span:
    """14.3. is day and month wherever it is written so."""
    return saying.day(saying.day_of_year(match, int(match["month"]), int(match["day"])))


@asked(MONTH_WORDS, "(?:{any weekday},? )?(?:the )?{day}" + _RANGE + "(?: of)? {month}(?:,? (?:of )?{year})?")
@told(ORDINAL_WORDS, "(?:{any weekday},? )?(?:the )?{day word}(?P<last>)? of {month}(?:,? {year})?")
@told(
    f"{MONTH_WORDS} + #",
    "(?:{any weekday},? )?(?:the )?{day}\\.?" + _RANGE + "(?: of)? {month}(?:,? (?:of )?{year})?(?! 0)",
)
@both(
    f"{MONTH_WORDS} + #",
    "(?:{any weekday},? )?{month} (?:the )?{day}(?!:[0-9])(?:{to}(?:the )?{last day}(?! (?:of )?{any month}))?"
    "(?:,? {year})?" + COUNTED,
)
def worded(match: re.Match[str], at: Question | DatedText) -> Reading | Span | None:
    """15 March, May 3rd or the fourth of July, with or without a year, and 3 to 8 August."""
    if not is_dated_month(match):
        return None
    month, first = month_number(match["month"]), day_number(match["day"])
    last = int(match["last"] or first)

    def days(year: int) -> Span:
        return at.days(date(year, month, first), date(year, month, last) + DAY)

    unit = "day" if first == last else ""
    if match["year"]:
        return Reading(days(int(match["year"])), unit, explicit=True)
    if isinstance(at, Question):
        return at.yearly(match, "", unit, days)
    return days(at.day_of_year(match, month, first).year)


@asked(MONTH_WORDS, "{day}(?:(?: of)? |-){month}(?:,? ['’]|-)(?P<short>(?<=-)[0-9]{4}|[0-9]{2})(?![0-9])")
@asked(MONTH_WORDS, "{month} {day},? ['’](?P<short>[0-9]{2})(?![0-9])")
def worded_short(match: re.Match[str], question: Question) -> Reading:
    """15 March '24, 15-Mar-24, 15-Mar-2024, March 15, '24."""
    month, day = month_number(match["month"]), int(match["day"])
    return _exactly(question, _latest(question.today, match["short"], month, day))


@asked(
    "the",
    r"the (?P<day>[0-9]{1,2})(?:st|nd|rd|th)"
    r"(?=\s?(?:$|[?!.,;])|(?P<joined> (?:and|to|until|till) the [0-9]{1,2}(?:st|nd|rd|th)\b))",
)
def latest_day_of_month(match: re.Match[str], question: Question) -> Reading | None:
    """The last one begun: "on the 15th"."""
    if match["joined"] and question.reach == "past":
        return None
    return question.recurring("", "day", question.monthly(int(match["day"])), is_weekday_cue, MONTH)


_NEAR_ENOUGH = 45 * DAY
"""Maximum distance of a weekday with a bare number."""
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)"
_WEEKDAY = "(?P<weekday>{short weekday}),? "


@told("st nd rd th", rf"(?:{_WEEKDAY})?the {_ORDINAL}(?:{{to}}(?:the )?(?P<last>\d{{1,2}})(?:st|nd|rd|th))?")
@told("st nd rd th", rf"{_WEEKDAY}{_ORDINAL}(?P<last>)?")
@told(
    f"{WEEKDAY_WORDS} mon tue tues wed weds thu thur thurs fri sat sun",
    rf"{_WEEKDAY}(?P<day>[1-9]|[12]\d|3[01])(?P<last>)"
    r"(?! ?(?:[-–:.,/]?\d|[-–:/]|am|pm|h|o['’]clock|to|till|until)(?![a-z])|[-–:/%]| (?:of )?{any month})" + COUNTED,
)
@told(ORDINAL_WORDS, rf"(?:{_WEEKDAY}|(?<=on\x20)|(?<=by\x20)|(?<=until\x20)|(?<=from\x20))the {{day word}}(?P<last>)?")
def day_of_month(match: re.Match[str], saying: DatedText) -> Span | None:
    """The 14th of this month or one next to it, as the tense says; "the 3rd floor" and "the 2nd time" are not days."""
    number, weekday = day_number(match["day"]), match["weekday"]
    if not weekday and not is_day_of_month(match):
        return None
    months = [later(saying.today.replace(day=1), step) for step in range(-6, 7)]
    days = [month.replace(day=number) for month in months if 1 <= number <= monthrange(month.year, month.month)[1]]
    if weekday:
        days = [day for day in days if day.weekday() == weekday_number(weekday)]
        if match[0][-1].isdecimal():  # "Monday 12", and not a number of something else
            days = [day for day in days if abs(day - saying.today) < _NEAR_ENOUGH]
            if not days:
                return saying.day(
                    saying.weekday(weekday_number(weekday), saying.tense(*match.span()) or saying.story())
                )
    first = saying.choose(days, saying.tense(*match.span()) or ("future" if weekday else ""))
    return saying.days(first, first.replace(day=int(match["last"] or number)) + DAY)
