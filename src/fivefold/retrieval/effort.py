"""Effort: how much work a recall may do. It is a change of the recipe, shown in the plan, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe import MAX_DEPTH, Recipe
from fivefold.retrieval.recipe_file import override
from fivefold.retrieval.routes import ROUTES
from fivefold.values.recall_trace import EFFORTS, Effort

SHALLOW = 4
"""Low effort reads a quarter of each list, but not fewer than `LEAST`."""
LEAST = 20

DEEP = 4
"""High effort reads lists four times as long and lets twice as many candidates through."""
WIDE = 2
JUDGED = 3
"""It has three times as many candidates read by the cross-encoder."""
PATIENCE_MS = 60_000


def checked_effort(effort: object) -> Effort:
    if effort not in EFFORTS:
        raise InvalidInput(f"{effort!r} is unknown; it is one of {', '.join(EFFORTS)}", field="effort")
    return effort


def at_effort(recipe: Recipe, effort: Effort) -> tuple[Recipe, Mapping[str, object]]:
    """The recipe at an effort, and what the effort changed, by the paths that `load_recipe` takes."""
    return _apply_effort(_ByIdentity(recipe), effort) if effort != "normal" else (recipe, {})


class _ByIdentity:
    """A recipe as a key by its identity: built-in ones come again and again, and checking one takes a while."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def __hash__(self) -> int:
        return id(self.recipe)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.recipe is self.recipe


@lru_cache(maxsize=32)
def _apply_effort(same: _ByIdentity, effort: Effort) -> tuple[Recipe, Mapping[str, object]]:
    overrides = _low(same.recipe) if effort == "low" else _high(same.recipe)
    return override(same.recipe, overrides), overrides


def _low(recipe: Recipe) -> dict[str, object]:
    """Shorter lists; stages that need more effort do not run."""
    overrides: dict[str, object] = {}
    for route in recipe.routes:
        if not ROUTES[route.search].of_candidates:
            overrides[f"routes.{route.name}.depth"] = max(min(LEAST, route.depth), route.depth // SHALLOW)
            if route.depth_per_k:
                overrides[f"routes.{route.name}.depth_per_k"] = max(1, route.depth_per_k // SHALLOW)
    return overrides


def _high(recipe: Recipe) -> dict[str, object]:
    """Longer lists, and a model that reads more of the candidates for as long as it takes."""
    overrides: dict[str, object] = {
        f"routes.{route.name}.depth": min(MAX_DEPTH, route.depth * DEEP)
        for route in recipe.routes
        if not ROUTES[route.search].of_candidates
    }
    overrides["fusion.pool"] = min(MAX_DEPTH, recipe.fusion.pool * WIDE)
    for stage in recipe.rerank:
        if stage.name == "cross_encoder":
            overrides[f"rerank.{stage.name}.depth"] = min(1_000, stage.constants.depth * JUDGED)
            overrides[f"rerank.{stage.name}.budget_ms"] = 0.0
            overrides[f"rerank.{stage.name}.timeout_ms"] = max(float(PATIENCE_MS), stage.constants.timeout_ms)
    return overrides
