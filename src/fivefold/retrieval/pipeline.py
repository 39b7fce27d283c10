"""A recall from top to bottom. Start reading here.

understand(question)  →  Query       what is asked
plan(query, recipe)   →  Plan        which routes, how deep, and why
retrieve(plan)        →  runs        every route's hits, in parallel
fuse → boost → rerank →
                select →  hits        candidates that carry their evidence
Recall                               all of the above in one value, and the last turns of the talk
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from time import perf_counter

from fivefold.errors import EmbedderError, FivefoldError
from fivefold.learning.adaptation import adapted, restored
from fivefold.learning.model_store import Learned
from fivefold.retrieval.effort import at_effort
from fivefold.retrieval.fuse import fuse
from fivefold.retrieval.plan import plan, weighed
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.retrieve import retrieve
from fivefold.retrieval.routes import ROUTES, SearchContext
from fivefold.retrieval.selection import answer, drop_not_yet_known
from fivefold.retrieval.stages import Pool, run_stages
from fivefold.retrieval.understand.question import understand
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader, Space
from fivefold.values.ids import new_id
from fivefold.values.query import Query, Weights
from fivefold.values.recall import SHOWN_TOP, Candidate, Effort, Plan, Recall, RouteRun, Timing, TopHit
from fivefold.values.vectors import Vector


class Stopwatch:
    """Times the stages one after the other."""

    def __init__(self) -> None:
        self.timings: list[Timing] = []
        self._last = perf_counter()

    def stage(self, name: str) -> None:
        now = perf_counter()
        self.timings.append(Timing(name, (now - self._last) * 1000))
        self._last = now


def run(
    question: str,
    *,
    k: int,
    recipe: Recipe,
    now: datetime,
    history: Sequence[str],
    reader: Reader,
    settings: Settings,
    space: Space | None,
    encode: Callable[[str], Vector],
    pool: ThreadPoolExecutor,
    learned: Learned | None = None,
    effort: Effort = "normal",
    recent_turns: int = 0,
    session_id: str | None = None,
) -> Recall:
    """Answer `question` from one namespace, with the whole trace."""
    recipe, by_effort = at_effort(recipe, effort)
    watch = Stopwatch()
    query = understand(question, now, history, reader, settings)
    watch.stage("understand")
    chosen = plan(query, recipe, k, settings, effort, by_effort)
    watch.stage("plan")
    vector = _encoded(chosen, question, encode)
    watch.stage("encode")
    if recipe.fusion.weights == "learned":
        weights = predicted(query, vector, space, reader)
        query, chosen = replace(query, weights=weights), weighed(chosen, weights)
        watch.stage("weigh")
    id = new_id()
    search = SearchContext(query, reader, settings, space, vector, k, id, recipe.unit, chosen, learned)
    runs = retrieve(chosen, search, pool, recipe.fusion)
    watch.stage("retrieve")
    fused = fuse(runs, chosen, recipe.fusion, reader.fetch)
    runs = [with_top(run, fused.candidates) for run in runs]
    watch.stage("fuse")
    found = run_stages(
        drop_not_yet_known(Pool(fused.candidates, supporting=fused.supporting), now), search, recipe.boosts
    )
    watch.stage("boost")
    found = run_stages(found, search, recipe.rerank)
    watch.stage("rerank")
    found = run_stages(found, search, recipe.select)
    hits, dropped = answer(found, k, recipe.unit)
    watch.stage("select")
    recent = reader.last_turns(session_id, now, recent_turns) if recent_turns else []
    if recent_turns:
        watch.stage("recent")
    return Recall(
        id=id,
        namespace=reader.namespace,
        query=query,
        plan=chosen,
        routes=tuple(runs),
        hits=tuple(hits),
        dropped=tuple(dropped),
        timings=tuple(watch.timings),
        embedder=space.embedder if space else "",
        notes=found.notes,
        recent=tuple(recent),
    )


def with_top(run: RouteRun, candidates: Sequence[Candidate]) -> RouteRun:
    """The run with its first hits named, now that their memories are at hand."""
    memories = {candidate.memory.row: candidate.memory for candidate in candidates}
    top = [
        TopHit(memories[hit.row].id, hit.score, memories[hit.row].content, hit.note)
        for hit in run.hits[:SHOWN_TOP]
        if hit.row in memories
    ]
    return replace(run, top=tuple(top))


def predicted(query: Query, vector: Vector | FivefoldError | None, space: Space | None, reader: Reader) -> Weights:
    """The weights a model reads out of the question, corrected by what use has taught the namespace (D3, D12)."""
    from fivefold.models.weights import predict, without

    if space is None or vector is None or isinstance(vector, FivefoldError):
        return without("the question has no vector")
    return adapted(predict(query.text, vector, space.embedder), restored(reader.learned("weights")), query.now)


def _encoded(chosen: Plan, question: str, encode: Callable[[str], Vector]) -> Vector | FivefoldError | None:
    """The question's vector if a route needs it; a failing embedder fails those routes, not the recall."""
    if not any(part.run and ROUTES[part.search].encodes for part in chosen.routes):
        return None
    try:
        return encode(question)
    except FivefoldError as error:
        return error
    except Exception as error:
        return EmbedderError(f"the question could not be encoded: {type(error).__name__}: {error}")
