"""Whom a name meant in past questions: the prior of a name that may mean several (R7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fivefold.stores.protocol import PastQuestion, Reader
from fivefold.stores.queries import AliasMatch

MOST_QUESTIONS = 300
"""How many of the last recalls are looked at for a name, so that a long log costs no more than a short one."""


def past_meanings(name: str, candidates: Sequence[AliasMatch], reader: Reader) -> dict[int, float]:
    """In how many past questions the name meant each candidate; a question whose answers mention several is shared.

    A whole name says itself whom it means. Otherwise the memories that were used say it, or without feedback the best.
    """
    word = re.compile(rf"(?<!\w){re.escape(name.casefold())}(?!\w)")
    asked = [past for past in reader.feedback.past_questions(name, MOST_QUESTIONS) if word.search(past.text.casefold())]
    answers = sorted({id for past in asked for id in past.answers})
    mentions = reader.graph.mentions(answers, [item.entity for item in candidates]) if answers else {}
    counts = {item.entity: 0.0 for item in candidates}
    for past in asked:
        meant = _named(past.text, name, candidates) or _mentioned(past, mentions)
        for entity in meant:
            counts[entity] += 1 / len(meant)
    return counts


def prior(counts: Mapping[int, float], portions: Mapping[int, float]) -> dict[int, float]:
    """The shares of past questions; that of the memories counts as one more, and alone where none was asked."""
    total = sum(counts.values()) + 1
    return {entity: (counts.get(entity, 0.0) + portion) / total for entity, portion in portions.items()}


def _named(text: str, name: str, candidates: Sequence[AliasMatch]) -> set[int]:
    """The candidates whose whole name is in the question, where that is more than the name asked about."""
    folded = text.casefold()
    longer = [item for item in candidates if len(item.name) > len(name)]
    return {item.entity for item in longer if item.name.casefold() in folded}


def _mentioned(past: PastQuestion, mentions: Mapping[str, set[int]]) -> set[int]:
    return set().union(*(mentions.get(id, set()) for id in past.answers))
