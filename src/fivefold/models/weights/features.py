"""Six numbers read off a query's words (D4): what an embedding blurs and a keyword says plainly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from fivefold.text.lexemes import phrase_lines

Asked = Literal["temporal", "frequency"]


@cache
def cues(kind: Asked) -> re.Pattern[str]:
    """For lower-case text; group 1 is there if the word asks for it by itself."""
    firm, loose = ("|".join(_lines()[f"{strength} {kind}"]) for strength in ("firm", "loose"))
    return re.compile(rf"(?<![\w-])(?:({firm})|{loose})(?![\w-])")


@cache
def past() -> re.Pattern[str]:
    """Words that name a stretch of the past for good: the newest memory is not nearer to them than others."""
    return re.compile(rf"\b(?:{'|'.join(_lines()['past'])})\b")


def _lines() -> dict[str, list[str]]:
    return phrase_lines("fivefold.models.weights", "data/cues.txt")


_PAID = (
    "(?:bills?|payments?|costs?|expenses?|subscriptions?|charges?|prescriptions?|instalments?|fees?|premiums?"
    "|contributions?|donations?|transfers?|deliver(?:y|ies)|appointments?)"
)
MENTIONED = re.compile(
    r"\b(?:the (?:word|phrase|song(?! i| we| you| that| from| about))|lyrics (?:of|to)|chords (?:for|of)|who sang"
    r"|(?:called|named|titled)(?! (?:me|us|off|back|today|tonight|yesterday|this|last|since|again|just|while|most)\b)"
    r")(?: [\w'’]+){1,4}"
    r"|\b(?:another word|synonym|opposite|translation|meaning) (?:for|of) \S+"
    r"|\b(?:say|write|spell|pronounce|translate|is) \S+ (?:in [a-z]+$|spelled)"
    rf"|\b(?:recurring|regular|standing|monthly|weekly|daily) {_PAID}\b|\bfrequent flyer\b|\bregular expressions?\b"
)
"""Words spoken of rather than used ("who sang Yesterday"), and names of things that hold a keyword."""

MIN_CUE_LETTERS = 5
"""Shorter words are not mended: one slip makes another word of them too often."""

_WORD = re.compile(r"[a-z]{4,}")


@cache
def _mended() -> dict[str, str]:
    """The cue word of each slip; a word that is a cue itself stays."""
    kinds = ("firm temporal", "firm frequency", "loose temporal", "loose frequency")
    patterns = " ".join(line for kind in kinds for line in _lines()[kind])
    words = {word for word in re.findall(r"(?<![a-z])[a-z]+(?![a-z])", patterns) if len(word) >= MIN_CUE_LETTERS}
    return {slip: word for word in sorted(words) for slip in _slips(word) if slip not in words}


def _slips(word: str) -> Iterator[str]:
    for at in range(1, len(word) - 1):
        if len(word) > MIN_CUE_LETTERS:
            yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        if word[at] != word[at + 1]:
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


FEATURE_COUNT = 6
"""Number of features; the model's input width depends on it."""

LONG_QUERY_WORDS = 24
"""Words at which a query counts as long."""

SPECIFIC_NAMES = 3
"""Names, codes and numbers at which a query counts as fully specific."""

MAX_READ_CHARACTERS = 2_000
"""Characters that are read: a pasted page says nothing more about how to search."""

_FEATURES_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b(?!I\b|I['’])[A-Z][\w’'-]*|\b\w*\d\w*\b|\b\w+_\w+\b|[\"“][^\"”]+[\"”]")
_TITLE = re.compile(r"\b[A-Z][\w'’]*(?: (?:of|the|and|in|a|an|to|on|Me|with))* [A-Z][\w'’]*|[\"“][^\"”]+[\"”]")
_GREETING = re.compile(
    r"^(?:(?:now|so|well|ok|okay|ok so|oh and|by the way|one more thing|(?:next|last|quick|one last) question|question"
    r"|please|hi|hey|hey there|hello|yo|um|uhm|hmm|actually|listen|alright|sorry|just curious|out of interest"
    r"|remind me(?: again)?|tell me|(?:can|could) you tell me(?: please)?|i[’']?d like to know|for my notes)[,:]+ )+"
    r"(?=\S+ )"
)
_THANKS = re.compile(
    r"(?:,? (?:please|pls|thanks|thank you|thx|cheers|mate|asap|if you (?:know|remember|don[’']?t mind)|can you tell me"
    r"|do you remember|i can[’']?t recall|i forgot|off the top of your head|in one sentence|briefly|in short|for me"
    r"|just roughly|when you have a minute))+$"
)
"""Words of politeness around a question: "next question:" asks for nothing new, and "please" ends nothing."""


def features(text: str) -> npt.NDArray[np.float32]:
    """Length, temporal, frequency, their densities, specificity, in 0..1. "In May 2019" is a name, no wish for news."""
    text = " ".join(text[:MAX_READ_CHARACTERS].split())
    words = max(1, len(_FEATURES_WORD.findall(text)))
    shouted = text.isupper()
    plain = (text if shouted else _TITLE.sub(_replace_title, text)).lower()
    plain = _GREETING.sub("", _WORD.sub(lambda word: _mended().get(word[0], word[0]), plain)).rstrip(" ?.!")
    plain = MENTIONED.sub("it", _THANKS.sub("", plain).rstrip(" ,?.!"))
    dated = past().search(plain) is not None
    temporal, asks_new = (0, False) if dated else _count_words(cues("temporal"), plain)
    frequency, asks_often = _count_words(cues("frequency"), plain)
    return np.array(
        [
            min(1.0, words / LONG_QUERY_WORDS),
            float(asks_new),
            float(asks_often),
            min(1.0, temporal / words),
            min(1.0, frequency / words),
            1.0 if dated else 0.0 if shouted else min(1.0, len(_NAME.findall(text)) / SPECIFIC_NAMES),
        ],
        dtype=np.float32,
    )


def _replace_title(match: re.Match[str]) -> str:
    """Removes the words of a title such as The Late Show, which ask for nothing; weekdays and I are not titles."""
    text = match[0]
    if re.search(r"\bI\b|\bI['’]|day\b(?!s)", text) and text[0] not in '"“':
        return text
    return "it"


def _count_words(pattern: re.Pattern[str], text: str) -> tuple[int, bool]:
    """Number of words that the pattern's matches span, and True if a firm one is among them."""
    matches = list(pattern.finditer(text))
    return sum(match[0].count(" ") + 1 for match in matches), any(match[1] for match in matches)
