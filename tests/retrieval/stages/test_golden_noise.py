"""Noise and threshold of E6."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.errors import RerankerError
from fivefold.models.rerankers import Reranker
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages import Pool, noise
from fivefold.retrieval.stages.noise import RERANKED, Threshold, threshold
from fivefold.values.recall_trace import Candidate, StageNote
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


def read(*scores: float) -> list[Candidate]:
    """Candidates with these scores of a cross-encoder."""
    return [of(row, 0.9).with_step(RERANKED, score, "read") for row, score in enumerate(scores)]


def gated(candidates: list[Candidate], judge: str = "local", **constants: float) -> Pool:
    pool = Pool(candidates, judge=judge)
    return threshold(pool, search(lexemes=("xyzzy",)), Threshold(**constants))


def test_E6_the_best_of_what_was_read_decides_whether_anything_is_returned() -> None:
    candidates = [*read(0.2, 0.5), of(9, 0.1)]
    assert gated(candidates, least=0.5).candidates == candidates
    nothing = gated(candidates, least=0.51)
    assert not nothing.candidates
    assert {item.reason for item in nothing.dropped} == {
        "the best memory read has 0.5000, below the least score of 0.51"
    }


def test_E6_fused_scores_are_never_compared() -> None:
    candidates = [of(1, 0.001), of(2, 0.002)]
    assert gated(candidates, least=1.0, strange=1_000).candidates == candidates
    assert gated(read(0.1), judge="", least=1.0).candidates


def test_E6_the_threshold_is_of_what_the_cross_encoder_said_and_not_of_noise() -> None:
    raised = read(0.05)[0].with_step("noise", 0.09, "+0.0400")
    lowered = read(0.08)[0].with_step("noise", 0.04, "-0.0400")
    assert not gated([raised], least=0.07).candidates
    assert gated([lowered], least=0.07).candidates == [lowered]


def test_E6_a_cross_encoder_that_fails_at_the_gate_lets_all_through_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(choice: str) -> Reranker:
        raise RerankerError("the model is away")

    monkeypatch.setattr(noise, "reranker", away)
    monkeypatch.setattr(noise, "search_kinds", lambda plan: {"words": "lexical"})
    pool = gated(read(0.05), strange=2.0)
    assert [candidate.score for candidate in pool.candidates] == [0.05]
    assert pool.notes == (StageNote("threshold", "failed", "RerankerError: the model is away", "local"),)


STORED = ("My badge ID is E-47821", "Freja's birthday is on 3 May", "The boiler was serviced in March")


@pytest.mark.parametrize("question", ["xyzzy plugh frobnicate", "qwerty asdf zxcv", "blorft snargle wibble?"])
def test_E6_a_nonsense_question_gets_nothing_where_the_cross_encoder_judges(tmp_path: Path, question: str) -> None:
    with fivefold.open(tmp_path / "memory.db") as engine:
        engine.remember_many(STORED)
        assert engine.recall("what's my badge ID?", recipe="engram")[0].memory.content == STORED[0]
        nonsense = engine.recall(question, recipe="engram")
    assert not nonsense
    assert not nonsense.found
    assert {item.stage for item in nonsense.dropped} == {"threshold"}


@pytest.mark.parametrize("question", ["Wann hat Freja Geburtstag?", "when did they look after the heating?"])
def test_E6_a_question_without_a_stored_word_is_answered_if_the_best_answers_it(tmp_path: Path, question: str) -> None:
    with fivefold.open(tmp_path / "memory.db") as engine:
        engine.remember_many(STORED)
        assert engine.recall(question, recipe="engram").found


def test_E6_the_gate_takes_few_answers_away(sample_engine: Engine) -> None:
    """The questions about the sample year that an answer is expected for."""
    asked = [item for item in sample.questions() if item.relevant]
    empty = [item.query for item in asked if not sample_engine.recall(item.query, recipe="engram", now=item.now).found]
    assert len(empty) <= len(asked) / 20


def test_e6_engram_scales_before_it_adds_noise() -> None:
    recipe = load_recipe("engram")
    names = [spec.name for spec in recipe.rerank]
    assert names.index("cross_encoder") < names.index("episodic") < names.index("scale")
    assert [(spec.name, spec.ids) for spec in recipe.select] == [("noise", ("E6",)), ("threshold", ("E6",))]
    assert recipe.select[0].constants.sigma == 0.02
