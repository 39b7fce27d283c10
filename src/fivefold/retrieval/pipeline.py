"""A recall from top to bottom. Start reading here.

prepare(request)      →  Prepared    what `plan` shows and `recall` runs:
  understand(question)  →  Query       what the question asks for
  optimize(query)       →  TypeHints   which types of memory it implies
  plan(query, recipe)   →  Plan        which routes, how deep, and why
retrieve(plan)        →  runs        every route's hits, in parallel
fuse → boost → rerank →
                select →  hits        candidates that carry their evidence
Recall                               all of the above in one value, and the last turns of the conversation
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import perf_counter

from fivefold.learning.training import learned_reranker
from fivefold.namespace import Namespace
from fivefold.retrieval.fuse import Fused, fuse, name_top_hits
from fivefold.retrieval.plan import apply_weights, optimize, plan, predict_weights
from fivefold.retrieval.recipe import FusionSpec, Recipe
from fivefold.retrieval.recipe_file import at_effort
from fivefold.retrieval.request import RecallRequest
from fivefold.retrieval.retrieve import Begun, begin_encoding, begin_routes, encode_question, retrieve
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.selection import (
    drop_not_yet_known,
    drop_unlikely,
    drop_unmatched,
    select,
    weigh_by_origin,
    with_matched_words,
)
from fivefold.retrieval.stages import Pool, run_stages
from fivefold.retrieval.understand.question import understand
from fivefold.retrieval.understand.windows import Clock
from fivefold.settings import Settings, settings_of
from fivefold.stores.interface import Reader
from fivefold.values.ids import new_id
from fivefold.values.query import Query
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Plan, RouteRun, Timing


class Stopwatch:
    """Times the stages one after the other."""

    def __init__(self) -> None:
        self.timings: list[Timing] = []
        self._last = perf_counter()

    def stage(self, name: str) -> None:
        now = perf_counter()
        self.timings.append(Timing(name, (now - self._last) * 1000))
        self._last = now

    def extend(self) -> None:
        """What was done since the last stage belongs to it."""
        last = self.timings.pop()
        self.stage(last.stage)
        self.timings[-1] = Timing(last.stage, last.ms + self.timings[-1].ms)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request before any search: the recipe at its effort, the question understood, and the plan."""

    recipe: Recipe
    settings: Settings
    query: Query
    plan: Plan
    watch: Stopwatch


def prepare(request: RecallRequest, reader: Reader) -> Prepared:
    """What a recall will do: `plan` stops here, `recall` goes on."""
    recipe, by_effort = at_effort(request.recipe, request.effort)
    settings, watch = settings_of(reader.admin.settings()), Stopwatch()
    query = understood(request, reader, settings)
    watch.stage("understand")
    query, hints = optimize(query, reader, settings, recipe.type_density)
    planned = plan(query, recipe, request.k, settings, request.effort, by_effort, request.filter)
    planned = replace(planned, type_hints=hints)
    watch.stage("plan")
    return Prepared(recipe, settings, query, planned, watch)


def understood(request: RecallRequest, reader: Reader, settings: Settings) -> Query:
    """The question of a request, read at its time and in its zone."""
    clock = Clock(request.now, request.zone(settings), request.session_id, request.recipe.yesterday)
    return understand(request.question, clock, request.history, reader, settings, request.recipe.name_prior)


def recall(request: RecallRequest, namespace: Namespace, threads: ThreadPoolExecutor) -> Recall:
    """Answer a request from one namespace, with the whole trace; the routes run on `threads`."""
    reader, learned = namespace.reader, learned_reranker(namespace)
    space = reader.search.vector_space()
    encoding = begin_encoding(request, namespace, space, threads)
    prepared = prepare(request, reader)
    recipe, settings, watch = prepared.recipe, prepared.settings, prepared.watch
    query, planned = prepared.query, prepared.plan
    id = new_id()
    context = SearchContext(
        query, reader, settings, space, None, request.k, id, recipe.unit, planned, learned, keep=request.filter
    )
    begun = begin_routes(planned, context, threads, recipe.fusion, encoding)
    watch.extend()
    question = encode_question(query, planned, namespace, space, encoding)
    watch.stage("encode")
    if recipe.fusion.weights == "learned":
        weights = predict_weights(query, question, space, reader)
        query, planned = replace(query, weights=weights), apply_weights(planned, weights)
        watch.stage("weigh")
    context = replace(context, query=query, plan=planned, question=question)
    runs, fused = search_alive(planned, context, threads, recipe.fusion, watch, begun)
    runs = name_top_hits(runs, fused.candidates)
    watch.stage("fuse")
    passed: set[int] = set()
    pool = drop_not_yet_known(Pool(fused.candidates, supporting=fused.supporting), query.now)
    pool = drop_unmatched(run_stages(pool, context, recipe.boosts), request.filter, request.now, passed)
    watch.stage("boost")
    pool = drop_unmatched(run_stages(pool, context, recipe.rerank), request.filter, request.now, passed)
    pool = weigh_by_origin(pool, settings)
    watch.stage("rerank")
    pool = drop_unmatched(run_stages(pool, context, recipe.select), request.filter, request.now, passed)
    pool = drop_unlikely(pool, request.min_chance)
    hits, dropped = select(pool, request.k, recipe.unit, planned.is_composite)
    hits = with_matched_words(hits, context, namespace)
    watch.stage("select")
    turns = settings.recent_turns if request.recent_turns is None else request.recent_turns
    recent = reader.sessions.last_turns(request.session_id, request.now, turns) if turns else []
    if turns:
        watch.stage("recent")
    return Recall(
        id=id,
        namespace=reader.namespace,
        query=query,
        plan=planned,
        routes=tuple(runs),
        hits=tuple(hits),
        dropped=tuple(dropped),
        timings=tuple(watch.timings),
        embedder=space.embedder if space else "",
        notes=(*pool.notes, *pool.idle),
        recent=tuple(turn for turn in recent if turn.is_alive(request.now)),
        chance=pool.chance,
        found=bool(hits) and pool.found is not False,
        fused=fused.rows,
    )


def search_alive(
    planned: Plan,
    context: SearchContext,
    threads: ThreadPoolExecutor,
    fusion: FusionSpec,
    watch: Stopwatch,
    begun: Begun,
) -> tuple[list[RouteRun], Fused]:
    """Run the routes and fuse what they found. Where some of it has expired, search again among what has not.

    So a namespace in which nothing expires pays nothing, and expired memories take no place of others.
    """
    now, keep = context.query.now, context.keep
    runs = retrieve(planned, context, threads, fusion, begun)
    watch.stage("retrieve")
    fused = fuse(runs, planned, fusion, context.reader.memories.fetch_with_ids)
    if all(candidate.memory.is_alive(now) for candidate in fused.candidates):
        return runs, fused
    alive = replace(context, keep=replace(keep, alive_at=max(now, keep.alive_at or now)))
    runs = retrieve(planned, alive, threads, fusion)
    watch.stage("retrieve again")
    return runs, fuse(runs, planned, fusion, context.reader.memories.fetch_with_ids)
