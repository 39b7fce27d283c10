"""Shared words: BM25 over predicate and content (R4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fivefold.retrieval.routes.base import SearchContext, Searching
from fivefold.stores.queries import Filter
from fivefold.text.lexemes import lexemes
from fivefold.values.query import Query
from fivefold.values.recall import RouteHit

MAX_LEXEMES = 256
"""A question longer than this is searched by its first lexemes; more would only slow it."""

_ASKING = "happen happened happening go going went do talk talked discuss discussed say said tell told"
"""Words that ask for anything at all; beside a time they say nothing of the subject."""


@dataclass(frozen=True, slots=True)
class LexicalOptions:
    """Whether the words are looked for in turns and notes, or in whole sessions."""

    of: Literal["turns", "sessions"] = "turns"


class Lexical(Searching):
    """Scores are BM25, unbounded; as a share of 1 they are taken relative to the list's best."""

    options = LexicalOptions

    def sessions(self, options: LexicalOptions) -> bool:
        return options.of == "sessions"

    def unable(self, query: Query) -> str | None:
        return None if query.lexemes else "the question has only stop words"

    def idle(self, query: Query) -> str | None:
        """A bare time gains nothing from the words it is made of."""
        if query.window is None:
            return None
        rest = set(query.lexemes) - set(lexemes(query.window.text)) - set(lexemes(_ASKING))
        return None if rest else f"the question asks for {query.window.text!r} and no subject"

    def search(self, search: SearchContext, depth: int, keep: Filter, options: LexicalOptions) -> list[RouteHit]:
        return search.reader.lexical(words(search.query), depth, replace(keep, sessions=options.of == "sessions"))

    def share(self, scores: Sequence[float]) -> list[float]:
        best = max(scores, default=0.0)
        return [max(0.0, score / best) if best > 0 else 0.0 for score in scores]


def words(query: Query) -> tuple[str, ...]:
    """The lexemes a question is searched by."""
    return query.lexemes[:MAX_LEXEMES]
