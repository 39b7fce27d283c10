"""What the heads of the weight network say in a recall: the decay of the question, the weights of each result (D12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fivefold.learning.query_decay import QueryDecay, decay_for
from fivefold.models.binary import BadModel
from fivefold.models.weights import features, shipped
from fivefold.models.weights.heads import SignalHeads, Times, shipped_heads
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.routes.signals import RecencyOptions
from fivefold.stores.queries import FusedHit
from fivefold.text.time_grammar import EARLIEST
from fivefold.values.decay import Decay, age_in_days
from fivefold.values.reading import QuestionReading
from fivefold.values.recall_trace import RoutePlan
from fivefold.values.vectors import Vector

SEARCHES = ("dense", "recency", "frequency")
"""The kinds of route whose scores are the three signals, in the order of the weights."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The shares of all memories, and how they were weighed where that is by result."""

    hits: list[FusedHit]
    reason: str = ""


def horizon_of(recency: RoutePlan | None, context: SearchContext) -> QueryDecay:
    """The recipe's curve, or one that fits the question: by the model that predicts the weights, or by rule."""
    if recency is None:
        return QueryDecay(Decay(), "")
    options: RecencyOptions = recency.options
    if not options.predicted and not options.per_query:
        return QueryDecay(options, "")
    times = _times(context)
    if options.predicted:
        try:
            heads, hidden = _heads(context)
            decay, chance = heads.decay(hidden, times)
            return QueryDecay(decay, f"{heads.name} predicts it with the weights ({chance:.0%})")
        except BadModel as reason:
            if not options.per_query:
                return QueryDecay(options, str(reason))
    return decay_for(context.query, times.span, times.newest)


def weigh_results(fused: Sequence[FusedHit], parts: Sequence[RoutePlan], context: SearchContext) -> Weighed:
    """The same hits with weights of their own: each is seen with its signals among those of all candidates."""
    try:
        heads, hidden = _heads(context)
    except BadModel as reason:
        return Weighed(list(fused), f"one weight for all results: {reason}")
    kinds = {part.route: SEARCHES.index(part.search) for part in parts}
    weights = np.zeros(3, np.float32)
    for part in parts:
        weights[kinds[part.route]] = part.weight
    places = {row: place for place, row in enumerate(dict.fromkeys(hit.row for hit in fused))}
    signals = np.zeros((len(places), 3), np.float32)
    for hit in fused:
        signals[places[hit.row], kinds[hit.route]] = hit.score
    if not places:
        return Weighed([])
    given = heads.weights(hidden, weights, signals)
    hits = [
        _reweighed(hit, float(given[places[hit.row], kinds[hit.route]]), weights[kinds[hit.route]]) for hit in fused
    ]
    return Weighed(hits, f"each result has weights of its own by {heads.name}")


def _reweighed(hit: FusedHit, own: float, weight: float) -> FusedHit:
    factor = own / weight if weight else 0.0
    return replace(hit, factor=factor, contribution=weight * factor * hit.score)


def _heads(context: SearchContext) -> tuple[SignalHeads, Vector]:
    """The heads and the hidden numbers they read; BadModel where they do not fit."""
    model, heads = shipped(), shipped_heads()
    if context.space is None or not isinstance(context.question, QuestionReading):
        raise BadModel("the question has no vector")
    if model.pin != context.space.embedder:
        raise BadModel(f"the weight model {model.name} was made for {model.pin}, not for {context.space.embedder}")
    if heads.network != model.name:
        raise BadModel(f"{heads.name} was made for the weight model {heads.network}, not for {model.name}")
    return heads, model.hidden(context.question.vector, features(context.query.to_read))


def _times(context: SearchContext) -> Times:
    """The time that the question names, and how far the namespace's memories reach."""
    query, span, newest = context.query, 0.0, 0.0
    reach = context.reader.memories.event_span()
    if reach is not None:
        span, newest = (max(0.0, age_in_days(at, query.now)) for at in reach)
    window = query.window
    if window is None or window.start <= EARLIEST or window.start > query.now:
        return Times(None, 0.0, span, newest)
    return Times(age_in_days(window.start, query.now), max(0.0, age_in_days(window.end, query.now)), span, newest)
