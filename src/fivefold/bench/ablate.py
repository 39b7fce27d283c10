"""What each part of a recipe is worth: the recipe without it, compared with the whole recipe on the same questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fivefold.bench.contestants import Contestant
from fivefold.bench.scores import Scores
from fivefold.bench.significance import compare
from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import without_part
from fivefold.values.serialize import Json, Value


@dataclass(frozen=True, slots=True)
class Measured:
    """The metrics by which parts are judged, and the one that is tested."""

    metrics: tuple[str, ...]
    tested: str


MEASURED = Measured(("recall@5", "recall@10", "ndcg@10"), tested="recall@10")


@dataclass(frozen=True, slots=True)
class PartWorth(Value):
    """One part: what the whole recipe has over the one without it (positive: it helps), or why it cannot be removed."""

    part: str
    worth: Mapping[str, float]
    better: int = 0
    worse: int = 0
    p: float | None = None
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Ablation(Value):
    """All parts of one recipe, the most useful first; `p` is of the paired test on the metric they are sorted by."""

    recipe: str
    parts: tuple[PartWorth, ...]

    def to_dict(self) -> Json:
        return {"recipe": self.recipe, "parts": [part.to_dict() for part in self.parts]}


def reduced_contestants(name: str, recipe: Recipe) -> tuple[list[Contestant], dict[str, str]]:
    """The recipe without each of its parts in turn, and the parts it needs, with the reason."""
    reduced, reasons = [], {}
    for part in recipe.parts():
        try:
            reduced.append(Contestant(reduced_name(name, part), without_part(recipe, part)))
        except InvalidInput as error:
            reasons[part] = str(error)
    return reduced, reasons


def reduced_name(name: str, part: str) -> str:
    return f"{name} − {part}"


def worth_of(
    name: str,
    recipe: Recipe,
    scored: Mapping[str, Scores],
    reasons: Mapping[str, str],
    seed: int,
    measured: Measured = MEASURED,
) -> Ablation:
    """What every part adds."""
    parts = [_worth(name, part, scored, seed, measured) for part in recipe.parts() if part not in reasons]
    parts.sort(key=lambda item: -item.worth[measured.tested])
    return Ablation(name, (*parts, *(PartWorth(part, {}, kept=why) for part, why in reasons.items())))


def _worth(name: str, part: str, scored: Mapping[str, Scores], seed: int, measured: Measured) -> PartWorth:
    comparisons = {metric: compare(name, reduced_name(name, part), scored, metric, seed) for metric in measured.metrics}
    test = comparisons[measured.tested]
    worth = {metric: round(item.difference, 6) for metric, item in comparisons.items()}
    return PartWorth(part, worth, test.better, test.worse, test.p)
