"""The route of standing instructions and preferences, on a real store with the default embedder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.models.embedders import embedder
from fivefold.retrieval.fuse import score_rrf
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import RouteHit, RouteRun
from tests.support.toy_engine import toy

FILLER = "We walked along the river and talked about the weather of the last days."

TOLD = {
    "headings": "Always use short headings when you write a summary for me.",
    "figs": f"{FILLER} {FILLER} I love figs and walnuts. {FILLER}",
    "lamp": "The lamp in the hall is broken.",
    "report": "The summary of the report was sent to Carla on Monday.",
}
"""An instruction, a taste within a longer message, and two memories with neither."""

REQUEST = "Please write a summary of the meeting."


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with fivefold.open(":memory:") as opened:
        opened.remember_many({"id": id, "content": text, "speaker": "user"} for id, text in TOLD.items())
        yield opened


def run_of(answer: Recall) -> RouteRun:
    return next(run for run in answer.routes if run.route == "standing")


def scores_of(answer: Recall) -> dict[str, float]:
    """The ids of what the route found with their scores, in its order."""
    return {top.id: top.score for top in run_of(answer).top}


@pytest.mark.parametrize("question", ["where is the lamp?", "what did I say about figs?", "who is Carla?"])
def test_a_question_that_is_not_a_request_skips_the_route(engine: Engine, question: str) -> None:
    run = run_of(engine.recall(question))
    assert (run.status, run.reason) == ("skipped", "the question is not a request")


@pytest.mark.parametrize("question", [REQUEST, "What should I cook for dinner?"])
def test_a_request_and_a_question_for_advice_find_instructions_and_tastes_only(engine: Engine, question: str) -> None:
    answer = engine.recall(question)
    assert answer.query.demand("request", "suggestion") is not None
    assert set(scores_of(answer)) == {"headings", "figs"}


def test_the_instruction_that_is_about_the_request_comes_first(engine: Engine) -> None:
    assert list(scores_of(engine.recall(REQUEST))) == ["headings", "figs"]
    assert list(scores_of(engine.recall("Suggest a dessert with fruit for me."))) == ["figs", "headings"]


def test_the_sentence_is_compared_and_not_the_whole_message(engine: Engine) -> None:
    """The score is near the cosine of the question with the sentence that states the taste, read with its speaker."""
    question = "Suggest a dessert with fruit for me."
    sentence = next(text for text in TOLD["figs"].split(". ") if "figs" in text)
    asked, told, whole = embedder("fivefold-minilm").embed([question, f"{sentence}.", TOLD["figs"]])
    score = scores_of(engine.recall(question))["figs"]
    assert score == pytest.approx(float(asked @ told), abs=0.1)
    assert score > float(asked @ whole) + 0.05


def test_an_instruction_is_a_candidate_though_no_word_is_alike(sample_path: str, tmp_path: Path) -> None:
    """Among the memories of a year the route alone brings it up, and the ranker counts that it applies."""
    question, now = "Draft an email to Tom about the gaskets.", "2026-01-10T10:00:00Z"
    text = "Always use short headings when you write for me."
    with fivefold.open(copy(sample_path, tmp_path / "year.db")) as engine:
        engine.remember(text, id="headings", speaker="user", event_at=now)
        answer = engine.recall(question, now=now, k=100)
        without = engine.recall(question, now=now, k=100, overrides={"routes.standing.on": False})
    (hit,) = (hit for hit in answer if hit.memory.id == "headings")
    assert "standing" in {item.route for item in hit.candidate.evidence}
    assert "applies +" in str(hit.candidate.steps[0].why)
    assert "headings" not in {hit.memory.id for hit in without}


def test_the_depth_of_the_route_and_the_filter_are_limits(engine: Engine) -> None:
    assert list(scores_of(engine.recall(REQUEST, k=1, overrides={"routes.standing.depth": 1}))) == ["headings"]
    assert scores_of(engine.recall(REQUEST, filter={"speaker": "Carla"})) == {}


def test_a_store_without_preferences_finds_nothing() -> None:
    with toy(":memory:") as engine:
        engine.remember("The lamp in the hall is broken.")
        run = run_of(engine.recall(REQUEST))
        assert (run.status, run.hits) == ("hits", ())


def test_a_cosine_below_0_counts_as_nothing_when_scores_are_fused_by_their_root() -> None:
    shares = score_rrf([RouteHit(1, 0.25), RouteHit(2, -0.05)], "standing", 1.0, 60, 10)
    assert shares.contributions == [pytest.approx(0.5 / 61), 0.0]
