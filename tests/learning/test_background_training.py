"""Training by itself: after enough feedback, in the background, and never in the way of a recall."""

from __future__ import annotations

import logging
import threading

import pytest

from fivefold.learning import training
from fivefold.learning.training import BackgroundTraining, fit, learned_reranker
from tests.support.synthetic_users import after_the_preferred, furnished, talk

pytestmark = pytest.mark.slow


def test_it_trains_after_enough_feedback_and_not_before(store_path: str) -> None:
    with furnished(store_path, notes=60) as engine:
        background = BackgroundTraining(engine._namespace)
        for _ in range(3):
            talk(engine, after_the_preferred, 1)
            background.count_feedback(train_after=0)
            background.count_feedback(train_after=60)
        background.wait()
        assert learned_reranker(engine._namespace).verdict is None
        talk(engine, after_the_preferred, 60)
        BackgroundTraining(engine._namespace).count_feedback(train_after=100)
        fresh = BackgroundTraining(engine._namespace)
        fresh.count_feedback(train_after=60)
        fresh.wait()
        verdict = learned_reranker(engine._namespace).verdict
        assert verdict is not None
        assert verdict.noted == 63
        again = BackgroundTraining(engine._namespace)
        again.count_feedback(train_after=1)
        assert not again.is_running


def test_recalls_go_on_while_it_trains(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training is held up on purpose; recalls and further feedback do not wait for it."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(*given: object) -> object:
        begun.set()
        assert go_on.wait(30)
        return fit(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "fit", slow)
    with furnished(store_path, notes=60) as engine:
        talk(engine, after_the_preferred, 60)
        background = BackgroundTraining(engine._namespace)
        background.count_feedback(train_after=50)
        assert begun.wait(30)
        assert background.is_running
        talk(engine, after_the_preferred, 3)
        background.count_feedback(train_after=1)
        go_on.set()
        background.wait()
        assert learned_reranker(engine._namespace).verdict is not None


def test_a_training_that_fails_is_logged_and_breaks_nothing(
    store_path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*given: object) -> object:
        raise ZeroDivisionError("by design")

    monkeypatch.setattr(training, "fit", broken)
    with furnished(store_path, notes=60) as engine:
        talk(engine, after_the_preferred, 60)
        background = BackgroundTraining(engine._namespace)
        with caplog.at_level(logging.WARNING, "fivefold"):
            background.count_feedback(train_after=50)
            background.wait()
        assert "could not be trained" in caplog.text
        assert len(engine.recall("harbour")) == 10


def test_a_store_closed_meanwhile_is_only_logged(store_path: str, caplog: pytest.LogCaptureFixture) -> None:
    engine = furnished(store_path, notes=10)
    background = BackgroundTraining(engine._namespace)
    engine.close()
    with caplog.at_level(logging.WARNING, "fivefold"):
        background._train()
    assert "could not be trained" in caplog.text
