"""What a question is about besides its time: the words left when those of asking and of time are taken away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from fivefold.text.calendar_words import MONTH_NAMES, NUMBERS, WEEKDAY_NAMES
from fivefold.text.lexemes import stop_words
from fivefold.text.patterns import phrase
from fivefold.values.memory import Type
from fivefold.values.query import Cue

# Trigger words of a question: its intent (E1), the types of memory it implies (R2, R9), and how far to look.

INTENTS: dict[str, re.Pattern[str]] = {
    "why": re.compile(r"\b(?:why|because|reason|cause|led to|resulted in)\b", re.IGNORECASE),
    "when": re.compile(r"\b(?:when|date|time|before|after|during|timeline|history)\b", re.IGNORECASE),
    "who": re.compile(r"\b(?:who|person|people|team|built|created|wrote)\b", re.IGNORECASE),
    "how": re.compile(r"\b(?:how to|steps|procedure|process|workflow|debug|fix)\b", re.IGNORECASE),
}
"""The words of each intent; a question with none of them asks 'what'. The first that holds is the main one."""

TYPES: dict[Type, re.Pattern[str]] = {
    "preference": re.compile(
        r"\b(?:prefer(?:red|s|ences?)?|my default|settings?|configured?"
        r"|(?:do|did|would|does) (?:i|we|you|he|she|they|\w+) (?:\w+ )?(?:like|want|hate|love|enjoy)"
        r"|(?:i|we) (?:like|want|love|hate|enjoy)|can't stand|favou?rite)\b",
        re.IGNORECASE,
    ),
    "event": re.compile(r"\b(?:when did|at what time|happen(?:s|ed|ing)?|occurred|was it|did i)\b", re.IGNORECASE),
    "entity": re.compile(r"\b[Ww]ho(?: is|'s|’s)\b|\b[Ww]hat is [A-Z]\w+|\b[Tt]ell me about [A-Z]\w+"),
}
"""The trigger words of each type."""

PLAIN: dict[Type, re.Pattern[str]] = {"preference": re.compile(r"\b(?:like|want)\b", re.IGNORECASE)}
"""Triggers that stand in other sentences too, such as “what is it like”; they count if there is no other."""

_MANY_HOPS = re.compile(
    r"\bwho (?:does|do) .{2,60}? (?:work|know|live|report)\w* .{0,40}?\b(?:who|that|which)\b"
    r"|\w(?:'s|’s) \w+(?:'s|’s) \w+"
    r"|\bwhose .{2,40}? (?:is|are|was) .{2,40}?\b(?:'s|’s)|\bfriends? of (?:a |my |his |her )?friends?\b",
    re.IGNORECASE,
)
_RECENT = re.compile(r"\b(?:recent|latest|newest|most recent|last time|just now|these days|nowadays)\b", re.IGNORECASE)

CueKind = Literal["intent", "type", "many hops", "recent"]


def find_cues(question: str) -> tuple[Cue, ...]:
    """Every trigger of the question, with the words that triggered it; several may hold at once."""
    return tuple(_cues(question))


def main_intent(cues: tuple[Cue, ...]) -> str:
    return next((cue.value for cue in cues if cue.kind == "intent"), "what")


def implied_types(cues: tuple[Cue, ...]) -> tuple[Type, ...]:
    return tuple(name for name in TYPES if any(cue.kind == "type" and cue.value == name for cue in cues))


def is_plain(cues: tuple[Cue, ...], type: Type) -> bool:
    """Whether only a word implies the type that stands in other sentences too."""
    return any(
        cue.kind == "type" and cue.value == type and type in PLAIN and PLAIN[type].fullmatch(cue.text) for cue in cues
    )


def _cues(question: str) -> Iterator[Cue]:
    tables: tuple[tuple[CueKind, dict[str, re.Pattern[str]]], ...] = (
        ("intent", INTENTS),
        ("type", {str(name): pattern for name, pattern in TYPES.items()}),
        ("many hops", {"3": _MANY_HOPS}),
        ("recent", {"recent": _RECENT}),
    )
    plain = {str(name): pattern for name, pattern in PLAIN.items()}
    for kind, table in tables:
        for value, pattern in table.items():
            match = pattern.search(question) or (plain[value].search(question) if value in plain else None)
            if match:
                yield Cue(kind, value, match[0], match.start())


# The phrases by which a question demands something, read from `data/demands.txt`.


def phrases(name: str) -> re.Pattern[str]:
    """The pattern of a section: any of its lines, as whole words of a lower-case text."""
    return phrase("fivefold.retrieval.understand", "data/demands.txt", name)


_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ENDING = re.compile(r"['’](?:s|re|m|d|ve|ll)$")

_ASKING = """
did do does done doing happen happens happened happening plan plans planned planning scheduled schedule calendar
agenda diary going go gone went get got come comes coming came up on off say says said saying tell tells told telling
talk talks talked talking speak spoke discuss discussed mention mentioned chat chatted write wrote written note noted
notes record recorded know remember remind recall show give list summary summarise summarize recap find look see event
events thing things stuff anything something everything nothing appointment appointments date dates meeting meetings
new news else important special interesting big busy free like good have has had having gotta need needs be been being
was were is are am will would shall should can could may might please pls hey hi hello ok okay again exactly actually
really so far all whole entire every lot bit much many there what's whats who's whos when's whens where's wheres how's
hows im ive i'd id u ur me you us we n abt about ever yet spend spent make made take took keep order memory memories
conversation conversations session sessions lined
"""
"""Words that a question about a time and nothing else is made of."""

_TIME = """
day days night nights morning mornings afternoon evening evenings noon midnight week weeks weekend weekends month
months year years quarter season spring summer autumn fall winter today tonight yesterday tomorrow tmrw now recently
lately soon upcoming ahead ago before after since until till during between early late middle mid end start beginning
first last next this that past previous coming following final rest second third fourth time times date christmas
easter new eve other while later earlier back hour hours minute minutes
"""

_EMPTY = frozenset((*_ASKING.split(), *_TIME.split(), *MONTH_NAMES, *WEEKDAY_NAMES, *NUMBERS))


def subject_words(question: str, time_text: str = "") -> list[str]:
    """The words of the question that name a subject, in lower case; those of `time_text` are none."""
    for part in time_text.split(" … "):
        question = question.replace(part, " ", 1) if part else question
    words = (_ENDING.sub("", match[0].casefold()) for match in _WORD.finditer(question))
    stop = stop_words()
    return [word for word in words if word not in _EMPTY and word not in stop and not word[0].isdigit()]
