"""Which type a memory is of, and which of its sentences belong to which facet (M1)."""

from __future__ import annotations

import re
from collections.abc import Callable

from fivefold.text.text_caches import text_cache
from fivefold.text.triggers import words_of
from fivefold.values.memory import Facet, Type
from fivefold.writing.extract import wordings

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_MAX_FACET = 600
_BEGINNING = 300
"""Characters of a text in which somebody may have done something; what comes after is its detail."""


def type_of(text: str) -> Type:
    """Fact unless the wording says otherwise; a preference goes before an event, unless it is reported speech."""
    if wordings.PROCEDURE.occurs(text) or wordings.TO_DO.match(text):
        return "procedure"
    if wordings.SPOKE_TO.occurs(text):
        return "event"
    if _likes(text):
        return "preference"
    if _happens(text):
        return "event"
    if wordings.ENTITY.occurs(text):
        return "entity"
    return "event" if _happened(text) else "fact"


def facets_of(text: str) -> dict[Facet, str]:
    """The sentences about the person, what they like, and what happened; a facet without a sentence is absent."""
    readings: tuple[tuple[Facet, Callable[[str], object]], ...] = (
        ("personal_info", wordings.PERSONAL.occurs),
        ("preferences", _likes),
        ("events", _happens),
    )
    spoken = [(facet, says) for facet, says in readings if says(text)]
    if not spoken:
        return {}
    sentences = [sentence for sentence in _SENTENCES.split(text) if not sentence.endswith("?")]
    facets = {facet: " ".join(filter(says, sentences))[:_MAX_FACET] for facet, says in spoken}
    return {facet: text for facet, text in facets.items() if text}


@text_cache(256)
def _likes(text: str) -> bool:
    """Tastes, and what is not eaten or borne: both are what a suggestion has to know."""
    return wordings.PREFERENCE.occurs(text) or wordings.DIET.occurs(text)


@text_cache(256)
def _happens(text: str) -> bool:
    """Births and deaths, what was done, and what is planned for a day."""
    if wordings.LIFE.occurs(text) or wordings.DONE.occurs(text):
        return True
    planned = wordings.PLANNED.occurs(text)
    if wordings.DAY.occurs(text) and (planned or not wordings.HABIT.occurs(text)):
        return True
    return planned and wordings.PERIOD.occurs(text)


def _happened(text: str) -> bool:
    """Whether the text tells what somebody did, without a day: its first sentence, if that is no state."""
    if not any(word.endswith("ed") or word in wordings.IRREGULAR for word in words_of(text[:_BEGINNING])):
        return False  # a quick look, right for many
    return wordings.STATE_FIRST.match(text) is None and wordings.HAPPENED.search(text[:_BEGINNING]) is not None
