"""Shared words: BM25 over predicate and content (R4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fivefold.retrieval.routes.base import BaseRoute, SearchContext
from fivefold.text.lexemes import lexemes
from fivefold.values.field_types import About
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit

MAX_LEXEMES = 256
"""A question longer than this is searched by its first lexemes; more would only slow it."""

_ASKING = "happen happened happening go going went do talk talked discuss discussed say said tell told"
"""Words that ask for anything at all; next to a time they say nothing about the subject."""


@dataclass(frozen=True, slots=True)
class LexicalOptions:
    """Where the words are looked for, and how one in the short predicate weighs four times one in the content (R4)."""

    of: Annotated[
        Literal["turns", "sessions"], About("Whether words are searched in turns and notes, or in whole sessions")
    ] = "turns"
    predicate: Annotated[
        Literal["count", "score"],
        About(
            "How a word in the predicate weighs four times one in the content: it counts as four places, or what it "
            "adds to the score is multiplied (R4)"
        ),
    ] = "count"


class Lexical(BaseRoute):
    """Scores are BM25, unbounded; normalized, they are relative to the best of the list."""

    options = LexicalOptions

    def finds_sessions(self, options: LexicalOptions) -> bool:
        return options.of == "sessions"

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        """A question without words has nothing to look for, and a bare time gains nothing from its own words."""
        if not query.lexemes:
            return "the question has only stop words"
        if query.window is None or not optimize:
            return None
        rest = set(query.lexemes) - set(lexemes(query.window.text)) - set(lexemes(_ASKING))
        return None if rest else f"the question asks for {query.window.text!r} and no subject"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: LexicalOptions) -> list[RouteHit]:
        return context.reader.search.lexical(
            words(context.query),
            depth,
            keep,
            sessions=options.of == "sessions",
            multiplied=options.predicate == "score",
        )

    def normalize(self, scores: Sequence[float]) -> list[float]:
        best = max(scores, default=0.0)
        return [max(0.0, score / best) if best > 0 else 0.0 for score in scores]


def words(query: Query) -> tuple[str, ...]:
    """The lexemes a question is searched by."""
    return query.lexemes[:MAX_LEXEMES]
