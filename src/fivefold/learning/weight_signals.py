"""The three signals of each hit that predicted weights combine; the recall log keeps them for learning (D12)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from fivefold.values.recall import Recall
from fivefold.values.serialize import Value

SEARCHES = ("dense", "recency", "frequency")
"""The kinds of route whose scores are the three signals, in the order of the weights."""


@dataclass(frozen=True, slots=True)
class ShownHit(Value):
    """One hit of a shown list: its three signals, each in 0..1, and whether it was used."""

    similarity: float
    recency: float
    frequency: float
    used: bool


def shown_hits(recall: Recall, used: Collection[str]) -> tuple[ShownHit, ...]:
    """The hits of a recall with their signals; () where the recipe weighs neither recency nor frequency."""
    kinds = {part.route: part.search for part in recall.plan.routes if part.run}
    if not {"recency", "frequency"} & set(kinds.values()):
        return ()
    hits = []
    for hit in recall.hits:
        scores = {kinds[item.route]: item.score for item in hit.candidate.evidence if item.route in kinds}
        similarity, recency, frequency = (min(1.0, max(0.0, scores.get(search, 0.0))) for search in SEARCHES)
        hits.append(ShownHit(similarity, recency, frequency, hit.memory.id in used))
    return tuple(hits)


def weight_signals(recall: Recall) -> dict[str, Any] | None:
    """What the log keeps of a recall: the global weights and each hit's signals; None without predicted weights."""
    weights, signals = recall.query.weights, shown_hits(recall, ())
    if weights is None or not signals:
        return None
    before = weights.before or (weights.similarity, weights.recency, weights.frequency)
    hits = [
        [hit.memory.id, item.similarity, item.recency, item.frequency]
        for hit, item in zip(recall, signals, strict=True)
    ]
    return {"weights": list(before), "hits": hits}
