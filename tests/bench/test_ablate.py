"""What a part is worth: the difference its absence makes."""

from __future__ import annotations

import pytest

from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe_file import load_recipe
from fivefold_bench.benchmark import Options, run_benchmark
from fivefold_bench.data import Dataset
from fivefold_bench.scores import Ablation, reduced_contestants, reduced_name, worth_of


def scores(*values: float) -> dict[str, dict[str, float]]:
    return {
        f"q{number}": {"recall@5": value, "recall@10": value, "ndcg@10": value / 2}
        for number, value in enumerate(values)
    }


def test_every_part_is_cut_once() -> None:
    recipe = load_recipe("recall")
    cut, kept = reduced_contestants("recall", recipe)
    assert [contestant.name for contestant in cut] == [
        reduced_name("recall", part) for part in recipe.parts() if part not in kept
    ]
    for contestant in cut:
        assert contestant.recipe is not None
        assert len(contestant.recipe.parts()) == len(recipe.parts()) - 1


def test_a_part_the_recipe_cannot_do_without_stays_with_the_reason() -> None:
    recipe = load_recipe("dense")
    assert "routes.dense" in reduced_contestants("dense", recipe)[1]


def test_worth_is_what_the_whole_has_over_the_cut() -> None:
    recipe = load_recipe("recall")
    first, *others = recipe.parts()
    found = worth_of(
        "recall",
        recipe,
        {
            "recall": scores(1, 1, 1, 0),
            reduced_name("recall", first): scores(0, 0, 0, 1),
            **{reduced_name("recall", part): scores(1, 1, 1, 1) for part in others},
        },
        {},
        seed=0,
    )
    assert found.parts[0].part == first
    assert found.parts[0].worth == {"recall@5": 0.5, "recall@10": 0.5, "ndcg@10": 0.25}
    assert (found.parts[0].better, found.parts[0].worse) == (3, 1)
    assert found.parts[0].p == 10 / 16
    assert all(part.worth["recall@10"] == -0.25 and part.p == 1.0 for part in found.parts[1:])


@pytest.mark.slow
def test_the_whole_way(mill: Dataset) -> None:
    """Without the lexical route nothing else knows the words, and the cut recipes stay out of the table."""
    results, files = run_benchmark(lambda: mill, Options(ablate="recall", embedder="wordllama"))
    assert files == []
    assert list(results["recipes"]) == ["recall"]
    assert results["ablation"]["recipe"] == "recall"
    parts = [part["part"] for part in results["ablation"]["parts"]]
    assert sorted(parts) == sorted(load_recipe("recall").parts())
    assert all(set(part["worth"]) == {"recall@5", "recall@10", "ndcg@10"} for part in results["ablation"]["parts"])


def test_the_ablated_recipe_joins_those_that_race(mill: Dataset) -> None:
    results, _ = run_benchmark(lambda: mill, Options("bm25", ablate="recipe:dense", embedder="wordllama"))
    assert list(results["recipes"]) == ["bm25", "recipe:dense"]
    last = results["ablation"]["parts"][-1]
    assert last["part"] == "routes.dense"
    assert last["p"] is None
    assert "routes is empty" in last["kept"]


@pytest.mark.parametrize("choice", ["bm25", "recall,default"])
def test_only_one_recipe_can_be_taken_apart(choice: str, mill: Dataset) -> None:
    with pytest.raises(InvalidInput, match="ablate takes one recipe"):
        run_benchmark(lambda: mill, Options("bm25", ablate=choice))


def test_an_ablation_is_plain_data() -> None:
    assert Ablation("x", ()).to_dict() == {"recipe": "x", "parts": []}
