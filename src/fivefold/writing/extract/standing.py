"""Standing instructions: sentences that tell an assistant how to act from now on, such as "never use semicolons" (M1).

A habit ("I always wake at six"), an order for one time ("write me a poem") and a saying ("never mind") are not
instructions. The sentence or a clause of it must begin with the instruction, so that reported speech does not count.
"""

from __future__ import annotations

import re
from functools import cache

from fivefold.text.phrases import lower_case, phrase
from fivefold.text.text_caches import text_cache
from fivefold.text.triggers import words_of

MAX_SENTENCE = 600
"""Characters of a sentence that are read: an instruction stands near its beginning."""
_MAX_GAP = 200
"""Characters between an order and the words that say when it holds."""

_TRIGGERS = frozenset(
    "always never ever future forward henceforth default otherwise unless whenever time times now today point here "
    "when if make sure remember forget try keep call address refer spell don not stop quit avoid skip drop omit leave "
    "no want need like love prefer expect appreciate ask require should must ought shouldn mustn cannot can have use "
    "for in only you user".split()
)

_ABOUT_USER = re.compile(r"\W*(?:the )?user\b", re.IGNORECASE)


@text_cache(256)
def is_standing(sentence: str) -> bool:
    """Whether a sentence tells an assistant what to do from now on."""
    if _TRIGGERS.isdisjoint(words_of(sentence)):
        return False
    text = lower_case(sentence[:MAX_SENTENCE])
    opening = _phrase("opening").match(text)
    starts = [opening.end()] if opening else []
    starts += [match.end() for match in _phrase("inside").finditer(text)]
    return any(_instructs(text, start) for start in starts)


def _instructs(text: str, start: int) -> bool:
    """Whether an instruction begins at a place of a lower-case text."""
    if _phrase("instruction").match(text, start):
        return True
    for lead, rest in (("before style", "style"), ("before verb", "verb"), ("before verb", "named")):
        match = _phrase(lead).match(text, start)
        if match and _phrase(rest).match(text, match.end()):
            return True
    for lead, rest in (("order", "every time"), ("case", "then"), ("topic case", "then at once")):
        match = _phrase(lead).match(text, start)
        if match and _phrase(rest).search(text, match.end(), match.end() + _MAX_GAP):
            return True
    return False


def is_about_user(sentence: str) -> bool:
    """Whether somebody else writes about the user: "The user wants short answers"."""
    return _ABOUT_USER.match(sentence) is not None


def statement_in(sentence: str) -> str:
    """The part of a sentence that states something: all of it, or of a question what stands before or behind it.

    "I prefer Android phones, can you recommend some?" states a preference; "Did I say that I prefer tea?" does not.
    """
    if not sentence.endswith("?"):
        return sentence
    sentence = sentence[:MAX_SENTENCE]
    text = lower_case(sentence)
    question = _phrase("question").search(text)
    if question is None or _phrase("supposed").match(text):
        return ""
    if text[: question.start()].strip():
        return sentence[: question.start()]
    reason = _phrase("reason").search(text) if _phrase("advice").match(text) else None
    return sentence[reason.end() :] if reason else ""


@cache
def _phrase(name: str) -> re.Pattern[str]:
    return phrase("fivefold.writing.extract", "data/standing.txt", name)
