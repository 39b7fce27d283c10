"""Learning from use on a real store: real recalls, real feedback, users with a hidden preference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import NotFound
from fivefold.learning.model_store import NEVER
from fivefold.learning.reranker import Verdict
from fivefold.learning.training import forget_reranker, learned_reranker, read_lessons, train_reranker
from fivefold.retrieval.stages.base import best_first
from tests.support.synthetic_users import (
    User,
    after_the_preferred,
    at_random,
    by_place,
    furnished,
    preferred,
    questions,
    reranked,
    talk,
)

pytestmark = pytest.mark.slow

ASKED = 160


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Verdict]]:
    """A namespace whose user prefers events and what is new, and the verdict on what it learned."""
    engine = furnished(str(tmp_path_factory.mktemp("taught") / "memory.db"))
    talk(engine, after_the_preferred, ASKED)
    verdict = train_reranker(engine._namespace)
    yield engine, verdict
    engine.close()


def test_a_preference_is_learned_and_switched_on(taught: tuple[Engine, Verdict]) -> None:
    engine, verdict = taught
    assert verdict.on, verdict.describe()
    assert verdict.figures is not None
    assert verdict.figures.least_gain > 0
    assert verdict.figures.held_out == 64
    assert verdict.feedbacks == verdict.noted == ASKED
    assert learned_reranker(engine._namespace).verdict == verdict


def test_new_questions_are_answered_better(taught: tuple[Engine, Verdict]) -> None:
    """Of the five best, more are what the user prefers, without anything being lost or made up."""
    engine, _ = taught
    known = learned_reranker(engine._namespace)
    before, after = [], []
    for question in questions(15, seed=99):
        hits, pool = reranked(engine, question, known)
        ranked = best_first(pool.candidates)
        assert {candidate.memory.id for candidate in ranked} == {hit.memory.id for hit in hits}
        before.append(np.mean([preferred(hit.memory) for hit in hits[:5]]))
        after.append(np.mean([preferred(candidate.memory) for candidate in ranked[:5]]))
    assert np.mean(after) > np.mean(before) + 0.2


def test_the_law_of_the_trace_holds(taught: tuple[Engine, Verdict]) -> None:
    engine, verdict = taught
    _, pool = reranked(engine, "harbour garden", learned_reranker(engine._namespace))
    for candidate in pool.candidates:
        assert math.fsum(item.contribution for item in candidate.evidence) == pytest.approx(candidate.fused)
        reached = candidate.fused
        for step in candidate.steps:
            assert step.before == reached
            reached = step.after
        assert candidate.score == reached
    looked_at = best_first(pool.candidates)[:20]
    assert all(candidate.steps[-1].stage == "learned" for candidate in looked_at)
    assert all(verdict.model in candidate.steps[-1].why for candidate in looked_at)


def test_training_again_gives_the_same(taught: tuple[Engine, Verdict]) -> None:
    engine, verdict = taught
    assert train_reranker(engine._namespace) == verdict
    assert train_reranker(engine._namespace, seed=7).model != verdict.model
    assert train_reranker(engine._namespace).model == verdict.model


def test_another_engine_sees_the_model_and_another_namespace_does_not(taught: tuple[Engine, Verdict]) -> None:
    engine, verdict = taught
    with furnished(engine.store.location, "other", notes=5) as other:
        assert learned_reranker(other._namespace).ranker is None
        assert learned_reranker(other._namespace).reason == NEVER
        assert not train_reranker(other._namespace).on
        assert learned_reranker(engine._namespace).verdict == verdict
    files = sorted(Path(f"{engine.store.location}.learned").iterdir())
    assert [file.name.rpartition("-")[0] for file in files] == ["default", "other"]
    with fivefold.open(engine.store.location) as again:
        assert learned_reranker(again._namespace).verdict == verdict


def test_the_log_holds_what_training_needs(taught: tuple[Engine, Verdict]) -> None:
    engine, _ = taught
    found = read_lessons(engine.store.reader("default"))
    assert len(found) == ASKED
    assert all(len(lesson.used) == len(lesson.base) == len(lesson.features) for lesson in found)
    assert all(lesson.used.sum() == 1 for lesson in found)


@pytest.mark.parametrize("user", [at_random, by_place])
def test_use_that_says_nothing_switches_nothing_on(user: User) -> None:
    engine = furnished(":memory:")
    talk(engine, user, ASKED)
    verdict = train_reranker(engine._namespace)
    assert not verdict.on, verdict.describe()
    assert learned_reranker(engine._namespace).ranker is None
    assert learned_reranker(engine._namespace).verdict == verdict
    engine.close()


def test_too_little_feedback_trains_nothing() -> None:
    engine = furnished(":memory:", notes=30)
    talk(engine, after_the_preferred, 10)
    engine.recall("harbour")
    verdict = train_reranker(engine._namespace)
    assert (verdict.on, verdict.feedbacks, verdict.figures) == (False, 10, None)
    assert verdict.describe() == "off: 10 of the 50 recalls with feedback that it takes; give feedback after recalls"
    forget_reranker(engine._namespace)
    assert learned_reranker(engine._namespace).reason == NEVER
    engine.close()


def test_a_namespace_that_does_not_exist_says_so() -> None:
    with fivefold.open(":memory:", namespace="elsewhere") as engine, pytest.raises(NotFound, match="elsewhere"):
        train_reranker(engine._namespace)
