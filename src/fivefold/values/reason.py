"""One short reason why a memory came back, in words; the arithmetic is in the explanation."""

from __future__ import annotations

from fivefold.values.recall_trace import Candidate, WordMatch

SHOWN_WORDS = 3
"""How many words a reason names."""

SAME = 0.7
NEAR = 0.5
"""From which similarity on two words are the same in other forms, and from which they are near."""

ENDING = 3
"""Characters that a form of a word adds at most, such as "es" and "ing"."""

_BY_ROUTE = {
    "lexical": "has the same words",
    "graph": "is linked to whom or what is asked about",
    "temporal": "is from that time",
    "window": "is from that time",
    "parts": "answers a part of the question",
    "standing": "applies to what is asked for",
    "turns": "was said next to a turn that matches",
    "recency": "is recent",
    "frequency": "is used often",
    "associative": "comes to mind with what matches",
}
_OTHERWISE = "is close in meaning"
_SMALL = frozenset(
    "a about am an and any are as at be been but by can did do does for from had has have he her him his how i i'm "
    "i’m i'd i’d i've i’ve in is it its it's it’s me my no not of on or our she so that the their them there they this "
    "to us was we were what when where which who whom why will with you your".split()
)
"""Words that say nothing about why two texts belong together."""


def is_telling(match: WordMatch) -> bool:
    """Whether two words that met tell a person why: neither is a small word such as "I"."""
    return match.question.casefold() not in _SMALL and match.memory.casefold() not in _SMALL


def short_reason(candidate: Candidate) -> str:
    """The words that met, or what else brought it, in a few words."""
    matches = candidate.passage.words if candidate.passage else ()
    words = [match for match in matches if match.start >= 0 and is_telling(match)]
    time = _BY_ROUTE["window"] if any(item.route == "window" for item in candidate.evidence) else ""
    return "; ".join(filter(None, (_same(words), time))) or _near(words) or _route(candidate)


def _same(words: list[WordMatch]) -> str:
    """The words of the question that the memory has, as it writes them."""
    shown: dict[str, str] = {}
    for word in filter(_is_same, words):
        shown.setdefault(word.memory.casefold(), f"“{word.memory}”")
    return f"says {', '.join(list(shown.values())[:SHOWN_WORDS])}" if shown else ""


def _is_same(word: WordMatch) -> bool:
    """Whether both are forms of one word, which have the same first letter; "clock" is only near "time"."""
    said, asked = word.memory.casefold(), word.question.casefold()
    shorter, longer = sorted((said, asked), key=len)
    if longer.startswith(shorter) and len(longer) - len(shorter) <= ENDING:
        return True
    return word.similarity >= SAME and said[:1] == asked[:1]


def _near(words: list[WordMatch]) -> str:
    near = max((word for word in words if word.similarity >= NEAR), key=lambda word: word.similarity, default=None)
    return f"“{near.memory}” is near “{near.question}”" if near else ""


def _route(candidate: Candidate) -> str:
    best = max(candidate.evidence, key=lambda item: item.contribution, default=None)
    return _BY_ROUTE.get(best.route, _OTHERWISE) if best else _OTHERWISE
