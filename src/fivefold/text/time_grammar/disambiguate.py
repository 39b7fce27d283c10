"""Words that only look like time: May and April are people, "may" and "march" are verbs, fall is what one does."""

from __future__ import annotations

import re

ANY = frozenset({"since", "until", "before", "after", "between", "part"})
"""Words before a doubtful word that make any of them a time; `part` stands for "early", "the end of" and the like."""
_IN = ANY | {"in", "during", "by", "of", "from", "throughout", "through", "around"}
_LOOSE = frozenset({"before", "after", "of", "from", "by"})
"""After these a month may just as well be a person."""
_THE = frozenset(
    {
        "in the",
        "during the",
        "over the",
        "since the",
        "until the",
        "before the",
        "after the",
        "by the",
        "of the",
        "around the",
        "throughout the",
        "through the",
    }
)

_NAMES = frozenset({"april", "may", "june", "jan", "august"})
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
"""What follows a number that counts things and so is neither a day nor a year."""
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


def is_month(text: str, start: int, end: int, cue: str) -> bool:
    """Whether a bare month name after `cue` is the month: "in May" is, "May said" and "this may be" are not."""
    word, rest = text[start:end], text[end : end + 24]
    if cue not in _IN or _PERSON.match(rest):
        return False
    if word in {"may", "march"}:
        return bool(_CLAUSE_END.match(rest)) if cue in _LOOSE else word == "march" or not _MODAL.match(rest)
    if word.casefold() in _NAMES:
        return cue != "from" and not (cue in _LOOSE and _SURNAME.match(rest))
    return True


def is_qualified_month(text: str, start: int, end: int, which: str) -> bool:
    """Whether "last may" or "this march" is a month; "this may be" is not."""
    word, rest = text[start:end], text[end : end + 24]
    return word not in {"may", "march"} or which == "last" or bool(_CLAUSE_END.match(rest))


def is_dated_month(match: re.Match[str]) -> bool:
    """Whether a month name next to a number is a month: "I may 3 times" and "the 3 may be" are not."""
    text = match.string
    if match["month"] not in {"may", "march"}:
        return True
    if match.start("month") == match.start():
        return not _PRONOUN.search(text[max(0, match.start() - 12) : match.start()])
    bare = not match["year"] and text[match.end("day") : match.start("month")].isspace()
    return not bare or bool(_CLAUSE_END.match(text[match.end() : match.end() + 24]))


def is_weekday(text: str, start: int, end: int, cue: str) -> bool:
    """Whether a bare weekday is a day: after "on", or at the end of a clause ("what did I eat Friday?")."""
    word, rest = text[start:end], text[end : end + 24]
    if _RECURRING.match(rest) or (len(word) < 6 and not word[0].isupper()):
        return False
    if rest[:2] in {"'s", "’s"}:
        return (cue in ANY or cue in {"on", "in", "from", "during"}) and re.match(r"\s[a-z]", rest[2:]) is not None
    if cue:
        return is_weekday_cue(cue)
    before = _LAST_WORD.search(text[max(0, start - 24) : start])
    at_end = re.match(r"\s*(?:$|[?!.;])", rest)
    return bool(len(word) >= 6 and at_end and before and before[1].islower() and before[1] not in _NO_DAY_AFTER)


def is_weekday_cue(cue: str) -> bool:
    return cue in ANY or cue in {"on", "by", "from", "around"}


def is_season(text: str, end: int, word: str, cue: str) -> bool:
    """Whether a bare season is one; "the fall" counts only after "in", "during" and "over"."""
    if _NOT_A_SEASON.match(text[end : end + 24]):
        return False
    if word == "fall":
        return cue in {"part", "in", "in the", "during", "during the", "over the", "between"}
    return cue in _IN or cue in _THE or cue == "over"


def is_year(cue: str) -> bool:
    return cue in _IN


def is_quarter(cue: str) -> bool:
    return cue in _IN or cue in _THE


def is_holiday(cue: str) -> bool:
    cue = cue.removesuffix(" the")
    return cue in ANY or cue in {"at", "over", "around", "on", "during", "by", "in"}
