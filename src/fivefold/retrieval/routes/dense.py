"""Nearness in meaning: cosine between the question's vector and the memory's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fivefold.retrieval.best_passage import lucky_gain
from fivefold.retrieval.routes.base import BaseRoute, SearchContext
from fivefold.stores.queries import Arm
from fivefold.values.field_types import About
from fivefold.values.filters import Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import VectorField

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
