"""Memsense: many routes, fused by rank (M1–M8)."""

from __future__ import annotations

from collections.abc import Callable

from fivefold.retrieval.recipe_file import load_recipe
from fivefold.values.recall_trace import Support

from .figures import DEPTHS, ROUTES
from .golden import Golden
from .store import GoldenStore, hit_of


def _depth(k: int) -> Callable[[GoldenStore], int]:
    return lambda store: max(part.depth for part in store.engine("talk").plan("zebra", k, recipe="memsense").routes)


def _alive(store: GoldenStore) -> int:
    """Routes of the eight that find something in one store."""
    runs = store.ask("exchange", "kettle", "memsense").routes
    return sum(bool(run.hits) for run in runs if run.route in ROUTES)


def _first_share(store: GoldenStore) -> float:
    answer = store.ask("apples", "apple crate number", "memsense")
    return next(item.contribution for hit in answer for item in hit.candidate.evidence if item.rank == 1)


def _quality(store: GoldenStore) -> float:
    answer = store.ask("mill", "mill stone", "memsense")
    step = next(step for step in hit_of(answer, "fact").candidate.steps if step.stage == "memory score")
    return step.after - step.before


def _support(store: GoldenStore) -> Support:
    found = store.ask("talk", "zebra crossing", "memsense")[0].support
    assert found is not None
    return found


def _support_error(store: GoldenStore) -> float:
    turns = store.ask("talk", "zebra crossing", "memsense", unit="turn")
    best = max(hit.rrf_score for hit in turns)
    return round(_support(store).turn_support - min(0.12, 0.6 * best), 9)


def _mmr_error(store: GoldenStore) -> float:
    """The first that is chosen has nothing before it that it could repeat."""
    hit = store.ask("mill", "mill wheel", "memsense")[0]
    return round(hit.score - 0.78 * hit.final_score, 9)


def _neighbours(store: GoldenStore) -> str:
    answer = store.ask("talk", "zebra crossing", "memsense", unit="turn")
    return " ".join(memory.id for memory in hit_of(answer, "t1").neighbours)


def _mmr_constant(name: str) -> float:
    constants = next(stage.constants for stage in load_recipe("memsense").select if stage.name == "mmr")
    return float(getattr(constants, name))


def _kind(store: GoldenStore) -> str:
    return " ".join(sorted({hit.memory.kind for hit in store.ask("talk", "zebra crossing", "memsense")}))


def _fused_error(store: GoldenStore) -> float:
    answer = store.ask("talk", "zebra crossing", "memsense", unit="turn")
    return round(max(abs(hit.rrf_score - sum(1 / (15 + rank) for rank in hit.routes.values())) for hit in answer), 9)


GOLDEN = (
    Golden("M1", "routes that find something in one conversation and a note", len(ROUTES), _alive),
    *(Golden("M2", f"candidates of a route where {k} are asked for", depth, _depth(k)) for k, depth in DEPTHS),
    Golden("M3", "share of a first place: 1 / (15 + 1)", 0.0625, _first_share),
    Golden("M4", "what a quality of 1 adds", 0.1, _quality),
    Golden("M5", "support, less min(0.12, 0.6 · its best turn)", 0.0, _support_error),
    Golden("M5", "what answers where sessions are found", "session", _kind),
    Golden("M6", "first score, less 0.78 · final score", 0.0, _mmr_error),
    Golden("M6", "redundancy of a duplicate", 0.94, lambda _: _mmr_constant("duplicate")),
    Golden("M6", "what shared tags count", 0.35, lambda _: _mmr_constant("tags")),
    Golden("M7", "turns next to the second one", "t0 t2", _neighbours),
    Golden("M8", "turns that support the session", 4, lambda store: _support(store).supporting_turn_count),
    Golden("M8", "largest difference between a fused score and its shares", 0.0, _fused_error),
)
