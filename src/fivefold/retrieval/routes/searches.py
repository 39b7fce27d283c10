"""The parts of a question searched one by one, so that none is crowded out by another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fivefold.retrieval.best_passage import lucky_gain
from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.settings import Settings
from fivefold.stores.records import Arm
from fivefold.text.lexemes import lexemes
from fivefold.values.fields import About
from fivefold.values.filters import Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import VectorField

# Nearness in meaning: cosine between the question's vector and the memory's.

SPREAD = 0.095
"""The standard deviation of the cosine over passages that have nothing to do with a question, as measured."""


@dataclass(frozen=True, slots=True)
class DenseOptions:
    """Which of a memory's texts is compared (M1), and whether the session is found to which it belongs (M5)."""

    field: Annotated[VectorField, About("Which text of a memory is compared")] = "full"
    of: Annotated[
        Literal["memories", "sessions"],
        About("Whether the memories themselves are found, or whole sessions by the best of their turns"),
    ] = "memories"


class Dense(BaseRoute):
    """Scores are cosines; below zero means unrelated and counts as nothing."""

    encodes = True
    options = DenseOptions

    def finds_sessions(self, options: DenseOptions) -> bool:
        return options.field == "session" or options.of == "sessions"

    def vector_fields(self, options: DenseOptions) -> tuple[VectorField, ...]:
        if options.field in ("user", "assistant", "next_user"):
            return ("full", options.field)
        return ("full", "passage") if options.field == "full" else (options.field,)

    def search(self, context: SearchContext, depth: int, keep: Filter, options: DenseOptions) -> list[RouteHit]:
        if context.space is None:
            return []
        search, vector = context.reader.search.dense, context.question_vector()
        if options.of == "sessions":
            arm = Arm("sessions", depth, 1.0, options.field, sessions=True)
            fused = context.reader.search.rrf(context.space, vector, (), [arm], 1.0, keep)
            return [RouteHit(hit.row, hit.score) for hit in fused]
        hits = search(context.space, options.field, vector, depth, keep)
        if options.field != "full":
            return hits
        return _with_passages(hits, search(context.space, "passage", vector, depth, keep), context, depth)

    def normalize(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]


def _with_passages(
    hits: list[RouteHit], passages: list[RouteHit], context: SearchContext, depth: int
) -> list[RouteHit]:
    """A long text counts as a whole or by its best passage, less what the best of many gains by chance."""
    if not passages or context.space is None:
        return hits
    best = {hit.row: hit for hit in reversed(passages)}
    counts = context.reader.search.passage_vectors(context.space, list(best))
    lowered = [
        replace(
            hit,
            score=hit.score - lucky_gain(len(counts[row]), SPREAD),
            note=f"passage {hit.part + 1} of {len(counts[row])}",
        )
        for row, hit in best.items()
        if row in counts
    ]
    found: dict[int, RouteHit] = {}
    for hit in (*hits, *lowered):
        if hit.row not in found or hit.score > found[hit.row].score:
            found[hit.row] = hit
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.row))[:depth]


# Shared words: BM25 over predicate and content (R4).

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


class Parts(BaseRoute):
    """The best of each part by BM25, the parts in turn: 1 for the first of each, then 1/2, 1/3, …"""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.parts else "the question has one part"

    def describe_limits(self, query: Query, settings: Settings) -> str:
        return "of each of " + ", ".join(repr(part) for part in query.parts)

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        best: dict[int, RouteHit] = {}
        for part in context.query.parts:
            for place, hit in enumerate(context.reader.search.lexical(lexemes(part), depth, keep), 1):
                if hit.row not in best or 1 / place > best[hit.row].score:
                    best[hit.row] = RouteHit(hit.row, 1 / place, note=f"for {part!r}")
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.row))[:depth]
