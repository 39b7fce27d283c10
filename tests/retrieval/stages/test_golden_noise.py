"""Noise and threshold of E6."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages.noise import RERANKED
from tests.support.stage_pool import of, scores, search, stage

MANY = [of(row, 0.5) for row in range(400)]


def test_e6_noise_is_the_same_for_the_same_recall() -> None:
    one, again = (scores(stage("noise", MANY, search(recall_id="r1"))) for _ in range(2))
    assert one == again
    assert one != scores(stage("noise", MANY, search(recall_id="r2")))


def test_e6_noise_of_a_memory_does_not_depend_on_the_others() -> None:
    assert scores(stage("noise", MANY[7:9]))[7] == scores(stage("noise", MANY))[7]


def test_e6_noise_has_the_width_it_says() -> None:
    drawn = np.array(list(scores(stage("noise", MANY, sigma=0.02)).values())) - 0.5
    assert abs(float(drawn.mean())) < 0.004
    assert float(drawn.std()) == pytest.approx(0.02, rel=0.15)
    assert len(set(drawn.tolist())) == len(MANY)


def test_e6_no_width_no_noise() -> None:
    quiet = stage("noise", MANY, sigma=0.0)
    assert all(candidate.steps == () for candidate in quiet.candidates)


def test_e6_with_a_seed_only_the_question_matters() -> None:
    def drawn(recall: str, question: str, seed: int) -> dict[int, float]:
        return scores(stage("noise", MANY[:5], search(recall_id=recall, text=question), seed=seed))

    assert drawn("r1", "where?", 3) == drawn("r2", "where?", 3)
    assert drawn("r1", "where?", 3) != drawn("r1", "who?", 3)
    assert drawn("r1", "where?", 3) != drawn("r1", "where?", 4)


def test_e6_noise_tells_what_it_did() -> None:
    step = stage("noise", MANY[:1]).candidates[0].steps[0]
    assert step.why == f"{step.after - step.before:+.4f}, drawn for this recall"


def test_e6_the_threshold_holds_only_what_a_cross_encoder_has_judged() -> None:
    judged = of(1, 0.9).with_step(RERANKED, 0.2, "judged")
    good = of(2, 0.1).with_step(RERANKED, 0.5, "judged")
    unjudged = of(3, 0.1)
    left = stage("threshold", [judged, good, unjudged], least=0.5)
    assert set(scores(left)) == {2, 3}
    assert [(item.id, item.stage, item.reason) for item in left.dropped] == [
        ("m00001", "threshold", "below the least score of 0.5")
    ]


def test_E6_the_threshold_is_of_what_the_cross_encoder_said_and_not_of_noise() -> None:
    raised = of(1, 0.9).with_step(RERANKED, 0.05, "judged").with_step("noise", 0.09, "+0.0400")
    lowered = of(2, 0.9).with_step(RERANKED, 0.08, "judged").with_step("noise", 0.04, "-0.0400")
    assert set(scores(stage("threshold", [raised, lowered], least=0.07))) == {2}


def test_E6_engram_has_a_threshold_of_0_07() -> None:
    assert load_recipe("engram").select[1].constants.least == 0.07


def test_E6_a_nonsense_question_gets_nothing_where_the_cross_encoder_judges(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "memory.db") as engine:
        engine.remember_many(
            ["My badge ID is E-47821", "Freja's birthday is on 3 May", "The boiler was serviced in March"]
        )
        assert engine.recall("what's my badge ID?", recipe="engram")[0].memory.content == "My badge ID is E-47821"
        nonsense = engine.recall("xyzzy plugh frobnicate", recipe="engram")
    assert not nonsense
    assert {item.stage for item in nonsense.dropped} == {"threshold"}


def test_e6_engram_scales_before_it_adds_noise() -> None:
    recipe = load_recipe("engram")
    assert recipe.boosts[-1].name == "scale"
    assert [(spec.name, spec.ids) for spec in recipe.select] == [("noise", ("E6",)), ("threshold", ("E6",))]
    assert recipe.select[0].constants.sigma == 0.02
