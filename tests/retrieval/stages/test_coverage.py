"""Where a list is asked for, turns that add nothing to it make room for others."""

from __future__ import annotations

import pytest

from fivefold.retrieval.stages import Pool
from fivefold.retrieval.stages.coverage import only_asks
from fivefold.values.query import DemandKind
from tests.support.stage_pool import demand, of, said, scores, search, stage

TURNS = {
    1: "How many things did I buy, I wonder about the things I bought",
    2: "All the things I bought and the things I did not buy",
    3: "The things I bought, all the things I buy",
    4: "I bought a tent and two sleeping bags",
    5: "How many things did you buy? Which things?",
}


def covered(
    kind: DemandKind | None = "count", lexemes: tuple[str, ...] = ("thing", "buy"), unit: str = "memory"
) -> Pool:
    candidates = [said(of(row, 1.0 - row / 10), text, session="s", turn=row) for row, text in TURNS.items()]
    candidates.append(said(of(6, 0.1), "The things I bought, all the things I buy"))
    context = search(
        text="How many things did I buy?", demands=[demand(kind)] if kind else [], lexemes=lexemes, unit=unit
    )
    return stage("coverage", candidates, context)


@pytest.mark.parametrize("kind", ["list", "count"])
def test_N3_a_turn_that_adds_nothing_steps_back(kind: DemandKind) -> None:
    """The first two of a session count whatever they say, as does what has words of its own; a note has no session."""
    pool = covered(kind)
    assert scores(pool) == pytest.approx({1: 0.9, 2: 0.8, 3: 0.007, 4: 0.6, 5: 0.005, 6: 0.1})
    whys = {one.memory.row: one.steps[-1].why for one in pool.candidates if one.steps}
    assert whys == {3: "× 0.01, the question and its session have 100% of its words", 5: "× 0.01, it only asks"}


@pytest.mark.parametrize("kind", [None, "window", "current"])
def test_N3_other_questions_keep_their_order(kind: DemandKind | None) -> None:
    assert scores(covered(kind))[3] == 0.7


def test_N3_sessions_keep_their_order() -> None:
    assert scores(covered(unit="session"))[3] == 0.7


def test_N3_long_messages_keep_their_order() -> None:
    """Each says several things, so that most of its words being those of others says little."""
    text = f"{TURNS[3]}. " * 10
    candidates = [said(of(row, 1.0 - row / 10), text, session="s", turn=row) for row in range(1, 5)]
    context = search(text="How many things did I buy?", demands=[demand("count")], lexemes=("thing", "buy"))
    assert scores(stage("coverage", candidates, context)) == pytest.approx({1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6})


def test_N3_who_asks_for_questions_gets_them() -> None:
    why = {one.memory.row: one.steps[-1].why for one in covered(lexemes=("thing", "ask")).candidates if one.steps}
    assert why[5].endswith("of its words")


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("How many? Which ones?", True),
        ("And where do you go now?", True),
        ("I bought a tent, is it waterproof?", False),
        ("I bought a tent. Is it waterproof?", False),
        ("I bought a tent.", False),
    ],
)
def test_a_text_with_a_statement_does_not_only_ask(text: str, asks: bool) -> None:
    assert only_asks(text) is asks
