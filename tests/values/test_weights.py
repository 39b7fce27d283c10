"""How weights are described: shares in percent, the correction from use, the intent (D10)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from fivefold.values.query import Query, Weights

ASKED = Query("what's new?", datetime(2025, 6, 1, tzinfo=UTC), ())
RECENT = Weights(0.19, 0.72, 0.09, "model m1", intent="temporal")


def test_D10_weights_are_shown_in_percent() -> None:
    assert RECENT.describe() == "similarity 19%, recency 72%, frequency 9% (model m1)"


def test_D10_the_weights_before_the_correction_are_shown_too() -> None:
    corrected = replace(RECENT, before=(0.3, 0.6, 0.1))
    assert "frequency 9%, before use corrected them 30%, 60%, 10% (model m1)" in corrected.describe()


def test_D10_the_intent_shown_is_the_predicted_one() -> None:
    assert ASKED.shown_intent == "what"
    assert replace(ASKED, weights=Weights(0.6, 0.25, 0.15, "fallback: no model")).shown_intent == "what"
    assert replace(ASKED, weights=RECENT).describe() == ["  asked 2025-06-01 00:00 UTC, intent temporal"]
