"""Which type a memory is of, and which of its sentences belong to which facet (M1)."""

from __future__ import annotations

import re
from collections.abc import Callable

from fivefold.text.text_caches import text_cache
from fivefold.values.memory import Facet, Type
from fivefold.writing.extract import wordings

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_MAX_FACET = 600
_BEGINNING = 300
"""Characters of a text in which somebody may have done something; what comes after is its detail."""


def type_of(text: str) -> Type:
    """Fact unless the wording says otherwise; a preference goes before an event, unless it is reported speech."""
    if wordings.PROCEDURE.search(text) or wordings.TO_DO.match(text):
        return "procedure"
    if wordings.SPOKE_TO.search(text):
        return "event"
    if _likes(text):
        return "preference"
    if _happens(text):
        return "event"
    if wordings.ENTITY.search(text):
        return "entity"
    return "event" if _happened(text) else "fact"


def facets_of(text: str) -> dict[Facet, str]:
    """The sentences about the person, what they like, and what happened; a facet without a sentence is absent."""
    readings: tuple[tuple[Facet, Callable[[str], object]], ...] = (
        ("personal_info", wordings.PERSONAL.search),
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
    return bool(wordings.PREFERENCE.search(text) or wordings.DIET.search(text))


@text_cache(256)
def _happens(text: str) -> bool:
    """Births and deaths, what was done, and what is planned for a day."""
    if wordings.LIFE.search(text) or wordings.DONE.search(text):
        return True
    planned = wordings.PLANNED.search(text)
    if wordings.DAY.search(text) and (planned or not wordings.HABIT.search(text)):
        return True
    return bool(planned and wordings.PERIOD.search(text))


def _happened(text: str) -> bool:
    """Whether the text tells what somebody did, without a day: its first sentence, if that is no state."""
    return wordings.STATE_FIRST.match(text) is None and wordings.HAPPENED.search(text[:_BEGINNING]) is not None
