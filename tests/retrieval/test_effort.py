"""Effort is a change of the recipe that the plan shows."""

from __future__ import annotations

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe_file import at_effort, known_recipes, load_recipe
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages.noise import RERANKED
from fivefold.values.recall_trace import EFFORTS

QUESTION = "what is my resting heart rate?"


@pytest.mark.parametrize("name", known_recipes())
def test_efforts_differ_in_depth_and_in_what_a_model_reads(name: str) -> None:
    low, normal, high = (at_effort(load_recipe(name), effort)[0] for effort in EFFORTS)
    assert normal == load_recipe(name)
    for shallow, usual, deep in zip(low.routes, normal.routes, high.routes, strict=True):
        if ROUTES[usual.search].of_candidates:
            assert shallow.depth == usual.depth == deep.depth
        else:
            assert shallow.depth <= usual.depth <= deep.depth
            assert deep.depth > usual.depth or usual.depth == 4096
    for stage, usual_stage, deep_stage in zip(low.rerank, normal.rerank, high.rerank, strict=True):
        if usual_stage.name == "cross_encoder":
            assert not stage.runs_at("low")
            assert deep_stage.runs_at("high")
            assert deep_stage.constants.depth == 3 * usual_stage.constants.depth
            assert deep_stage.constants.budget_ms == 0


def test_the_plan_and_the_trace_show_it(sample_engine: Engine) -> None:
    plan = sample_engine.plan(QUESTION, effort="low")
    assert (plan.effort, plan.stages) == (
        "low",
        ("additive", "learned", "ended", "standing", "chance", "repeats", "coverage"),
    )
    assert plan.by_effort["routes.dense.depth"] == 40
    answer = sample_engine.recall(QUESTION, effort="low")
    assert answer.plan == plan
    assert "convex over 100, low effort" in answer.explain()
    assert RERANKED not in [note.stage for note in answer.notes]
    usual = sample_engine.plan(QUESTION)
    assert (usual.effort, usual.by_effort) == ("normal", {})
    assert "cross_encoder" not in usual.stages
    assert "cross_encoder" in sample_engine.plan(QUESTION, effort="high").stages
    assert "normal effort" not in sample_engine.recall(QUESTION).explain()


def test_high_effort_has_more_candidates_read(sample_engine: Engine) -> None:
    answer = sample_engine.recall(QUESTION, effort="high", recipe="five-stage")
    note = next(note for note in answer.notes if note.stage == RERANKED)
    assert note.why.startswith("read the best ")
    assert int(note.why.split()[3].rstrip(",")) > load_recipe("five-stage").rerank[0].constants.depth


def test_what_was_changed_for_a_recall_is_what_effort_starts_from(sample_engine: Engine) -> None:
    plan = sample_engine.plan(QUESTION, recipe="lexical", overrides={"routes.lexical.depth": 200}, effort="low")
    assert plan.routes[0].depth == 50


@pytest.mark.parametrize("effort", ["", "LOW", "huge", None, 3])
def test_another_effort_is_refused(effort: object, sample_engine: Engine) -> None:
    with pytest.raises(InvalidInput, match=r"effort .* is unknown; it is one of low, normal, high"):
        sample_engine.recall(QUESTION, effort=effort)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="effort"):
        fivefold.Engine.plan(sample_engine, QUESTION, effort=effort)  # type: ignore[arg-type]
