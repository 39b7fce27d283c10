"""Where everything of a kind is asked for, turns that add nothing to the list make room for others (N3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.base import Pool, are_short, best_first
from fivefold.text.lexemes import lexemes
from fivefold.text.text_caches import text_cache
from fivefold.values.fields import About, Between
from fivefold.values.recall_trace import Candidate
from fivefold.values.serialize import Value

# The lexemes of a memory's text; the best memories come up again and again.

KEPT = 2_048
"""Short texts whose lexemes are kept, of all recalls."""


@text_cache(KEPT)
def words_of(text: str) -> frozenset[str]:
    """Each lexeme of the text once."""
    return frozenset(lexemes(text))


STAGE = "coverage"

ASKING = frozenset({"ask", "question"})
"""Lexemes of a question that wants questions."""

_QUESTIONS = re.compile(
    r"(?:\s*(?:(?:and|but|so|then|well|oh|or)\b,?\s*)?(?:how|what|which|who|whom|whose|where|when|why|any|anything|do"
    r"|does|did|is|are|was|were|am|can|could|will|would|shall|should|have|has|had|may|might|isn|aren|don|didn|doesn)\b"
    r"[^?.!]*\?+)+\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Coverage(Value):
    """When a turn adds nothing to a list, and what that leaves of its score."""

    each: Annotated[int, Between(1, 100), About("How many statements of a session count whatever their words")] = 2
    new: Annotated[
        float,
        Between(0, 1),
        About("The share of words that a further one must have of its own, not of the question or its session"),
    ] = 0.5
    factor: Annotated[float, Between(0, 1), About("What is left of the score of one that adds nothing")] = 0.01


def coverage(pool: Pool, context: SearchContext, by: Coverage) -> Pool:
    """A list wants many things rather than many variants of one: a turn that adds nothing steps back.

    It adds nothing if it only asks, or if its words are those of the question and of better turns of its session.
    Long messages say several things each, so there the order stays.
    """
    if context.unit == "session" or context.query.demand("list", "count") is None:
        return pool
    if not are_short([candidate.memory for candidate in pool.candidates]):
        return pool
    empty = {candidate.memory.id: why for candidate, why in _without_news(pool, context, by)}
    if not empty:
        return pool
    return pool.with_candidates(
        one.with_step(STAGE, one.score * by.factor, f"× {by.factor:g}, {empty[one.memory.id]}")
        if one.memory.id in empty
        else one
        for one in pool.candidates
    )


def _without_news(pool: Pool, context: SearchContext, by: Coverage) -> Iterator[tuple[Candidate, str]]:
    """The turns that add nothing, each with the reason."""
    asked = set(context.query.lexemes)
    said: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    for candidate in best_first(pool.candidates):
        memory = candidate.memory
        if memory.session_id is None or memory.kind == "session":
            continue
        words, known = words_of(memory.content), said.setdefault(memory.session_id, set(asked))
        new = len(words - known) / max(1, len(words))
        known |= words
        if only_asks(memory.content) and not ASKING & asked:
            yield candidate, "it only asks"
        elif counts.setdefault(memory.session_id, 0) < by.each:
            counts[memory.session_id] += 1
        elif new <= by.new:
            yield candidate, f"the question and its session have {1 - new:.0%} of its words"


def only_asks(text: str) -> bool:
    """Whether all sentences of a text are plain questions; "I bought a tent, is it dry?" states something too."""
    return _QUESTIONS.fullmatch(text) is not None
