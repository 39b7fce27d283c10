"""Which type a memory is of, and which of its sentences belong to which facet (M1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fivefold.text.text_caches import text_cache
from fivefold.text.triggers import words_of
from fivefold.values.memory import Facet, Type
from fivefold.writing.extract import wordings
from fivefold.writing.extract.standing import is_about_user, is_standing, statement_in

_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)\s+|\n+")
_MAX_FACET = 600
_BEGINNING = 300
"""Characters of a text in which somebody may have done something; what comes after is its detail."""
_MIN_STATEMENT_WORDS = 3
"""Words of the shortest sentence that can be a text's main statement; a greeting has fewer."""


def type_of(text: str, by_user: str | None = None) -> Type:
    """Fact unless the wording says otherwise; a preference goes before an event, unless it is reported speech.

    Instructions to the assistant count in `by_user`, the part of the text that the user says; without it, everywhere.
    """
    if wordings.PROCEDURE.occurs(text) or wordings.TO_DO.match(text):
        return "procedure"
    if wordings.SPOKE_TO.occurs(text):
        return "event"
    if _likes(text) or _instructs(text, by_user):
        return "preference"
    if _happens(text):
        return "event"
    if wordings.ENTITY.occurs(text):
        return "entity"
    return "event" if _happened(text) else "fact"


def facets_of(text: str, by_user: str | None = None) -> dict[Facet, str]:
    """The sentences about the person, what they like or want of the assistant, and what happened.

    A facet without a sentence is absent. Instructions to the assistant count in `by_user`, as in `type_of`.
    """
    sentences = _sentences(text)
    stated = [sentence for sentence in sentences if not sentence.endswith("?")]
    told = _instructions(text, by_user)
    facets: dict[Facet, list[str]] = {
        "personal_info": _about(text, stated, wordings.PERSONAL.occurs),
        "preferences": [sentence for sentence in sentences if sentence in told or _states_taste(sentence, text)],
        "events": _about(text, stated, _happens),
    }
    return {facet: " ".join(found)[:_MAX_FACET] for facet, found in facets.items() if found}


@text_cache(256)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(_BETWEEN_SENTENCES.split(text))


def _about(text: str, sentences: Sequence[str], says: Callable[[str], bool]) -> list[str]:
    """The sentences that say it, if the text says it anywhere."""
    return list(filter(says, sentences)) if says(text) else []


def _states_taste(sentence: str, text: str) -> bool:
    """Whether a sentence, or a question's part that states something, says what somebody likes."""
    return _likes(text) and _likes(statement_in(sentence))


def _instructions(text: str, by_user: str | None) -> set[str]:
    """The sentences that tell the assistant what to do: the user's own, and what others note about the user."""
    own = None if by_user is None else set(_sentences(by_user))
    return {
        sentence
        for sentence in _sentences(text)
        if (own is None or sentence in own or is_about_user(sentence)) and is_standing(sentence)
    }


def _instructs(text: str, by_user: str | None) -> bool:
    """Whether the main statement of a text is an instruction to the assistant: its first one, or half of the text."""
    told = _instructions(text, by_user)
    if not told:
        return False
    statements = [sentence for sentence in _sentences(text) if len(sentence.split()) >= _MIN_STATEMENT_WORDS]
    length = sum(len(sentence) for sentence in statements if sentence in told)
    return (bool(statements) and statements[0] in told) or 2 * length >= sum(map(len, statements))


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
