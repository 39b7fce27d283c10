"""The plan: which routes run, how deep, with which weight, and why (R2). It reads no memories."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Annotated, TypedDict

from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe import Recipe, RouteSpec
from fivefold.retrieval.recipe_file import checked_effort, known_recipes, load_recipe
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.understand.demands import implied_types
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.values.fields import About, Count, Items, Name, RecentTurns, Share, Text, VisibleText, fields_of
from fivefold.values.filters import EVERYTHING, Filter, FilterInput, filter_of, write_filter
from fivefold.values.memory import Type
from fivefold.values.query import Query
from fivefold.values.recall_trace import COMPOSITE, Effort, Plan, RoutePlan, TypeHint
from fivefold.values.registry import Parts
from fivefold.values.serialize import hidden
from fivefold.values.times import as_utc, offset_of
from fivefold.values.validate import MAX_K, checked_history, checked_text


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
    spec = recipe.fusion
    ranked = f"{spec.method} k={spec.k:g}{' in one statement' if spec.store else ''}"
    fusion = {"convex": f"convex over {spec.pool}", "composite": COMPOSITE}.get(spec.method, ranked)
    return Plan(recipe.name, k, routes, fusion, stages, effort, dict(by_effort or {}), write_filter(keep))


def _route(spec: RouteSpec, query: Query, recipe: Recipe, k: int, settings: Settings) -> RoutePlan:
    route = ROUTES[spec.search]
    skip_reason = route.skip_reason(query, recipe.optimize)
    if recipe.unit == "turn" and route.finds_sessions(spec.options) and not spec.supports:
        skip_reason = "it finds sessions, but the recipe returns turns only"
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


# Stage 2, after the parse: which types of memory the question implies, by its words and the namespace (R2, R9).

TYPE_CHECKS: Parts[Callable[[Query, Mapping[Type, str], Reader, float], dict[Type, str]]] = Parts(
    {"density": "fivefold.designs.recall:types_elsewhere"}
)
"""Further checks that a type is the wrong one: most of the memories about the question are of other types (R2)."""


def optimize(
    query: Query, reader: Reader, settings: Settings, type_density: float = 0.0
) -> tuple[Query, tuple[TypeHint, ...]]:
    """The question with the types that narrow its search, and every hint with why it counts or is dropped.

    A type counts if the namespace has enough of it, and its memories speak of what is asked. Otherwise its filter would
    only be dropped again (R9), or leave out the answer.
    """
    least = max(1, settings.widen_below)
    words_of = {cue.value: cue.text for cue in reversed(query.cues) if cue.kind == "type"}
    implied = {name: words_of[name] for name in implied_types(query.cues)}
    stored = {name: words for name, words in implied.items() if reader.memories.has_type(name, least)}
    elsewhere = TYPE_CHECKS["density"](query, stored, reader, type_density) if stored and type_density else {}
    hints = []
    for name, words in implied.items():
        why = elsewhere.get(name, "") if name in stored else f"fewer than {least} memories have this type"
        hints.append(TypeHint(name, words, not why, why or f"{words!r} implies it"))
    return replace(query, type_hints=tuple(hint.type for hint in hints if hint.kept)), tuple(hints)


# What a recall is asked for, as one value. It is checked here and nowhere else.

RecipeChoice = str | os.PathLike[str] | Recipe
"""A recipe by its name, by the path of its TOML file, or as a value."""

UNSET_ZONE = Settings().timezone


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question and how to answer it. `recent_turns` of None leaves the number to the namespace's settings."""

    question: Annotated[VisibleText, About("The question in plain words, as a person would ask it")]
    k: Annotated[Count, About("Maximum number of memories")]
    recipe: Annotated[Recipe, About("The recipe that ranks the memories")]
    now: Annotated[datetime, About("Answer as of this time, ISO 8601", left_out="now")]
    history: Annotated[
        tuple[Text, ...], Items(MAX_K), About("Earlier turns, oldest first; they explain words such as “she”")
    ] = ()
    effort: Annotated[Effort, About("The work that a recall may do: low answers fastest, high searches deepest")] = (
        "normal"
    )
    recent_turns: Annotated[
        RecentTurns | None, About("Number of last turns to add", left_out="the namespace's setting")
    ] = None
    session_id: Annotated[
        Name | None,
        About(
            "The current conversation: its last turns are added, and “since we last talked” means the one before",
            left_out="the one that spoke last",
        ),
    ] = None
    min_chance: Annotated[
        Share | None, About("The least chance that a memory answers, for it to be returned", left_out="none")
    ] = None
    filter: Annotated[
        Filter,
        About("Memories that may answer, as in: speaker:ana tag:work,home meta.price>=10 since:2024-01-01", "all"),
    ] = EVERYTHING
    utc_offset: timedelta | None = hidden(default=None)  # noqa: RUF009
    """Offset of the clock of `now` from UTC, if it names one."""

    def zone(self, settings: Settings) -> tzinfo:
        """The zone of the question's days: the namespace's, or the clock of `now` if that has none of its own."""
        if self.utc_offset is None or settings.timezone != UNSET_ZONE:
            return settings.zone
        return timezone(self.utc_offset)


REQUEST_FIELDS = fields_of(RecallRequest)


class RecallOptions(TypedDict, total=False):
    """The keywords of a recall, for methods that hand them on."""

    recipe: RecipeChoice
    now: datetime | str | None
    history: Sequence[str]
    overrides: Mapping[str, object] | None
    effort: Effort
    recent_turns: int | None
    session_id: str | None
    min_chance: float | None
    filter: FilterInput | None


def checked_request(
    question: str,
    k: int = 10,
    *,
    recipe: RecipeChoice = "default",
    overrides: Mapping[str, object] | None = None,
    now: datetime | str,
    history: Sequence[str] = (),
    effort: Effort = "normal",
    recent_turns: int | None = None,
    session_id: str | None = None,
    min_chance: float | None = None,
    filter: FilterInput | None = None,
) -> RecallRequest:
    """The request, or an error that names the first argument that is wrong."""
    request = RecallRequest(
        question=checked_text(question, "the question"),
        k=REQUEST_FIELDS["k"].check(k),
        recipe=load_recipe(recipe, overrides),
        now=as_utc(now, "now")[0],
        history=checked_history(history),
        effort=checked_effort(effort),
        recent_turns=REQUEST_FIELDS["recent_turns"].check(recent_turns),
        session_id=REQUEST_FIELDS["session_id"].check(session_id),
        utc_offset=offset_of(now),
        min_chance=REQUEST_FIELDS["min_chance"].check(min_chance),
        filter=filter_of(filter),
    )
    if request.min_chance is not None and not _gives_chances(request.recipe, request.effort):
        able = [name for name in known_recipes() if _gives_chances(load_recipe(name), request.effort)]
        reason = f"needs a recipe with the stage 'chance', which {request.recipe.name!r} does not have"
        raise InvalidInput(f"{reason}; use {' or '.join(map(repr, able))}", field="min_chance")
    return request


def _gives_chances(recipe: Recipe, effort: Effort) -> bool:
    return any(stage.name == "chance" and stage.runs_at(effort) for stage in recipe.select)
