"""Days near the one it was said: yesterday, tomorrow night, last Saturday, on Tuesday, the weekend."""

from __future__ import annotations

import re
from datetime import date, timedelta

from fivefold.text.calendar_words import WEEKDAY, WEEKDAY_WORDS, weekday_number
from fivefold.text.time_grammar.dates.forms import form
from fivefold.text.time_grammar.dates.saying import Saying
from fivefold.text.time_grammar.periods import DAY, Span
from fivefold.text.time_grammar.words import lower

_NEAR = {"yesterday": -1, "last night": -1, "tomorrow": 1, "day before yesterday": -2, "day after tomorrow": 2}
_PLURALS = " ".join(f"{word}s" for word in WEEKDAY_WORDS.split())
_SHORT = "mon|tues?|wed|thu(?:rs?)?|fri|sat|sun"
_ANY_WEEKDAY = rf"(?:{WEEKDAY}|{_SHORT})"
_WEEKS = {"last": -7, "previous": -7, "this": 0, "next": 7, "coming": 7}
_LAST = frozenset({"last", "past", "this past", "previous"})
_HABITS = frozenset("every each most any some first second third fourth".split())
_NO_DAY_AFTER = frozenset(
    "black freaky super ash casual cyber fat holy ruby bloody mad sunny good my our your his her their a an another "
    "usual "
    "each every the first second third fourth of 's ’s".split()
)
_SHORT_CUES = frozenset("on this next last by until till from since for coming every each past".split())
_BEHIND = re.compile(
    rf"(?:\s(?:and|or)\s{WEEKDAY})?\s(?:mornings|afternoons|evenings|nights|club|school)\b|['’]s\s(?:child|paper)\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"([^\W\d_]+|['’]s)[,.]?\s+$")
_CLOCK = re.compile(r",?\s+(?:at\s|\d|the\s\d)", re.IGNORECASE)


@form(
    "yesterday today tonight tomorrow morning afternoon evening night",
    r"(?P<near>(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|tomorrow|(?<!usa\x20)today"
    r"|last night|tonight(?! show)|this (?:morning|afternoon|evening)|later today|earlier today)",
)
def near(match: re.Match[str], saying: Saying) -> Span | None:
    """A plain "today" or "this morning" is the day itself."""
    return saying.day(saying.today + DAY * _NEAR.get(lower(match["near"]).removeprefix("the "), 0))


@form("other", "(?:just )?the other (?:day|night|evening|week)")
def lately(match: re.Match[str], saying: Saying) -> Span | None:
    """The seven days before, or for "the other week" the three weeks before."""
    days = 21 if lower(match[0]).endswith("week") else 7
    return saying.days(saying.today - days * DAY, days)


@form(
    f"{WEEKDAY_WORDS} {_PLURALS} mon tue tues wed thu thur thurs fri sat sun",
    "(?:(?P<week1>last|next|this) week,? (?:on )?)?(?:(?P<which>last|next|this coming|this past|this|coming|past"
    "|previous|every|each|most|any|some|first|second|third|fourth) )?"
    rf"(?P<weekday>{_ANY_WEEKDAY})(?P<plural>s)?(?:,? (?:of )?(?P<week2>last|next|this|previous|coming) week"
    rf"| (?P<later>week)"
    r"(?= ?(?:$|[.,;!?])))?",
)
def weekday(match: re.Match[str], saying: Saying) -> Span | None:
    """A bare weekday is the one that the tense of its clause means; without a verb it is one to come."""
    which, start, end = lower(match["which"]), *match.span()
    if match["plural"] or which in _HABITS or not _is_weekday(match):
        return None
    number = weekday_number(match["weekday"])
    week = lower(match["week1"] or match["week2"])
    if week:
        return saying.day(_monday(saying) + DAY * (_WEEKS[week] + number))
    ahead = (number - saying.today.weekday()) % 7
    if match["later"]:
        return saying.day(saying.today + DAY * (ahead + 7))
    if which in _LAST:
        return saying.day(saying.today + DAY * (ahead - 7))
    if which in ("next", "coming", "this coming"):
        return saying.day(saying.today + DAY * (ahead or 7))
    if which == "this":
        past = saying.tense(start, end) == "past" and ahead
        return saying.day(saying.today + DAY * (ahead - 7 if past else ahead))
    return _by_tense(match, number, saying)


def _by_tense(match: re.Match[str], number: int, saying: Saying) -> Span | None:
    start, end = match.span()
    if saying.is_alone(start, end):
        on = _word_before(match.string, start) in ("on", "by")
        return saying.day(saying.weekday(number, "")) if on else None
    if saying.is_habit(start, end):
        return None
    return saying.day(saying.weekday(number, saying.tense(start, end) or saying.story()))


def _is_weekday(match: re.Match[str]) -> bool:
    """Whether the word is a day of its own: "Black Friday" and "the Monday class" are not."""
    text, word = match.string, match["weekday"]
    before = _word_before(text, match.start())
    if _BEHIND.match(text, match.end()) or (before in _NO_DAY_AFTER and not match["which"]):
        return False
    if len(word) >= 6:
        return True
    led = before in _SHORT_CUES or bool(match["which"])
    behind = _CLOCK.match(text, match.end())
    return word[0].isupper() and bool(led or behind or word.casefold() not in ("sat", "sun", "wed", "mon"))


def _word_before(text: str, start: int) -> str:
    before = _BEFORE.search(text, max(0, start - 24), start)
    return before[1].casefold() if before else ""


def _monday(saying: Saying) -> date:
    return saying.today - DAY * saying.today.weekday()


@form(
    WEEKDAY_WORDS + " mon tue tues wed thu thur thurs fri sat sun",
    rf"(?:from )?(?P<first>{_ANY_WEEKDAY})(?: to | through | thru | till | until |-"
    rf"| ?– ?)(?P<last>{_ANY_WEEKDAY})(?:,? (?:of )?(?P<week>last|next|this) week)?",
)
def weekdays(match: re.Match[str], saying: Saying) -> Span | None:
    """From Monday to Thursday: days of one week where a week or a tense says so, a habit otherwise."""
    first, last = weekday_number(match["first"]), weekday_number(match["last"])
    length = (last - first) % 7 + 1
    if match["week"]:
        return saying.days(_monday(saying) + DAY * (_WEEKS[lower(match["week"])] + first), length)
    tense = saying.tense(*match.span())
    if tense not in ("past", "future") or saying.is_habit(*match.span()):
        return None
    begin = saying.weekday(first, tense)
    return saying.days(begin - 7 * DAY if tense == "past" and begin + length * DAY > saying.today else begin, length)


@form(
    "weekend weekends",
    "(?:the )?(?:(?P<which>last|next|this coming|this past|this|coming|past|previous|every|each|most|(?:over|at|on"
    "|for) the) )"
    r"weekend(?! (?:trips|getaways|bag|house|home|job|edition|ticket)\b)|(?:the )?weekend (?P<far>before last"
    r"|after next)"
    "|(?:all|the whole) weekend",
)
def weekend(match: re.Match[str], saying: Saying) -> Span | None:
    """Saturday and Sunday. "Over the weekend" goes by the tense; without one, by which of the two is nearer."""
    which, far = lower(match["which"]), lower(match["far"])
    if which in _HABITS:
        return None
    coming = saying.today + DAY * ((5 - saying.today.weekday()) % 7)
    if saying.today.weekday() == 6:
        coming -= 7 * DAY  # the running one
    last = coming - 7 * DAY
    if far:
        return saying.days(last - 7 * DAY if far == "before last" else coming + 7 * DAY, 2)
    if which in _LAST:
        return saying.days(last, 2)
    if which in ("this", "coming", "this coming"):
        return saying.days(coming, 2)
    if which == "next":
        return saying.days(coming + 7 * DAY, 2)
    return saying.days(_open_weekend(match, saying, coming, last), 2)


def _open_weekend(match: re.Match[str], saying: Saying, coming: date, last: date) -> date:
    tense = saying.tense(*match.span())
    if tense == "past":
        return coming if saying.today.weekday() == 6 else last
    if tense:
        return coming
    return last if saying.today - last < timedelta(days=5) else coming
