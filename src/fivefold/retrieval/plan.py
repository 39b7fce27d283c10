"""The plan: which routes run, how deep, with which weight, and why (R2). It reads no memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from fivefold.errors import FivefoldError
from fivefold.learning.adaptation import QueryDecay, adapt, decay_for, load_adaptation
from fivefold.models.shipped import BadModel
from fivefold.models.weights import SignalHeads, Times, features, shipped, shipped_heads
from fivefold.retrieval.recipe import FusionSpec, Recipe, RouteSpec
from fivefold.retrieval.routes import ROUTES, SearchContext
from fivefold.retrieval.routes.signals import RecencyOptions
from fivefold.retrieval.understand.words import implied_types
from fivefold.settings import Settings
from fivefold.stores.interface import TYPE_VOCABULARY, Reader, VectorSpace
from fivefold.stores.records import FusedHit
from fivefold.text.lexemes import lexemes
from fivefold.text.time_grammar import EARLIEST
from fivefold.values.decay import Decay, age_in_days
from fivefold.values.filter_language import write_filter
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.query import Query, Weights
from fivefold.values.recall_trace import COMPOSITE, Effort, Plan, RoutePlan, TypeHint
from fivefold.values.vectors import QuestionReading, Vector
from fivefold.writing.type_vocabulary import WordDensity, load_type_vocabulary


def plan(
    query: Query,
    recipe: Recipe,
    k: int,
    settings: Settings,
    effort: Effort = "normal",
    by_effort: Mapping[str, object] | None = None,
    keep: Filter = EVERYTHING,
) -> Plan:
    """Routes that cannot help this question are skipped, with the reason; `by_effort` has changed the recipe."""
    routes = tuple(_route(spec, query, recipe, k, settings) for spec in recipe.routes)
    staged = (*recipe.boosts, *recipe.rerank, *recipe.select)
    stages = tuple(stage.name for stage in staged if stage.runs_at(effort))
    fusion, changes = _describe_fusion(recipe.fusion), dict(by_effort or {})
    return Plan(recipe.name, k, routes, fusion, stages, effort, changes, write_filter(keep))


def _route(spec: RouteSpec, query: Query, recipe: Recipe, k: int, settings: Settings) -> RoutePlan:
    route = ROUTES[spec.search]
    skip_reason = route.skip_reason(query, recipe.optimize)
    if recipe.unit == "turn" and route.finds_sessions(spec.options) and not spec.supports:
        skip_reason = "it finds sessions, and only turns are wanted"
    depth = max(spec.depth, spec.depth_per_k * k, 1 if route.of_candidates else k)
    types = query.type_hints if spec.typed else ()
    reason = f"the {depth} best" + (f" of type {' or '.join(types)}" if types else "")
    reason = ", ".join(filter(None, (reason, route.describe_limits(query, settings))))
    if route.of_candidates:
        reason = "scored over the candidates of the dense route"
    weight = settings.weight(spec.name, spec.weight)
    if recipe.fusion.method == "composite":
        learned = recipe.fusion.weights == "learned"
        reason += ", weight predicted from the question" if learned else f", weight {weight:g}"
    if query.intent in spec.by_intent:
        weight *= spec.by_intent[query.intent]
        reason += f", × {spec.by_intent[query.intent]:g} since it asks {query.intent}"
    return RoutePlan(
        spec.name,
        skip_reason is None,
        depth,
        weight,
        skip_reason or reason,
        types,
        settings.route_budget_ms,
        spec.search,
        spec.supports,
        spec.options,
    )


def _describe_fusion(fusion: FusionSpec) -> str:
    if fusion.method == "convex":
        return f"convex over {fusion.pool}"
    if fusion.method == "composite":
        return COMPOSITE
    return f"{fusion.method} k={fusion.k:g}" + (" in one statement" if fusion.store else "")


# Stage 2, after the parse: which types of memory the question implies, by its words and the namespace (R2, R9).


def optimize(
    query: Query, reader: Reader, settings: Settings, type_density: float = 0.0
) -> tuple[Query, tuple[TypeHint, ...]]:
    """The question with the types that narrow its search, and every hint with why it counts or is dropped."""
    hints = type_hints(query, reader, settings, type_density)
    return replace(query, type_hints=tuple(hint.type for hint in hints if hint.kept)), hints


def type_hints(query: Query, reader: Reader, settings: Settings, type_density: float = 0.0) -> tuple[TypeHint, ...]:
    """A type counts if the namespace has enough of it, and its memories speak of what is asked.

    Otherwise its filter would only be dropped again (R9), or leave out the answer.
    """
    least = max(1, settings.widen_below)
    stored = cache(lambda: load_type_vocabulary(reader.namespace, reader.admin.learned_value(TYPE_VOCABULARY)))
    hints = []
    for name in implied_types(query.cues):
        words = next(cue.text for cue in query.cues if cue.kind == "type" and cue.value == name)
        if not reader.memories.has_type(name, least):
            hints.append(TypeHint(name, words, False, f"fewer than {least} memories have this type"))
            continue
        vocabulary = stored() if type_density else None
        known = vocabulary.densities(name, _subject(query, words)) if vocabulary else ()
        elsewhere = _elsewhere(known, type_density)
        hints.append(TypeHint(name, words, not elsewhere, elsewhere or f"{words!r} implies it"))
    return tuple(hints)


def _subject(query: Query, words: str) -> list[str]:
    """The lexemes of the question but for those of the words that imply the type."""
    trigger = set(lexemes(words))
    return [lexeme for lexeme in query.lexemes if lexeme not in trigger]


def _elsewhere(known: Sequence[WordDensity], type_density: float) -> str:
    """Why the type is the wrong one: most of what is asked about is in memories of other types; else empty.

    A word is at home in a type unless it is far denser in the others; a rare word says more than a common one.
    """
    foreign = [word for word in known if word.own < type_density * word.others]
    if 2 * sum(word.weight for word in foreign) <= sum(word.weight for word in known):
        return ""
    shown = ", ".join(f"{word.lexeme!r} ({word.own:.1%}, others {word.others:.1%})" for word in foreign)
    return f"its memories hardly speak of {shown}"


# Weights that a model predicts from the question, for recipes that ask for them (D1, D3).


def predict_weights(
    query: Query, question: QuestionReading | FivefoldError | None, space: VectorSpace | None, reader: Reader
) -> Weights:
    """The weights a model reads out of the question, corrected by the namespace's feedback (D3, D10, D12)."""
    from fivefold.models.weights import intent, is_fallback, predict, without

    if space is None or not isinstance(question, QuestionReading):
        return without("the question has no vector")
    weights = adapt(
        predict(query.to_read, question.vector, space.embedder),
        load_adaptation(reader.admin.learned_value("weights")),
        query.now,
    )
    return weights if is_fallback(weights) else replace(weights, intent=intent(weights))


def apply_weights(plan: Plan, weights: Weights) -> Plan:
    """The plan with the weights predicted for this question (D1)."""
    by_search = {"dense": weights.similarity, "recency": weights.recency, "frequency": weights.frequency}
    return replace(
        plan,
        routes=tuple(
            replace(part, weight=by_search[part.search], reason=f"{part.reason}: {by_search[part.search]:.3f}")
            for part in plan.routes
        ),
    )


# What the heads of the weight network say in a recall: the decay of the question, the weights of each result (D12).

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
