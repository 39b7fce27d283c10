"""Six numbers read off a query's words (D4): what an embedding blurs and a keyword says plainly."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from fivefold.models.weights.cue_words import FREQUENCY, MENTIONED, PAST, TEMPORAL
from fivefold.models.weights.mistyped_cues import mend_cues

COUNT = 6
"""How many features there are; the model's input width depends on it."""

LONG = 24
"""Words at which a query counts as long."""

NAMED = 3
"""Names, codes and numbers at which a query counts as fully specific."""

READ = 2_000
"""Characters that are read: a pasted page says nothing more about how to search."""

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
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
    """Length, has-temporal, has-frequency, temporal density, frequency density, specificity; each in 0..1.

    A date long gone ("in May 2019", "when we first met") is a name, not a wish for what is new.
    """
    text = " ".join(text[:READ].split())
    words = max(1, len(_WORD.findall(text)))
    shouted = text.isupper()
    plain = (text if shouted else _TITLE.sub(_replace_title, text)).lower()
    plain = _GREETING.sub("", mend_cues(plain)).rstrip(" ?.!")
    plain = MENTIONED.sub("it", _THANKS.sub("", plain).rstrip(" ,?.!"))
    dated = PAST.search(plain) is not None
    temporal, asks_new = (0, False) if dated else _count_words(TEMPORAL, plain)
    frequency, asks_often = _count_words(FREQUENCY, plain)
    return np.array(
        [
            min(1.0, words / LONG),
            float(asks_new),
            float(asks_often),
            min(1.0, temporal / words),
            min(1.0, frequency / words),
            1.0 if dated else 0.0 if shouted else min(1.0, len(_NAME.findall(text)) / NAMED),
        ],
        dtype=np.float32,
    )


def _replace_title(match: re.Match[str]) -> str:
    """A title such as The Late Show without its words, which are no request; weekdays and I are no titles."""
    text = match[0]
    if re.search(r"\bI\b|\bI['’]|day\b(?!s)", text) and text[0] not in '"“':
        return text
    return "it"


def _count_words(pattern: re.Pattern[str], text: str) -> tuple[int, bool]:
    """How many words the pattern's matches span, and whether a firm one is among them."""
    matches = list(pattern.finditer(text))
    return sum(match[0].count(" ") + 1 for match in matches), any(match[1] for match in matches)
