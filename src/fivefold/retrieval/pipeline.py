"""A recall from top to bottom. Start reading here.

understand(question)  →  Query       what the question asks for
optimize(query)       →  TypeHints   which types of memory it implies
plan(query, recipe)   →  Plan        which routes, how deep, and why
Search                →  runs        the question as a model reads it, and every route's hits, in parallel
fuse → boost → rerank → trust →
                select →  hits       candidates that carry their evidence
Recall                               all of the above in one value, and the last turns of the conversation
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import perf_counter

from fivefold.learning.reranker import learned_reranker
from fivefold.namespace import Namespace
from fivefold.retrieval.plan import RecallRequest, optimize, plan
from fivefold.retrieval.protocols import Pool, SearchContext
from fivefold.retrieval.recipe import Recipe, StageSpec
from fivefold.retrieval.recipe_file import at_effort
from fivefold.retrieval.retrieve import FUSIONS, Search, fuse, name_top_hits, searches_facets
from fivefold.retrieval.routes.late import with_matched_words
from fivefold.retrieval.stages import STAGES
from fivefold.retrieval.stages.selection import admit, drop_unlikely, select, trust
from fivefold.retrieval.understand.demands import Clock
from fivefold.retrieval.understand.question import understand
from fivefold.settings import Settings, settings_of
from fivefold.stores.interface import Reader
from fivefold.values.query import Query
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Plan, Timing
from fivefold.values.times import new_id
from fivefold.writing.facets import make_facets


def recall(request: RecallRequest, namespace: Namespace, threads: ThreadPoolExecutor) -> Recall:
    """Answer a request from one namespace, with the whole trace; the routes run on `threads`."""
    derived = make_facets(namespace) if searches_facets(request.recipe) else ()
    reader, learned, id = namespace.reader, learned_reranker(namespace), new_id()
    search = Search(request, namespace, reader, threads)
    ready = prepare(request, reader)
    recipe, settings, query, planned, watch = ready.recipe, ready.settings, ready.query, ready.plan, ready.watch
    context = SearchContext(
        query,
        reader,
        settings,
        search.space,
        None,
        request.k,
        id,
        recipe.unit,
        planned,
        learned,
        keep=request.filter,
        session_id=request.session_id,
    )
    search.begin(context, recipe.fusion)
    watch.stage("plan")
    context = replace(context, question=search.read_question(context))
    watch.stage("encode")
    weigh = FUSIONS[recipe.fusion.method].weigh
    if weigh and recipe.fusion.weights == "learned":
        context = weigh(context)
        watch.stage("weigh")
    query, planned = context.query, context.plan or planned
    runs = search.run(context)
    watch.stage("retrieve")
    fused = fuse(runs, planned, recipe.fusion, reader.memories.fetch_with_ids, search.shares)
    if not all(candidate.memory.is_alive(query.now) for candidate in fused.candidates):
        # only now, so that a namespace in which nothing expires pays nothing; what has expired takes no place of others
        runs = search.run(context.among_alive())
        watch.stage("retrieve again")
        fused = fuse(runs, planned, recipe.fusion, reader.memories.fetch_with_ids, search.shares)
    runs = name_top_hits(runs, fused.candidates)
    watch.stage("fuse")
    pool = admit(Pool(fused.candidates, supporting=fused.supporting), context)
    pool = run_stages(pool, context, recipe.boosts)
    watch.stage("boost")
    pool = trust(run_stages(pool, context, recipe.rerank), context)
    watch.stage("rerank")
    pool = run_stages(pool, context, recipe.select)
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
        embedder=search.space.embedder if search.space else "",
        notes=(*derived, *pool.notes, *pool.idle),
        recent=tuple(turn for turn in recent if turn.is_alive(request.now)),
        chance=pool.chance,
        found=bool(hits) and pool.found is not False,
        fused=fused.rows,
    )


class Stopwatch:
    """Times the stages one after the other."""

    def __init__(self) -> None:
        self.timings: list[Timing] = []
        self._last = perf_counter()

    def stage(self, name: str) -> None:
        now = perf_counter()
        self.timings.append(Timing(name, (now - self._last) * 1000))
        self._last = now


@dataclass(frozen=True, slots=True)
class Preparation:
    """A request before any search: the recipe at its effort, the question understood, and the plan."""

    recipe: Recipe
    settings: Settings
    query: Query
    plan: Plan
    watch: Stopwatch


def prepare(request: RecallRequest, reader: Reader) -> Preparation:
    """Prepares a recall: `plan` stops here, `recall` goes on."""
    recipe, by_effort = at_effort(request.recipe, request.effort)
    settings, watch = settings_of(reader.admin.settings()), Stopwatch()
    query = understood(request, reader, settings)
    watch.stage("understand")
    query, hints = optimize(query, reader, settings, recipe.type_density)
    planned = plan(query, recipe, request.k, settings, request.effort, by_effort, request.filter)
    return Preparation(recipe, settings, query, replace(planned, type_hints=hints), watch)


def understood(request: RecallRequest, reader: Reader, settings: Settings) -> Query:
    """The question of a request, read at its time and in its zone."""
    clock = Clock(request.now, request.zone(settings), request.session_id, request.recipe.yesterday)
    return understand(request.question, clock, request.history, reader, settings, request.recipe.name_prior)


def run_stages(pool: Pool, context: SearchContext, specs: Sequence[StageSpec]) -> Pool:
    """The recipe's stages in its order, those that run at the effort of the plan; what they add must be admitted."""
    admitted = {candidate.memory.row for candidate in pool.candidates}
    effort = context.plan.effort if context.plan else "normal"
    for spec in specs:
        if not spec.runs_at(effort):
            pool = pool.with_idle(spec.name, f"it runs from {spec.effort} effort on")
            continue
        before, stage = pool, STAGES[spec.name]
        pool = stage.run(before, context, spec.constants)
        if pool.is_same(before):
            pool = pool.with_idle(spec.name, stage.rests)
    return admit(pool, context, admitted)
