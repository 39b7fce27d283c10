"""How much a memory is likely to matter, and how good a memory it is; both in 0..1."""

from __future__ import annotations

import re

from fivefold.text.triggers import Pattern, words_of
from fivefold.values.extraction import Mention
from fivefold.values.memory import Type

_FIRST_PERSON = Pattern("i \u0131 my me we our", r"\b(?:i|my|me|we|our)\b", re.IGNORECASE)
_PHATIC = re.compile(
    r"^(?:ok(?:ay)?|thanks?(?: you)?|cheers|great|cool|nice|sure|yes|yeah|no|nope|hi|hey|hello|bye|lol|haha|wow|got it"
    r"|sounds good|good (?:morning|night|luck)|that helps|perfect)\b",
    re.IGNORECASE,
)
_BY_TYPE: dict[Type, float] = {"fact": 0.05, "preference": 0.2, "event": 0.1, "entity": 0.15, "procedure": 0.15}


def importance(text: str, kind: Type, mentions: tuple[Mention, ...], states: bool) -> float:
    """Preferences, statements about people and figures matter; small talk and questions do not."""
    words = len(text.split())
    names = sum(1 for mention in mentions if mention.kind != "topic")
    score = 0.3 + _BY_TYPE[kind] + min(0.2, 0.07 * names)
    score += 0.1 * ("#" in words_of(text)) + 0.15 * states + 0.05 * _FIRST_PERSON.occurs(text)
    score -= 0.15 * text.rstrip().endswith("?") + 0.2 * (words < 5) + 0.15 * (words < 12 and bool(_PHATIC.match(text)))
    return round(min(1.0, max(0.05, score)), 3)


def memory_score(text: str, mentions: tuple[Mention, ...]) -> float:
    """The stored quality of M4: long enough to stand alone, short enough to be about one thing, specific."""
    words = len(text.split())
    length = min(1.0, words / 12) if words <= 60 else max(0.4, 60 / words)
    specific = min(1.0, 0.25 * len(mentions) + 0.25 * ("#" in words_of(text)))
    statement = 0.0 if text.rstrip().endswith("?") else 1.0
    return round(0.4 * length + 0.4 * specific + 0.2 * statement, 3)
