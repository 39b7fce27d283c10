"""Ditto: similarity, recency and frequency of the nearest memories, with weights that a model predicts (D1–D12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from fivefold.learning.adaptation import QueryDecay, adapt, decay_for, load_adaptation
from fivefold.models.shipped import BadModel
from fivefold.models.weights import (
    SignalHeads,
    Times,
    features,
    intent,
    is_fallback,
    predict,
    shipped,
    shipped_heads,
    without,
)
from fivefold.retrieval.protocols import BaseRoute, SearchContext
from fivefold.retrieval.recipe import FusionSpec
from fivefold.retrieval.retrieve import Fusion, Shares
from fivefold.stores.records import Composite, FusedHit
from fivefold.text.time_grammar import EARLIEST
from fivefold.values.fields import About
from fivefold.values.filters import Filter
from fivefold.values.query import Decay, age_in_days
from fivefold.values.recall_trace import RouteHit, RoutePlan
from fivefold.values.vectors import QuestionReading, Vector

SIGNALS = ("dense", "recency", "frequency")
"""The kinds of route whose scores are the three signals, in the order of the weights."""


class Signal(BaseRoute):
    """Scored by the store over the candidates of a dense route, in the same statement (D9). Alone it finds nothing."""

    of_candidates = True

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Any) -> list[RouteHit]:
        raise AssertionError("a signal is scored with the candidates it belongs to")


@dataclass(frozen=True, slots=True)
class RecencyOptions(Decay):
    """A curve of its own, or one that fits the question's own horizon (D12)."""

    per_query: Annotated[bool, About("Fits curve and half-life to the question")] = False
    predicted: Annotated[
        bool, About("Lets the model of the weights predict curve and half-life too; before `per_query`")
    ] = False


class Recency(Signal):
    """The age of a memory among the candidates; with a curve, its age at the time of the question (D2, D12)."""

    options = RecencyOptions


RECENCY = Recency()

FREQUENCY = Signal()
"""Share of the memories that mention the same entities (D2)."""


def composite(hits: Sequence[RouteHit], route: str, weight: float, k: float, depth: int) -> Shares:
    """weight · score (D1); the store has computed it."""
    return Shares(
        hits,
        [hit.contribution if hit.contribution is not None else weight * hit.score for hit in hits],
        lambda i: f"{weight * hits[i].factor:g} · {hits[i].score:.4f}",
    )


def predict_weights(context: SearchContext) -> SearchContext:
    """The plan with the weights that a model reads out of the question, corrected by feedback (D1, D3, D10, D12)."""
    query, question, space = context.query, context.question, context.space
    if space is None or not isinstance(question, QuestionReading):
        weights = without("the question has no vector")
    else:
        predicted = predict(query.to_read, question.vector, space.embedder)
        weights = adapt(predicted, load_adaptation(context.reader.admin.learned_value("weights")), query.now)
        if not is_fallback(weights):
            weights = replace(weights, intent=intent(weights))
    assert context.plan is not None
    by_search = {"dense": weights.similarity, "recency": weights.recency, "frequency": weights.frequency}
    routes = tuple(
        replace(part, weight=by_search[part.search], reason=f"{part.reason}: {by_search[part.search]:.3f}")
        for part in context.plan.routes
    )
    return replace(context, query=replace(query, weights=weights), plan=replace(context.plan, routes=routes))


def search_in_store(
    parts: Sequence[RoutePlan], context: SearchContext, fusion: FusionSpec
) -> tuple[Sequence[FusedHit], Mapping[str, str]]:
    """Candidates, signals and their sum in one statement (D9); by route, how it decays and how results are weighed."""
    by_search = {part.search: part for part in parts}
    dense, recency, frequency = (by_search.get(name) for name in SIGNALS)
    if dense is None or context.space is None or not isinstance(context.question, QuestionReading):
        return [], {}
    horizon = _horizon(recency, context) if recency else QueryDecay(Decay(), "")
    how = Composite(
        depth=dense.depth,
        similarity=(dense.route, dense.weight),
        recency=(recency.route, recency.weight) if recency else None,
        frequency=(frequency.route, frequency.weight) if frequency else None,
        decay=horizon.decay,
        now=context.query.now,
    )
    hits = context.reader.search.composite(context.space, context.question.vector, how, context.keep)
    why = ""
    if fusion.per_result:
        hits, why = _weigh_results(hits, parts, context)
    reasons = {part.route: why for part in parts}
    if recency and horizon.reason:
        decays = f"{horizon.decay.describe()}, since {horizon.reason}"
        reasons[recency.route] = "; ".join(filter(None, (decays, why)))
    return hits, reasons


COMPOSITE = Fusion(composite, search_in_store, predict_weights)


# What the heads of the weight network say: the decay of the question, the weights of each result (D12).


def _horizon(recency: RoutePlan, context: SearchContext) -> QueryDecay:
    """The recipe's curve, or one that fits the question: by the model that predicts the weights, or by rule."""
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


def _weigh_results(
    fused: list[FusedHit], parts: Sequence[RoutePlan], context: SearchContext
) -> tuple[list[FusedHit], str]:
    """The hits with weights of their own: each is seen with its signals among those of all candidates."""
    try:
        heads, hidden = _heads(context)
    except BadModel as reason:
        return fused, f"one weight for all results: {reason}"
    if not fused:
        return [], ""
    kinds = {part.route: SIGNALS.index(part.search) for part in parts}
    weights = np.zeros(3, np.float32)
    for part in parts:
        weights[kinds[part.route]] = part.weight
    places = {row: place for place, row in enumerate(dict.fromkeys(hit.row for hit in fused))}
    signals = np.zeros((len(places), 3), np.float32)
    for hit in fused:
        signals[places[hit.row], kinds[hit.route]] = hit.score
    given = heads.weights(hidden, weights, signals)
    hits = []
    for hit in fused:
        weight = weights[kinds[hit.route]]
        factor = float(given[places[hit.row], kinds[hit.route]]) / weight if weight else 0.0
        hits.append(replace(hit, factor=factor, contribution=weight * factor * hit.score))
    return hits, f"each result has its own weights by {heads.name}"


def _heads(context: SearchContext) -> tuple[SignalHeads, Vector]:
    """The heads and the hidden numbers they read; BadModel if they do not fit."""
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
    if (reach := context.reader.memories.event_span()) is not None:
        span, newest = (max(0.0, age_in_days(at, query.now)) for at in reach)
    window = query.window
    if window is None or window.start <= EARLIEST or window.start > query.now:
        return Times(None, 0.0, span, newest)
    return Times(age_in_days(window.start, query.now), max(0.0, age_in_days(window.end, query.now)), span, newest)
