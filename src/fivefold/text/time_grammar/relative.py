"""The table of expressions, first part: what counts from now, from yesterday to the weekend after next.

Each stands once, with the way a question writes it, the way a stored text does, and what it means to them. A question
looks back and takes fuzzy words as wide as the settings say; a stored text speaks of whole days, and the tense of its
clause says which of them are meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from fivefold.text.calendar_words import WEEKDAY_WORDS, weekday_number
from fivefold.text.time_grammar.periods import DAY, DAY_PARTS, INSTANT, UNIT_DAYS, WEEK, Calendar, Reading, Span, back
from fivefold.text.time_grammar.questions import SOON, Question, asked
from fivefold.text.time_grammar.stored import DatedText, told
from fivefold.text.time_grammar.words import (
    HABITS,
    Read,
    compile_pattern,
    is_day_of_its_own,
    is_weekday,
    lower,
    number,
    word_before,
)

UNITS = "day days week weeks month months year years"
_LAST = frozenset({"last", "past", "this past", "previous"})
_NEXT = frozenset({"next", "coming", "this coming"})


def both(triggers: str, pattern: str) -> Callable[[Read], Read]:
    """Register a reader for questions and stored texts, which write this expression alike."""
    return lambda read: asked(triggers, pattern)(told(triggers, pattern)(read))


_NEAR = {"yesterday": -1, "last night": -1, "tomorrow": 1, "tmrw": 1, "tmr": 1}


@both(
    "yesterday today tonight tomorrow tmrw tmr morning afternoon evening night overnight",
    r"(?P<near>(?:(?:the )?day before )?yesterday|(?:(?:the )?day after )?(?:tomorrow|tmrw?)|(?<!usa\x20)today"
    r"|last night|overnight(?= ?(?:$|[?!.,;]))|(?:the )?night before last"
    r"|tonight(?! show)|this (?:morning|afternoon|evening)|later today|earlier today)",
)
def near(match: re.Match[str], at: Question | DatedText) -> Reading | Span | None:
    """An evening still to come is allowed in a question, because it names its day."""
    word = lower(match["near"]).removeprefix("the ")
    day = at.today + DAY * (-2 if "before" in word else 2 if "after " in word else _NEAR.get(word, 0))
    if isinstance(at, DatedText):
        return at.day(day)
    if word == "overnight":
        return None if at.reach == "past" else Reading(at.day_part(at.today - DAY, "night"), "part of a day")
    if word == "night before last":
        return None if at.reach == "past" else Reading(at.day_part(at.today - 2 * DAY, "night"), "part of a day")
    if word == "earlier today":
        return at.to_now(at.midnight(day))
    part = "evening" if word == "tonight" else word.rpartition(" ")[2]
    if part in DAY_PARTS:
        return Reading(at.day_part(day, part), "part of a day", explicit=word != "last night")
    return None if day > at.today and at.reach == "past" else Reading(at.day(day), "day", explicit=day > at.today)


@both("other", "(?:just )?the other (?P<unit>day|night|evening|morning|week)")
def other_day(match: re.Match[str], at: Question | DatedText) -> Span | None:
    """A week back, or three for "the other week"; a question looks further."""
    week = lower(match["unit"]) == "week"
    if isinstance(at, DatedText):
        days = 21 if week else 7
        return at.days(at.today - days * DAY, days)
    return None if at.reach == "past" else Span(at.ago(30 if week else 10, "day"), at.now)


_SO_MANY = "(?:(?P<half_a>half a)|(?![0-9]{4}){count})"
_AWAY = _SO_MANY + " (?P<unit>day|night|week|fortnight|month|year)s?(?P<and_half> and a half)?"
_LASTING = re.compile(
    r"\b(?:once|twice|times|only|just|done|finish\w*|complet\w*|back|first time|much)\s+$|\bfor (?:the )?\S+ \S+\s+$",
    re.I,
)
"""Before these "in ten days" says how long something took."""


_AGO = r"(?:ago|back(?= ?(?:$|[.,;!?])))"


@asked("ago", "(?P<exactly>exactly |precisely )?{count} {unit} ago(?P<today> today| to the day)?")
@asked("fortnight", "(?P<exactly>exactly )?(?:a |one )?(?P<unit>fortnight) ago(?P<today> today)?")
def ago(match: re.Match[str], question: Question) -> Reading:
    """A day is that day; anything longer is one unit wide around that day, an hour around that time (R8).

    "A week ago today" is that day.
    """
    unit, count = lower(match["unit"]), number(match.groupdict().get("count") or "a")
    if unit == "hour":
        middle, half = question.ago(count, unit), timedelta(minutes=30)
        return Reading(Span(middle - half, middle + half))
    if unit == "fortnight":
        unit, count = "week", 2
    day = back(question.today, count, unit)
    if unit == "day" or ((match["exactly"] or match["today"]) and question.reach != "past"):
        return Reading(question.day(day), "day")
    frame = question.months(day.year, 1, 12) if unit == "year" else None
    return Reading(question.unit_around(day, unit), f"around a {unit}", frame=frame)


@asked("ago back", rf"{{count}} {{unit}} {_AGO}(?P<exactly>)(?P<today>)")
def some_back(match: re.Match[str], question: Question) -> Reading | None:
    """Three weeks back is three weeks ago."""
    return None if question.reach == "past" else ago(match, question)


@asked("ago back", rf"{{count}} nights? {_AGO}")
def nights_ago(match: re.Match[str], question: Question) -> Reading | None:
    if question.reach == "past":
        return None
    day = question.today - number(match["count"]) * DAY
    return Reading(question.day_part(day, "night"), "part of a day")


@asked(
    "ago back",
    r"{count}(?: (?P<unit>day|week|month|year)s?)? or (?P<most>so|two|three|four|five|six|[0-9]{1,2})"
    rf"(?: (?P<units>day|week|month|year)s?)? {_AGO}",
)
def some_ago(match: re.Match[str], question: Question) -> Reading | None:
    """A week or two ago: from half a unit beyond the far one to half a unit short of the near one."""
    unit = lower(match["unit"] or match["units"])
    if question.reach == "past" or not unit:
        return None
    near = number(match["count"])
    far = near if lower(match["most"]) == "so" else number(match["most"])
    first, last = (question.unit_around(back(question.today, step, unit), unit) for step in (far, near))
    return Reading(Span(first.start, min(last.end, question.now)))


@asked("half", "half an? (?P<unit>hour|year) ago|(?:the |this )?(?:last|past) half(?: an| a)?[ -](?P<last>hour|year)")
def half_ago(match: re.Match[str], question: Question) -> Span | None:
    """Half an hour ago is a quarter of an hour around that time, half a year ago a month around that day."""
    if question.reach == "past":
        return None
    hour = lower(match["unit"] or match["last"]) == "hour"
    middle = question.now - timedelta(minutes=30) if hour else question.ago(6, "month")
    if match["last"]:
        return Span(middle, question.now)
    quarter = timedelta(minutes=15)
    around = Span(middle - quarter, middle + quarter)
    return around if hour else question.unit_around(question.day_of(middle), "month")


@asked(
    "this day date same",
    "(?P<this>(?:around |about )?this time|this (?:very )?day|the same (?:day|date|week|time)) "
    "last (?P<unit>week|month|year)",
)
def this_time(match: re.Match[str], question: Question) -> Reading | None:
    """This time last year is a week on either side of the day; the day itself is one of this week."""
    if question.reach == "past":
        return None
    unit = lower(match["unit"])
    day = back(question.today, 1, unit)
    if lower(match["this"]).endswith("week") and unit != "week":
        monday = day - day.weekday() * DAY
        return Reading(question.days(monday, 7))
    if unit == "week" or "time" not in lower(match["this"]):
        return Reading(question.day(day), "day")
    days = 7 if unit == "year" else 3
    return Reading(question.days(day - days * DAY, 2 * days + 1))


@asked("last", "(?:the )?(?P<weekday>{any weekday}) before last(?P<count>)(?P<weekend>)")
@asked("last", "(?P<count>a|two|three) weeks? (?:last|past) (?P<weekday>{any weekday})(?P<weekend>)")
@asked("ago", "{count} (?:(?P<weekday>{any weekday})|(?P<weekend>weekend))s? ago")
def weekdays_ago(match: re.Match[str], question: Question) -> Reading | None:
    """Two Fridays ago is the one before last Friday, and so are the Friday before last and a week last Friday."""
    if question.reach == "past":
        return None
    begin, days = (5, 2) if match["weekend"] else (weekday_number(match["weekday"]), 1)
    last = question.weekly(begin, days)(question.now)
    if last.end > question.now:
        last = question.weekly(begin, days)(last.start - INSTANT)
    weeks = number(match["count"] or "a") - match[0].endswith("ago")
    first = question.day_of(last.start) - WEEK * weeks
    return Reading(question.days(first, days), "weekend" if match["weekend"] else "day")


@asked(
    f"{UNITS} fortnight",
    "(?:in )?{count} (?P<unit>day|week|fortnight|month)(?:['’]?s?['’]?)(?P<now> from (?:now|today)| time)?"
    "(?! ago| before| after)",
)
def in_some(match: re.Match[str], question: Question) -> Reading | None:
    """In three weeks: a day is that day, anything longer is one unit wide around it."""
    ahead = question.reach == "ahead" and lower(match[0]).startswith("in ")
    if not ahead and not (match["now"] and question.reach != "past"):
        return None
    unit, count = lower(match["unit"]), number(match["count"])
    if unit == "fortnight":
        unit, count = "week", 2 * count
    day = back(question.today, -count, unit)
    if match["now"] and lower(match["now"]) == "from today":
        return Reading(question.day(day), "day", explicit=True)
    return Reading(question.unit_around(day, unit), "day" if unit == "day" else "", explicit=True)


@told(
    f"ago back now today + {UNITS} night nights fortnight fortnights",
    rf"{_AWAY} (?:ago|back(?= ?(?:$|[.,;!?)]))|(?P<ahead>from (?:now|today)))",
)
@told(
    f"{UNITS} night nights fortnight fortnights",
    rf"(?P<ahead>in ){_AWAY}(?:['’]s?)?(?P<time> time)?(?! (?:ago|of|or so of)\b)",
)
def away(match: re.Match[str], saying: DatedText) -> Span | None:
    """A story of the past that took ten days names no day."""
    if lower(match["ahead"]) == "in":
        if _LASTING.search(match.string, max(0, match.start() - 30), match.start()):
            return None
        if not match["time"] and saying.tense(*match.span()) == "past":
            return None
    count = (0.5 if match["half_a"] else number(match["count"])) + 0.5 * bool(match["and_half"])
    return saying.units_away(count if match["ahead"] else -count, lower(match["unit"]))


@both(
    "week weeks fortnight fortnights",
    _SO_MANY + " (?P<unit>week|fortnight)s? (?:(?:on|from|to) (?P<weekday>{any weekday})|(?P<near>today|tomorrow))",
)
def week_on(match: re.Match[str], at: Question | DatedText) -> Reading | None:
    """A week on Friday is the Friday after the coming one."""
    if isinstance(at, Question) and at.reach == "past":
        return None
    days = (0.5 if match["half_a"] else number(match["count"])) * UNIT_DAYS[lower(match["unit"])]
    if match["near"]:
        step = int(lower(match["near"]) == "tomorrow")
    else:
        step = (weekday_number(match["weekday"]) - at.today.weekday()) % 7
    return Reading(at.day(at.today + DAY * (step + int(days))), "day", explicit=True)


def _few(at: Calendar, unit: str) -> tuple[int, int]:
    """“A few weeks”: the far and the near end, in days (R8)."""
    far, near = getattr(at.settings, f"few_{unit}s")
    return (int(365.25 * far), int(365.25 * near)) if unit == "year" else (far, near)


@asked("ago back", rf"(?:a few|few|several|some) (?P<unit>day|week|month|year)s? {_AGO}")
@both("ago", "(?:a few|few|several|some) (?P<unit>day|week|month|year)s? ago")
def few_ago(match: re.Match[str], at: Question | DatedText) -> Span:
    unit = lower(match["unit"])
    if isinstance(at, DatedText):
        far, near = _few(at, unit)
        return at.days(at.today - far * DAY, far - near + 1)
    far, near = getattr(at.settings, f"few_{unit}s")
    step = "year" if unit == "year" else "day"
    return Span(at.ago(far, step), at.ago(near, step))


@told("few several", "in (?:a few|few|several) (?P<unit>day|week|month|year)s?(?:['’] time)?")
def few_ahead(match: re.Match[str], saying: DatedText) -> Span | None:
    far, near = _few(saying, lower(match["unit"]))
    return None if saying.tense(*match.span()) == "past" else saying.days(saying.today + near * DAY, far - near + 1)


_FEW_AHEAD = {"day": 5, "week": 35, "month": 90}
"""Days of "the next few days", weeks and months."""
RECENT_DAYS = {"day": 5, "week": 28, "month": 92, "year": 1096}
"""Days of "in recent days", weeks, months and years."""
_WHILE_DAYS = (365, 21)
"""The far and the near end of "a while ago", in days."""
_SOON_DAYS = 14
_SPANNING = frozenset({"in", "over", "within", "during"})
"""Only after these is "the last day" the day just gone, and not the end of something."""


@asked(
    "last past previous",
    "(?P<whose>my |your |his |her |our |their )?(?:the )?(?:last|past|previous) "
    "(?:(?P<few>few|several)|{count}) (?P<unit>minute|hour|day|week|month|quarter|year)s?(?! (?:of|at|before|after))",
)
def last_few(match: re.Match[str], question: Question) -> Span | None:
    """The last two weeks, rolling (R8). "My last two weeks at the bank" is something else."""
    unit = lower(match["unit"])
    if match["whose"] or (match["few"] and not hasattr(question.settings, f"few_{unit}s")):
        return None
    if not match["few"]:
        return Span(question.ago(number(match["count"]), unit), question.now)
    far: int = getattr(question.settings, f"few_{unit}s")[0]
    return Span(question.ago(far, "year" if unit == "year" else "day"), question.now)


@asked("fortnight", "(?:the |this )?(?P<which>last|past|next|coming) fortnight")
def fortnight(match: re.Match[str], question: Question) -> Reading | None:
    """The fourteen days up to now, or those from today on."""
    if question.reach == "past":
        return None
    if lower(match["which"]) in _NEXT:
        return Reading(question.days(question.today, 15), explicit=True)
    return Reading(Span(question.ago(14, "day"), question.now))


@asked("hour day", "the (?:last|past) (?P<unit>hour|day)(?! (?:of|at|before|after))")
def just_gone(match: re.Match[str], question: Question) -> Reading:
    return Reading(Span(question.ago(1, lower(match["unit"])), question.now), accepts=_SPANNING.__contains__)


@asked(
    "next coming following",
    "(?:the |my |our )?(?:next|coming|following) (?:(?:(?P<few>few|several)|{count}) (?P<unit>day|week|month)s?"
    "|(?P<many>day|week|month)s)",
)
def next_few(match: re.Match[str], question: Question) -> Reading | None:
    """The next ten days, from today on."""
    if question.reach == "past":
        return None
    unit = lower(match["unit"] or match["many"])
    if match["count"]:
        until = back(question.today, -number(match["count"]), unit) + DAY
        return Reading(question.days(question.today, until), explicit=True)
    return Reading(question.days(question.today, _FEW_AHEAD[unit] + 1), explicit=True)


@told(
    "days weeks months years",
    "(?:in |over |within |during |for )?the (?P<which>next|coming|last|past) (?:(?P<few>few|several)|{count}) "
    "(?P<unit>day|week|month|year)s",
)
def rolling(match: re.Match[str], saying: DatedText) -> Span:
    unit = lower(match["unit"])
    count = (4 if unit == "day" else 3) if match["few"] else number(match["count"])
    if lower(match["which"]) in _NEXT:
        return saying.days(saying.today, back(saying.today, -count, unit) + DAY)
    return saying.days(back(saying.today, count, unit), saying.today + DAY)


@asked(
    "recent past",
    "in (?:more )?recent (?P<unit>day|week|month|year)s"
    "|(?:in |over )?(?:these|the) (?:past|last) (?P<many>day|week|month|year)s",
)
def in_recent(match: re.Match[str], question: Question) -> Span | None:
    """In recent weeks: the last four of them."""
    if question.reach == "past":
        return None
    return Span(question.ago(RECENT_DAYS[lower(match["unit"] or match["many"])], "day"), question.now)


@asked("recently lately", r"(?<!most\x20)(?<!more\x20)(?<!how\x20)(?:recently|lately)")
def recently(match: re.Match[str], question: Question) -> Span:
    return Span(question.ago(question.settings.recent_days, "day"), question.now)


@asked("ago while", "(?:quite )?a while (?:ago|back)|some time ago|ages ago|(?:a )?long (?:time )?ago")
def while_ago(match: re.Match[str], question: Question) -> Span | None:
    far, near = (question.ago(days, "day") for days in _WHILE_DAYS)
    return None if question.reach == "past" else Span(far, near)


@asked("soon upcoming coming ahead near", "(?:up)?coming(?: up)?|soon(?! as)|ahead(?! of)|in the near future")
def soon(match: re.Match[str], question: Question) -> Reading | None:
    if question.reach == "past" or lower(match[0]) == "coming":
        return None
    return Reading(question.days(question.today, _SOON_DAYS + 1), SOON, explicit=True)


@asked(
    "since",
    "since (?:we last|(?:the )?last time we) (?:talked|spoke|met|chatted)(?! (?:to|with))"
    "|since we (?:talked|spoke|met|chatted) last|since (?:our|my) last (?:talk|chat|conversation|session|meeting)"
    r"|since last time(?=\s*(?:$|[?!.,;]))",
)
def since_last_talk(match: re.Match[str], question: Question) -> Span | None:
    known = question.last_talk is not None and question.last_talk <= question.now
    return question.to_now(question.last_talk) if known and question.last_talk else None


_UNIT = "(?P<unit>week|month|quarter|year)"
_STEPS = {"last": -1, "previous": -1, "this": 0, "current": 0, "the": 0, "next": 1, "coming": 1, "following": 1}


@asked(
    "week month quarter year",
    "(?P<the>the )?(?P<which>last|this past|this|past|previous|current|next|every|each) " + _UNIT + "(?! of)",
)
@asked("coming upcoming", "(?P<the>the |this )?(?P<which>(?:up)?coming) (?P<unit>week|month|year)")
def running(match: re.Match[str], question: Question) -> Reading | None:
    """Last month is the calendar one, "the last month" the rolling one; last week is the seven days just gone (R8).

    As people mean it, last week is the calendar one as well.
    """
    which, unit = lower(match["which"]), lower(match["unit"])
    if match["the"] and which == "next" and question.reach == "ahead":
        return Reading(question.days(question.today, back(question.today, -1, unit) + DAY), explicit=True)
    if which in {"next", "coming", "upcoming"} and question.reach != "past":
        return Reading(question.whole(unit, ahead=1), unit, explicit=True)
    if which in {"next", "coming", "upcoming", "every", "each"}:
        return None
    if which in {"this", "current"}:
        return Reading(question.this(unit), unit, explicit=question.reach == "ahead")
    rolling = question.rolling if unit == "week" else bool(match["the"]) and which == "last" and unit != "quarter"
    if rolling or "past" in which:
        return Reading(Span(question.ago(1, unit), question.now), unit if unit == "week" else "")
    return Reading(question.whole(unit, ahead=-1), unit)


@told(
    "week month quarter year",
    "{part of}(?P<rolling>the )?(?P<which>last|past|previous|this past|this coming|this|current|next|coming|the) "
    rf"{_UNIT}(?! (?:of|before|after|or so)\b)",
)
def calendar_unit(match: re.Match[str], saying: DatedText) -> Span | None:
    """The calendar unit. "The last month" and "the past year" end today; "the month" counts only with a part."""
    part, which, unit = lower(match["part"]).removeprefix("very "), lower(match["which"]), lower(match["unit"])
    if "past" in which or (match["rolling"] and which == "last"):
        return saying.days(back(saying.today, 1, unit), saying.today + DAY)
    if which == "the" and (not part or part in ("later", "earlier", "late", "early")):
        return None
    span = saying.whole(unit, ahead=_STEPS[which.removeprefix("this ")])
    if part in ("later", "earlier"):  # it is so from today on
        today = saying.day(saying.today)
        narrow = Span(today.start, span.end) if part == "later" else Span(span.start, today.end)
        return narrow if narrow.start < narrow.end else span
    return saying.part(span, unit, part) if part else span


@both("last next", f"(?:the )?{_UNIT} (?:before last|(?P<next>after next))")
def far(match: re.Match[str], at: Question | DatedText) -> Reading | None:
    unit = lower(match["unit"])
    if isinstance(at, Question):
        if match["next"] and at.reach == "past":
            return None
        if unit == "week" and at.rolling and not match["next"]:
            return Reading(Span(at.ago(2, unit), at.ago(1, unit)), unit)
    return Reading(at.whole(unit, ahead=2 if match["next"] else -2), unit, explicit=bool(match["next"]))


@asked(
    "earlier later rest remainder",
    f"(?:(?P<earlier>earlier this)|later this|the (?:rest|remainder) of (?:the|this)) {_UNIT}",
)
def rest(match: re.Match[str], question: Question) -> Reading | Span | None:
    """From today to the end of the running unit, or what has passed of it."""
    unit = lower(match["unit"])
    if match["earlier"]:
        return question.this(unit)
    if question.reach == "past":
        return None
    return Reading(Span(question.midnight(question.today), question.whole(unit).end), explicit=True)


@asked("week month quarter year", "the (?P<unit>week|month|quarter|year)(?! (?:before|after|of)(?!\\w))")
def within(match: re.Match[str], question: Question) -> Reading | None:
    """This year, if "the beginning of the year" is asked for; "the year" alone says nothing."""
    unit = lower(match["unit"])
    if unit == "week" and question.reach == "past":
        return None
    return Reading(question.this(unit), unit, accepts="part".__eq__, explicit=question.reach == "ahead")


_PLURALS = " ".join(f"{word}s" for word in WEEKDAY_WORDS.split())
_ANY_WEEKDAY = f"{WEEKDAY_WORDS} mon tue tues wed weds thu thur thurs fri sat sun"
_WEEK_DAYS = {"last": -7, "previous": -7, "this": 0, "next": 7, "coming": 7}
_OF = compile_pattern(" of | in {any month}")


@asked(
    _ANY_WEEKDAY,
    "{which}(?P<weekday>{short weekday})"
    "(?:,? (?:of )?(?P<week>last|this|next|the coming) week|(?P<later> week)(?= ?(?:$|[.,;!?])))?",
)
@asked(_ANY_WEEKDAY, "(?P<which>)(?P<week>next) week,? (?:on )?(?P<weekday>{short weekday})(?P<later>)")
def weekday(match: re.Match[str], question: Question) -> Reading | None:
    which, text = lower(match["which"]), match.string
    start, end = match.span("weekday")
    number, week = weekday_number(match["weekday"]), lower(match["week"]).removeprefix("the ")
    latest = question.weekly(number)
    if week == "last":
        return question.recurring("last", "day", latest)
    if week or match["later"]:
        if question.reach == "past":
            return None
        first = question.first("week") + _WEEK_DAYS[week] * DAY if week else question.today + WEEK
        return Reading(question.day(first + DAY * ((number - first.weekday()) % 7)), "day", explicit=True)
    if which and (_OF.match(text, end) or not is_weekday(text, start, end, "on")):
        return None
    return question.recurring(which, "day", latest, lambda cue: is_weekday(text, start, end, cue), WEEK)


@told(
    f"{_ANY_WEEKDAY} {_PLURALS}",
    "(?:(?P<week1>last|next|this) week,? (?:on )?)?{which}(?P<weekday>{short weekday})(?P<plural>s)?"
    r"(?:,? (?:of )?(?P<week2>last|next|this|previous|coming) week| (?P<later>week)(?= ?(?:$|[.,;!?])))?",
)
def day_of_week(match: re.Match[str], saying: DatedText) -> Span | None:
    """A bare weekday is the one that the tense of its clause means; without a verb it is one to come."""
    which, place, today = lower(match["which"]), match.span(), saying.today
    if match["plural"] or which in HABITS or not is_day_of_its_own(match):
        return None
    number = weekday_number(match["weekday"])
    week = lower(match["week1"] or match["week2"])
    if week:
        return saying.day(saying.first("week") + DAY * (_WEEK_DAYS[week] + number))
    ahead = (number - today.weekday()) % 7
    if match["later"]:
        return saying.day(today + DAY * (ahead + 7))
    if which in _LAST:
        return saying.day(today + DAY * (ahead - 7))
    if which in _NEXT:
        return saying.day(today + DAY * (ahead or 7))
    if which == "this":
        past = saying.tense(*place) == "past" and ahead
        return saying.day(today + DAY * (ahead - 7 if past else ahead))
    if saying.is_alone(*place):
        if match.string[place[1] : place[1] + 1] == ":":  # a heading
            return saying.day(saying.weekday(number, saying.story()))
        return saying.day(saying.weekday(number, "")) if word_before(match.string, place[0]) in ("on", "by") else None
    if saying.is_habit(*place):
        return None
    return saying.day(saying.weekday(number, saying.tense(*place) or saying.story()))


@told(
    _ANY_WEEKDAY,
    "(?:from )?(?P<first>{short weekday})(?: to | through | thru | till | until |-| ?– ?)(?P<last>{short weekday})"
    "(?:,? (?:of )?(?P<week>last|next|this) week)?",
)
def weekdays(match: re.Match[str], saying: DatedText) -> Span | None:
    """From Monday to Thursday: days of one week if a week or a tense says so, a habit otherwise."""
    first, last = weekday_number(match["first"]), weekday_number(match["last"])
    length = (last - first) % 7 + 1
    if match["week"]:
        return saying.days(saying.first("week") + DAY * (_WEEK_DAYS[lower(match["week"])] + first), length)
    tense = saying.tense(*match.span())
    if tense not in ("past", "future") or saying.is_habit(*match.span()):
        return None
    begin = saying.weekday(first, tense)
    return saying.days(begin - WEEK if tense == "past" and begin + length * DAY > saying.today else begin, length)


@asked(
    "weekend",
    "(?:the )?(?P<last>weekend before last)|(?:the )?(?P<after>weekend after next)"
    "|(?:the |(?=last|this|past|next|coming|every|each|most)){which}weekend"
    "(?! (?:of|trip|bag|house|home|job|away|getaway))",
)
def weekend(match: re.Match[str], question: Question) -> Reading | None:
    latest = question.weekly(5, days=2)
    which = "before last" if match["last"] else lower(match["which"])
    if (which == "next" or match["after"]) and question.reach != "past":
        weeks = 2 if match["after"] else 1
        return Reading(latest(question.whole("week", ahead=weeks).end - INSTANT), "weekend", explicit=True)
    return question.recurring(which, "weekend", latest, period=WEEK)


@told(
    "weekend weekends",
    "(?:the )?(?:(?P<which>last|next|this coming|this past|this|coming|past|previous|every|each|most|(?:over|at|on"
    r"|for) the) )weekend(?! (?:trips|getaways|bag|house|home|job|edition|ticket)\b)"
    "|(?:the )?weekend (?P<far>before last|after next)|(?:all|the whole) weekend",
)
def told_weekend(match: re.Match[str], saying: DatedText) -> Span | None:
    """Saturday and Sunday. "Over the weekend" goes by the tense; without one, by which of the two is nearer."""
    which, far = lower(match["which"]), lower(match["far"])
    if which in HABITS:
        return None
    coming = saying.first("week") + 5 * DAY  # on a Sunday the running one
    last = coming - WEEK
    if far:
        return saying.days(last - WEEK if far == "before last" else coming + WEEK, 2)
    if which in _LAST:
        return saying.days(last, 2)
    if which in ("this", "coming", "this coming", "next"):
        return saying.days(coming + WEEK * (which == "next"), 2)
    tense = saying.tense(*match.span())
    if tense == "past":
        return saying.days(coming if saying.today.weekday() == 6 else last, 2)
    return saying.days(coming if tense or saying.today - last >= timedelta(days=5) else last, 2)
