"""What each question demands, by several hundred questions with labels; and that a time with no subject decides."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivefold.retrieval.understand.demands import find_demands
from fivefold.retrieval.understand.subject import subject_words
from fivefold.retrieval.understand.windows import Time, reach_of
from fivefold.text.time_grammar import find_window

NOW = datetime(2025, 6, 11, 15, 30, tzinfo=UTC)


def labelled() -> list[tuple[str, frozenset[str]]]:
    lines = Path(__file__).with_name("questions.txt").read_text("utf-8").splitlines()
    pairs = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [(question, frozenset(kinds.split(", ")) - {"-"}) for kinds, question in pairs]


def demanded(question: str) -> frozenset[str]:
    window = find_window(question, NOW, UTC, reach=reach_of(question))
    time = Time(window, alone=not subject_words(question, window.text)) if window else None
    return frozenset(f"{item.kind}{'!' * item.decides}" for item in find_demands(question, time))


@pytest.mark.parametrize(("question", "demands"), labelled())
def test_what_a_question_demands(question: str, demands: frozenset[str]) -> None:
    assert demanded(question) == demands
