"""Whether a sentence claims that something holds now, and whether it gives a value at all.

A statement ends earlier ones, so only a real claim counts: no question, wish, plan, denial, story of the past or
words of somebody else; and no passing state in place of a value.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal

from fivefold.text.calendar_words import MONTH, WEEKDAY

Claim = Literal["now", "change", "place"]
"""What is claimed: that something is so, that it became so, or where and how old somebody is."""

_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++(?=[\"”’')]*(?:\s|$))|\n+")
_SPEECH = (
    r"(?:said|says?|tells|told|wrote|writes|ask(?:s|ed)|replie[ds]|answer(?:s|ed)|texted|claim(?:s|ed)|insist(?:s|ed))"
)
_OTHERS = re.compile(
    r"\"[^\"\n]*\"|“[^“”]*”|«[^«»]*»|^[ \t]*>[^\n]*|^[ \t]*(?P<label>[A-Z]\w*(?: [A-Z]\w*)?):(?= )"
    rf"|(?<!\bI )(?<!\bwe )\b{_SPEECH}(?: to)?(?: me| us)?:[^\n]*",
    re.MULTILINE,
)
_HEADINGS = frozenset(
    "update updated note notes fyi ps correction reminder news when where who what info details edit done address "
    "contact summary noted saved understood recorded confirmed me user human today also plus btw important remember "
    "fact facts profile things".split()
)
_REPORTED = re.compile(
    r"(?P<own>\b(?:I|[Ww]e|watch|scales?|thermometer|monitor|display|screen|label|meter|tracker|app)"
    rf"(?:['’]ve| have| already| just| also)* )?\b(?:{_SPEECH}|think|tell)\b"
    r"|\b(?:thinks|believes|assumes|thought|believed|assumed|heard|[Aa]ccording to)\b"
)
_REPORTED_AFTER = re.compile(rf"[,”\"'] ?(?:{_SPEECH} (?!I\b)\w|(?!I\b|as\b)\w+ {_SPEECH}\b)")
_IF = re.compile(
    r"\b(?:if|unless|whether|suppos\w+|imagin\w+|pretend\w*|when\w*|let['’]?s say|example|instance|as soon as|until"
    r"|till|once|used to)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?i:wish\w*|hop(?:e|es|ing)|would|could|should|might|maybe|perhaps|wonder\w*|wants?|wanted|plan(?:s|ning|ned)?"
    r"|going to|gonna|about to|dream\w*|say|never|not|no|none|cannot|dont|nor|neither|hardly|false|wrong|untrue"
    r"|doubt\w*|den(?:y|ied))\b|\b(?:may|will|shall)\b|['’](?:ll|d)\b|n['’]t\b"
)
_VOID = re.compile(
    r"\b(?:(?:if|unless) (?!possible|needed|necessary)|any ?more\b|no (?:more|longer)\b|hypothetically|kidding"
    r"|(?:would|will) be\b|(?:from|as of|starting|after) (?:next|tomorrow))"
)
_PLANS = re.compile(r"\b(?:next (?!to\b|door)\w+|tomorrow|soon)\b")
_PAST = re.compile(
    r"\b(?:(?:in|of|during|around|until|till|by) (?:\w+ )?(?:19\d\d|20\d\d|2100)\b|as an? (?:\w+ )?(?:child|kid|teen\w*"
    r"|baby|student|boy|girl|toddler)|(?:when|while) \w+ (?:was|were)|(?:years?|decades?|ages|long) (?:ago|before"
    r"|earlier|back)|back (?:then|when|in the)|used to|in the (?:\w+ )?['’]?(?:\d0s|\w+ties|past)|before|originally"
    r"|previously|formerly|at (?:first|the time|the age|age)|aged|then\b|once\b|in (?:my|our|his|her) (?:\w+ )?(?:youth"
    r"|childhood|teens|\w+ties)|growing up|temporarily|briefly|after (?:university|college|school|uni\b|graduat)"
    r"|for (?:the|an?|one|two|three|\d+|some|several) (?:few )?(?:while|day|week|month|year|summer|winter|term)"
    r"|and (?:then )?(?:\w+ )?back\b|but (?:\w+ )?(?:moved|came|went|left|returned|quit))",
    re.IGNORECASE,
)
_STATE_WORD = re.compile(r"[a-z]{3,}(?<!e)ed|[a-z]{4,}(?:ful|less|ous)")
_MONTHS = rf"\b(?:{MONTH})\b"
_MONTH = re.compile(_MONTHS, re.IGNORECASE)
_DATE = re.compile(rf"\d|{_MONTHS}", re.IGNORECASE)
DAY = re.compile(rf"\d|{_MONTHS}|\b(?:{WEEKDAY}|today|tomorrow|noon|next \w+)\b", re.I)
_DATED = re.compile(r"\b(?:birthday|deadline|date|date birth)$")
_FIGURES = (
    r"(?:number|budget|rate|weight|height|time-?out|salary|rent|port|version|pin|postcode"
    r"|(?:locker|door|gate|access|alarm|zip|post) code)"
)
_ONE_VALUE = re.compile(
    r"^(?:lives in|works at|works in|age|role|date birth|(?:(?:full|first|last|middle|family|maiden) )?name)$"
    r"|\b(?:address|e-?mail|password|birthday|deadline|badge|id|plate|size|(?:user|nick|sur)name"
    rf"|(?:due|start|end|launch|release|wedding) date|{_FIGURES})\b|\bfavou?rite\b(?!.*[^aius]s$)"
)
_ID = "password|username|id|badge|plate"
_APART = "late|overdue|early|more|less|higher|lower|behind|short|ago|old|over|under|above|below|away|up|down|off"
_SHAPES = tuple(
    (re.compile(rf"\b(?:{attribute_shape})$"), re.compile(shape))
    for attribute_shape, shape in (
        (_FIGURES, r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|\w+ty|hundred|thousand|million)\b"),
        (rf"{_FIGURES}|{_ID}|birthday|deadline|date", rf"^(?!.*(?:\b(?:{_APART})\b|% of))"),
        (_ID, r"\d|^\S+$"),
        ("birthday|deadline|date", r"^(?!\d\d?(?:[:.]\d\d)? ?(?:[ap]\.?m|o['’]clock|$))"),
        ("e-?mail(?: address)?", "@"),
        ("address", r"\d|^[A-Z]|@"),
        ("^name|(?:full|first|last) name", "^[A-Z]"),
    )
)
"""What a value of these attributes must hold: 'my budget is tight' is no figure, 'my rent is 3 days late' no rent."""

_ONE_TIME = re.compile(r"\b(?:deadline|birthday|launch|stand-?up|wedding|bedtime|alarm|date|release)$")
KIN = re.compile(
    r"\b(?:sister|brother|mother|father|mum|mom|dad|wife|husband|partner|fianc\w+|son|daughter|kid|child|children|niece"
    r"|nephew|cousin|aunt|uncle|gran\w+|friend|flatmate|roommate|neighbou?r|boss|manager|colleague|mentor|landlord"
    r"|teacher"
    r"|coach|dentist|doctor|gp|vet|therapist|lawyer|cat|dog|puppy|kitten|pet|team|family|company)s?(?:-in-law)?$"
)
ONE_HOLDER = re.compile(
    r"\b(?:dentist|doctor|gp|vet|boss|manager|landlord|therapist|job|title|car|laptop|desk|office|home|flat|bank|wife"
    r"|husband|partner|school|gym)$"
)
_ADRIFT = frozenset("in on at with under for from to by of behind near inside between within about".split())
_STATES = frozenset(
    "not no never neither none nothing hardly too very so really quite pretty rather extremely always already gone "
    "lost late early fine ready done over ok okay good great bad nice cool awesome amazing terrible horrible awful "
    "important key vital crucial essential incredible broken stolen missing wrong right correct incorrect invalid "
    "valid weak strong long short safe unsafe secret private public due overdue down up out off on online offline "
    "open live available busy free full empty dead alive sick ill well better worse best worst perfect unknown "
    "unclear hidden stuck slow fast high low higher lower big small huge tiny old older young new same different easy "
    "hard happy sad angry upset proud glad sorry lucky cute sweet lovely funny fun crazy weird strange boring true "
    "false here there back home away around soon close near far mine yours enough complete pregnant tight clear hot "
    "cold warm wet dry dirty clean loud quiet common rare special such like going taken set made written forgotten "
    "known worth hurt cut shut all everything visible what why how where who when because if unless able unable "
    "unavailable mad ridiculous as almost nearly".split()
)


class Assertions:
    """Finds the parts of a text that say what holds now, in the speaker's own words (M1).

    Others do not count: questions, conditions, wishes, plans, denials, the words of others, and the past.
    """

    def __init__(self, text: str, speaker: str) -> None:
        self._text = text
        self._ends = list(_SENTENCE_END.finditer(text))
        self._starts = [end.end() for end in self._ends]
        self._quoted: list[tuple[int, int]] = []
        for match in _OTHERS.finditer(text):
            label = match["label"]
            if label and (label.casefold() == speaker or not _HEADINGS.isdisjoint(label.casefold().split())):
                continue
            line = text.find("\n", match.end()) if label else match.end()
            end = len(text) if line < 0 else line
            self._quoted.append((match.start(), max(end, self._quoted[-1][1] if self._quoted else 0)))

    def holds(self, start: int, end: int, claim: Claim) -> bool:
        """Whether the text from `start` to `end` claims that something holds; only its own sentence counts."""
        at = bisect_right(self._starts, start)
        closing = self._ends[at] if at < len(self._ends) else None
        if (closing and "?" in closing[0]) or self._is_quoted(start):
            return False
        opening = self._starts[at - 1] if at else 0
        before = self._text[max(opening, start - 200) : start]
        after = self._text[end : min(closing.start() if closing else len(self._text), end + 200)]
        return _is_real(before) and _is_present(after, claim)

    def _is_quoted(self, start: int) -> bool:
        at = bisect_right(self._quoted, (start, len(self._text)))
        return at > 0 and start < self._quoted[at - 1][1]


def _is_real(before: str) -> bool:
    """Whether the words before a statement leave it valid. A comma ends a wish or denial, not a condition."""
    clause = re.split(r"[:;]", before)[-1]
    near = re.split(r",| but | and ", clause)[-1]
    reported = any(match["own"] is None for match in _REPORTED.finditer(before))
    return not (reported or _IF.search(clause) or _PAST.search(clause) or _WISH.search(near))


def _is_present(after: str, claim: Claim) -> bool:
    """Whether the words after a statement leave it valid: a change with a year is past."""
    if _VOID.search(re.split(r"[,;]", after, maxsplit=1)[0]) or _REPORTED_AFTER.search(after):
        return False
    return claim == "now" or not (_PAST.search(after) or (claim == "place" and _PLANS.search(after)))


def single_valued(attribute: str) -> bool:
    """Whether a new value of this attribute can only mean that the old one ended."""
    return bool(_ONE_VALUE.search(attribute))


def fits(attribute: str, value: str, timed: bool, cued: bool) -> bool:
    """Whether this can be the attribute's value: no mere state, and of the right shape where only one will do.

    'My meeting is at 3pm' is one meeting of many, and 'the deadline is Friday' may repeat the date it had.
    """
    if is_state(value) or (timed and not cued and not _ONE_TIME.search(attribute)):
        return False
    if single_valued(attribute) and value.partition(" ")[0] in _ADRIFT and not _MONTH.search(value):
        return False
    if _DATED.search(attribute) and not (DAY if cued else _DATE).search(value):
        return False
    return all(shape.search(value) for attribute_shape, shape in _SHAPES if attribute_shape.search(attribute))


def is_state(value: str) -> bool:
    """Whether the words say how something is rather than what it is: 'expired', 'too long', 'a great way'."""
    for word in value.split()[:4]:
        if word in _STATES or _STATE_WORD.fullmatch(word):
            return True
        if word not in ("a", "an", "the") and not (word.islower() and word.endswith("ly")):
            return False
    return False
