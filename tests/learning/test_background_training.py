"""Training by itself: after enough feedback, in the background, and never in the way of a recall."""

from __future__ import annotations

import logging
import threading

import pytest

from fivefold.learning import training
from fivefold.learning.background_training import BackgroundTraining
from fivefold.learning.fitting import fit
from fivefold.learning.training import learned_by
from tests.support.synthetic_users import after_the_preferred, furnished, talk


def test_it_trains_after_enough_feedback_and_not_before(store_path: str) -> None:
    with furnished(store_path, notes=60) as engine:
        apprentice = BackgroundTraining(engine._space)
        for _ in range(3):
            talk(engine, after_the_preferred, 1)
            apprentice.notice(after=0)
            apprentice.notice(after=60)
        apprentice.wait()
        assert learned_by(engine._space).verdict is None
        talk(engine, after_the_preferred, 60)
        BackgroundTraining(engine._space).notice(after=100)
        fresh = BackgroundTraining(engine._space)
        fresh.notice(after=60)
        fresh.wait()
        verdict = learned_by(engine._space).verdict
        assert verdict is not None
        assert verdict.noted == 63
        again = BackgroundTraining(engine._space)
        again.notice(after=1)
        assert not again.at_work


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
        apprentice = BackgroundTraining(engine._space)
        apprentice.notice(after=50)
        assert begun.wait(30)
        assert apprentice.at_work
        talk(engine, after_the_preferred, 3)
        apprentice.notice(after=1)
        go_on.set()
        apprentice.wait()
        assert learned_by(engine._space).verdict is not None


def test_a_training_that_fails_is_logged_and_breaks_nothing(
    store_path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*given: object) -> object:
        raise ZeroDivisionError("by design")

    monkeypatch.setattr(training, "fit", broken)
    with furnished(store_path, notes=60) as engine:
        talk(engine, after_the_preferred, 60)
        apprentice = BackgroundTraining(engine._space)
        with caplog.at_level(logging.WARNING, "fivefold"):
            apprentice.notice(after=50)
            apprentice.wait()
        assert "could not be trained" in caplog.text
        assert len(engine.recall("harbour")) == 10


def test_a_store_closed_meanwhile_is_only_logged(store_path: str, caplog: pytest.LogCaptureFixture) -> None:
    engine = furnished(store_path, notes=10)
    apprentice = BackgroundTraining(engine._space)
    engine.close()
    with caplog.at_level(logging.WARNING, "fivefold"):
        apprentice._train()
    assert "could not be trained" in caplog.text
