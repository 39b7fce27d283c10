"""The words of time: what stands for a part of a pattern, tables of patterns, and which words only look like time.

May and April are people, "may" and "march" are verbs, fall is what one does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from fivefold.text.calendar_words import MONTH, NUMBERS, SHORT_MONTH, WEEKDAY
from fivefold.text.lexemes import Pattern, flags_in

Moment = TypeVar("Moment")
Meaning = TypeVar("Meaning")
Read = TypeVar("Read", bound=Callable[[re.Match[str], Any], Any])

_TEENS = "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
_ONES = "first second third fourth fifth sixth seventh eighth ninth"
ORDINAL_WORDS = f"{_ONES} {_TEENS} thirtieth"
_DAY_WORDS = {word: number for number, word in enumerate(f"{_ONES} {_TEENS}".split(), 1)}
_DAY_WORDS |= {f"twenty-{word}": number for number, word in enumerate(_ONES.split(), 21)}
_DAY_WORDS |= {"thirtieth": 30, "thirty-first": 31}
HABITS = frozenset("every each most any some first second third fourth".split())
"""Before a word these say what happens again and again."""
_MONTH = rf"{MONTH}|(?:{SHORT_MONTH})(?:\.(?=\s?[0-9]))?"
_PARTS = {
    "{month}": rf"(?P<month>{_MONTH})(?!\w)",
    "{any month}": rf"(?:{_MONTH})(?!\w)",
    "{month word}": f"(?:{_MONTH})",
    "{any weekday}": WEEKDAY,
    "{short weekday}": f"(?:{WEEKDAY}|mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun)",
    "{day}": r"(?<![0-9.,:/#])(?P<day>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?(?![0-9])",
    "{last day}": r"(?P<last>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?(?![0-9])",
    "{day word}": f"(?P<day>{'|'.join(sorted(_DAY_WORDS, key=len, reverse=True))})",
    "{year}": r"(?P<year>(?:1[0-9]|20|21)[0-9]{2})(?![0-9])",
    "{count}": rf"(?P<count>[0-9]{{1,4}}|(?:a )?couple(?: of)?|{'|'.join(NUMBERS)})",
    "{unit}": r"(?P<unit>hour|day|week|month|year)s?",
    "{season}": "(?P<season>spring|summer|autumn|fall|winter)",
    "{holiday}": "(?P<holiday>christmas (?:eve|day)|christmas|xmas|new year(?:['’]?s)? (?:eve|day)|new year(?:['’]s|s)?"
    "|boxing day|palm sunday|good friday|easter (?:sunday|monday)|easter|whitsun|pentecost|halloween|bonfire night"
    "|valentine(?:['’]?s)?(?: day)?|thanksgiving|advent|lent|ash wednesday|shrove tuesday|holy week|ascension(?: day)?"
    "|turn of the year|epiphany|may day|midsummer|all saints(?:['’])?(?: day)?|st\\.? nicholas(?: day)?"
    "|st\\.? patrick['’]?s(?: day)?)",
    "{number word}": "|".join(word for word, value in NUMBERS.items() if value > 1 and len(word) > 2),
    "{event}": r"(?: (?:my|our|his|her|their|the|\w+['’]s)(?: \w+){1,2} on)?",
    "{hour word}": "|".join(word for word, hour in NUMBERS.items() if 1 <= hour <= 12 and len(word) > 2),
    "{which}": r"(?:(?P<which>last|this past|this coming|this|past|previous|next|every|each|any|most|some|coming"
    r"|first|second|third|fourth) )?",
    "{part of}": r"(?:(?:the )?(?P<part>very beginning|beginning|start|middle|end|early|mid|late|later|earlier)"
    "(?: of| in)?[ -])?",
    "{to}": r"(?: ?[-–—] ?| (?:to|and|until|till|through) )",
}


def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(_written_out(pattern), re.IGNORECASE)


def _written_out(pattern: str) -> str:
    """A regular expression with its named parts, and any white space for each space."""
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    return pattern.replace(" ", r"(?:\s{1,8})")


class Table(Generic[Moment, Meaning]):
    """Expressions of time by pattern. A reader that returns None keeps its words: "every Friday" is not a "Friday"."""

    def __init__(self, start: str, end: str) -> None:
        self._start, self._end = start, end
        self.rows: list[tuple[Pattern, Callable[[re.Match[str], Moment], Meaning | None]]] = []

    def __call__(self, triggers: str, pattern: str) -> Callable[[Read], Read]:
        """Register a reader. In the pattern a space is any white space and `{month}` stands for a part named above."""
        source = _written_out(f"{self._start}(?:{pattern}){self._end}")

        def register(read: Read) -> Read:
            self.rows.append((Pattern(triggers, source, re.IGNORECASE), read))
            return read

        return register

    def read(self, text: str, moment: Moment) -> Iterator[tuple[int, int, Meaning]]:
        """The meaning of each expression with its place; of two that overlap the first counts, then the longer one."""
        flags = flags_in(text)
        matches = [
            (match.start(), -match.end(), order, match)
            for order, (pattern, _) in enumerate(self.rows)
            if flags & pattern.flag and flags & pattern.also and pattern.occurs(text)
            for match in pattern.bare.finditer(text)
        ]
        end = 0
        for start, _, order, match in sorted(matches, key=lambda item: item[:3]):
            if start < end:
                continue
            end = match.end()
            try:
                meaning = self.rows[order][1](match, moment)
            except (ValueError, OverflowError, LookupError):
                continue
            if meaning is not None:
                yield start, end, meaning


def lower(word: str | None) -> str:
    """One spelling of a word: lower case, single spaces; nothing for none."""
    return " ".join(word.casefold().split()) if word else ""


def number(word: str) -> int:
    word = lower(word)
    return 2 if "couple" in word else int(word) if word[0] in "0123456789" else NUMBERS[word]


def ordinal(word: str) -> int:
    """1 for "first" and "1st"; -1 for "last"."""
    word = lower(word)
    return int(word[0]) if word[0] in "123456789" else -1 if word in {"last", "final"} else _DAY_WORDS[word]


def day_number(word: str) -> int:
    """31 for "31" and "thirty-first"."""
    return int(word) if word.isdecimal() else _DAY_WORDS[lower(word)]


_ANY_CUE = frozenset({"since", "until", "before", "after", "between", "part"})
"""Words before a doubtful word that make any of them a time; `part` stands for "early", "the end of" and the like."""
_IN_CUES = _ANY_CUE | {"in", "during", "by", "of", "from", "throughout", "through", "around"}
_LOOSE_CUES = frozenset({"before", "after", "of", "from", "by"})
"""After these a month may just as well be a person."""
_THE_CUES = frozenset(
    f"{word} the" for word in "in during over since until before after by of around throughout through".split()
)
_GIVEN_NAMES = frozenset({"april", "may", "june", "jan", "august"})
_PERSON = re.compile(
    r"['’]s\b|\s(?:said|says|say|told|tells|asked|asks|wrote|writes|called|calls|rang|came|comes|went|goes|left|leaves"
    r"|thinks|thought|wants|wanted|likes|liked|loves|loved|knows|knew|lives|lived|works|worked|married|moved|sent"
    r"|sends|gave|gives|mentioned|recommended|suggested|showed|bought|cooked|and i)\b",
    re.IGNORECASE,
)
_SURNAME = re.compile(r"\s(?!I\b)[A-Z][a-z]")
_MODAL = re.compile(
    r"\s(?:be|have|has|not|also|well|never|still|only|i|you|he|she|it|we|they|one|need|want|cause|help|take|make|get"
    r"|change|depend|seem|prove|look|come|go)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"\s*(?:$|[?!.,;:)\"'”])|\s(?:and|or|with|at|on|in|for|about|to|from|when|where|as|but|did|was|were|is|till|until"
    r"|through|then|last|this|next|of|[0-9])",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:i|you|he|she|it|we|they|who|that|which|this|these|those|there|one|to|not)\s*$", re.IGNORECASE
)
COUNTED = (
    r"(?! ?(?:times|days|weeks|months|years|hours|minutes|seconds|people|words|steps|euros?|dollars|pounds|miles|km"
    r"|kilomet|met(?:re|er)s|kg|grams|ml|calories|kcal|percent|%|users|items|lines|rows|records|files|pages|points"
    r"|cases|ms|px|requests|of (?:us|them|you|the|my|our|your|these|those))(?!\w))"
)
"""Not before the name of a thing: a number that counts things is neither a day nor a year."""
_NOT_A_SEASON = re.compile(
    r"['’]s\b|\s(?:rolls?|onions?|water|mattress|clothes|coat|jacket|boots|ty?res|tires|squash|of(?!\s+(?:[0-9]|last|this)))"
    r"(?!\w)",
    re.IGNORECASE,
)
_RECURRING = re.compile(r"\s(?:mornings|afternoons|evenings|nights)\b", re.IGNORECASE)
_LAST_WORD = re.compile(r"(\S+)\s+$")
_NO_DAY_AFTER = frozenset(
    "the a an every each any some most called named my our your his her their and or about for than is was be are like "
    "love hate not next black good man of with to at in super ash".split()
)
_NO_WEEKDAY_AFTER = frozenset(
    "black freaky super ash casual cyber fat holy ruby bloody mad sunny good my our your his her their a an another "
    "usual each every the first second third fourth of 's ’s".split()
)
_SHORT_CUES = frozenset("on this next last by until till from since for coming every each past".split())
_BEHIND = re.compile(
    rf"(?:\s(?:and|or)\s{WEEKDAY})?\s(?:mornings|afternoons|evenings|nights|club|school)\b|['’]s\s(?:child|paper)\b",
    re.IGNORECASE,
)
_WORD_BEFORE = re.compile(r"([^\W\d_]+|['’]s)[,.]?\s+$")
_CLOCK = re.compile(r",?\s+(?:at\s|\d|the\s\d)", re.IGNORECASE)
_THINGS = re.compile(
    r"\s(?:trees?|cards?|presents?|gifts?|cookies|jumpers?|sweaters?|carols?|songs?|movies?|films?|pudding|cake|lights"
    r"|decorations?|eggs?|bunny|island|costumes?|resolutions?|stockings?|ornaments?|baking|concert)\b"
    r"|['’]s\s(?:resolution|gift)",
    re.IGNORECASE,
)
_NO_DAY = re.compile(
    r"\s(?!(?:at|in|and|or|for|to|till|until|from|with|we|i|he|she|they|it|my|our|the|is|was|will|this|next|last"
    r"|because|but|so|if|when|then|around|after|before|instead|works|morning|afternoon|evening|night|please|again|as"
    r"|by|now|too|also|still|already)\b)\w|\s+of\b|['’]s\b|-\w",
    re.IGNORECASE,
)


def is_month(text: str, start: int, end: int, cue: str) -> bool:
    """True if a bare month name after `cue` is the month: "in May" is, "May said" and "this may be" are not."""
    word, rest = text[start:end], text[end : end + 24]
    if cue not in _IN_CUES or _PERSON.match(rest):
        return False
    if word in {"may", "march"}:
        return bool(_CLAUSE_END.match(rest)) if cue in _LOOSE_CUES else word == "march" or not _MODAL.match(rest)
    if word.casefold() in _GIVEN_NAMES:
        return cue != "from" and not (cue in _LOOSE_CUES and _SURNAME.match(rest))
    return True


def is_qualified_month(text: str, start: int, end: int, which: str) -> bool:
    """True if "last may" or "this march" is a month; "this may be" is not."""
    word, rest = text[start:end], text[end : end + 24]
    return word not in {"may", "march"} or which == "last" or bool(_CLAUSE_END.match(rest))


def is_dated_month(match: re.Match[str]) -> bool:
    """True if a month name next to a number is a month: "I may 3 times" and "the 3 may be" are not."""
    text = match.string
    if match["month"] not in {"may", "march"}:
        return True
    if match.start("month") == match.start():
        return not _PRONOUN.search(text[max(0, match.start() - 12) : match.start()])
    bare = not match["year"] and text[match.end("day") : match.start("month")].isspace()
    return not bare or bool(_CLAUSE_END.match(text[match.end() : match.end() + 24]))


def is_weekday(text: str, start: int, end: int, cue: str) -> bool:
    """True if a bare weekday is a day: after "on", or at the end of a clause ("what did I eat Friday?")."""
    word, rest = text[start:end], text[end : end + 24]
    if _RECURRING.match(rest) or (len(word) < 6 and not word[0].isupper()):
        return False
    if rest[:2] in {"'s", "’s"}:
        return (cue in _ANY_CUE or cue in {"on", "in", "from", "during"}) and re.match(r"\s[a-z]", rest[2:]) is not None
    if cue:
        return is_weekday_cue(cue)
    before = _LAST_WORD.search(text[max(0, start - 24) : start])
    at_end = re.match(r"\s*(?:$|[?!.;])", rest)
    return bool(len(word) >= 6 and at_end and before and before[1].islower() and before[1] not in _NO_DAY_AFTER)


def is_weekday_cue(cue: str) -> bool:
    return cue in _ANY_CUE or cue in {"on", "by", "from", "around"}


def is_season(text: str, end: int, word: str, cue: str) -> bool:
    """True if a bare season is one; "the fall" counts only after "in", "during" and "over"."""
    if _NOT_A_SEASON.match(text[end : end + 24]):
        return False
    if word == "fall":
        return cue in {"part", "in", "in the", "during", "during the", "over the", "between"}
    return cue in _IN_CUES or cue in _THE_CUES or cue == "over"


def is_year(cue: str) -> bool:
    return cue in _IN_CUES


def is_quarter(cue: str) -> bool:
    return cue in _IN_CUES or cue in _THE_CUES


def is_holiday(cue: str) -> bool:
    cue = cue.removesuffix(" the")
    return cue in _ANY_CUE or cue in {"at", "over", "around", "on", "during", "by", "in"}


def is_the_fast(match: re.Match[str]) -> bool:
    """True if "lent" is the time before Easter: a verb is in small letters or opens a sentence."""
    text, start, end = match.string, match.start("holiday"), match.end("holiday")
    if word_before(text, start) in _LENT_CUES or _LENT_RUNS.match(text, end):
        return True
    if not text[start].isupper():
        return False
    return not _OPENING.search(text, max(0, start - 24), start) or _LENT_NAMED.match(text, end) is not None


def is_days_off(cue: str) -> bool:
    return cue.removesuffix(" the") in {"over", "during", "since", "before", "after", "in"}


def is_day_of_its_own(match: re.Match[str]) -> bool:
    """True if a weekday of a stored text is a day: "Black Friday" and "the Monday class" are not."""
    text, word = match.string, match["weekday"]
    before = word_before(text, match.start())
    if _BEHIND.match(text, match.end()) or (before in _NO_WEEKDAY_AFTER and not match["which"]):
        return False
    if len(word) >= 6:
        return True
    led = before in _SHORT_CUES or match["which"] or _CLOCK.match(text, match.end())
    return word[0].isupper() and bool(led or word.casefold() not in ("sat", "sun", "wed", "mon"))


_LENT_CUES = frozenset(
    "for during in before after until till since over throughout through of this next every each".split()
)
_LENT_RUNS = re.compile(r"\s+(?:starts?|started|begins?|began|ends?|ended|season|period|term)\b", re.IGNORECASE)
_LENT_NAMED = re.compile(
    r"\s+(?:is|was|will|comes?|came|has|had|again|(?:19|20)\d\d\b(?!\s+(?!is|was)\w))\b|\s*(?:[,.:;!?–—-]|$)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"(?:\A|[.!?:;\n])[\"”’)\]]*\s*[\"“‘(\[*-]*\s*\Z")


def word_before(text: str, start: int) -> str:
    before = _WORD_BEFORE.search(text, max(0, start - 24), start)
    return before[1].casefold() if before else ""


def is_day_of_month(match: re.Match[str]) -> bool:
    """True if "the 3rd" is a day: "the 3rd floor" and "the 2nd time" are not."""
    return _NO_DAY.match(match.string, match.end()) is None


def describes_a_thing(match: re.Match[str]) -> bool:
    """True if a holiday only says what kind of thing follows: "a Christmas card"."""
    return _THINGS.match(match.string, match.end()) is not None
