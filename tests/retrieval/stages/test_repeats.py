"""Of two near-duplicates the newest answers for both, and the trace says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fivefold
from fivefold.engine import Engine

TEXTS = {
    "first": "The deploy script is in the tools folder",
    "again": "Deploy script lives in the tools folder",
    "other": "The deploy script of the website is written in Rust",
    "seven": "The deploy script runs on 7 machines",
    "eight": "The deploy script runs on 8 machines",
}


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with fivefold.open(tmp_path_factory.mktemp("repeats") / "m.db") as engine:
        engine.remember_many(
            {"content": text, "id": id, "event_at": f"2025-01-0{day}T09:00:00Z"}
            for day, (id, text) in enumerate(TEXTS.items(), 1)
        )
        assert [(link.source, link.target) for link in engine.links("repeats")] == [("again", "first")]
        yield engine


def ids(answer: fivefold.Recall) -> list[str]:
    return [hit.memory.id for hit in answer]


def test_the_newest_stands_for_both(mem: Engine) -> None:
    answer = mem.recall("Where is the deploy script?", k=5)
    assert "again" in ids(answer)
    assert "first" not in ids(answer)
    (gone,) = [item for item in answer.dropped if item.stage == "repeats"]
    assert (gone.id, gone.reason) == ("first", "again says nearly the same, and is newer")
    (hit,) = [hit for hit in answer if hit.memory.id == "again"]
    assert hit.candidate.steps[-1].why == "stands for first too"
    assert "stands for first too" in answer.explain()


def test_it_has_the_better_place_and_chance_of_both(mem: Engine) -> None:
    question = "Where is the deploy script?"
    before = {hit.memory.id: hit for hit in mem.recall(question, k=5, overrides={"select.repeats.shared": 1.0})}
    (after,) = [hit for hit in mem.recall(question, k=5) if hit.memory.id == "again"]
    assert after.rank == min(before["first"].rank, before["again"].rank)
    assert after.score == pytest.approx(max(before["first"].score, before["again"].score))
    assert after.chance == pytest.approx(max(before["first"].chance or 0, before["again"].chance or 0))


def test_what_differs_in_a_number_stays(mem: Engine) -> None:
    answer = mem.recall("On how many machines does the deploy script run?", k=5)
    assert {"seven", "eight"} <= set(ids(answer))


@pytest.mark.parametrize(
    "question",
    [
        "List everything I said about the deploy script",
        "What did I say about the deploy script on 1 January 2025?",
        "What did I first say about the deploy script?",
    ],
)
def test_a_question_for_all_or_for_a_time_keeps_both(question: str, mem: Engine) -> None:
    assert {"first", "again"} <= set(ids(mem.recall(question, k=5, now="2025-02-01T00:00:00Z")))


def test_asked_as_of_an_earlier_time_the_older_answers(mem: Engine) -> None:
    assert ids(mem.recall("Where is the deploy script?", k=5, now="2025-01-01T12:00:00Z")) == ["first"]


def test_what_is_pinned_stays(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "m.db") as mem:
        mem.remember(TEXTS["first"], id="first", pinned=True)
        mem.remember(TEXTS["again"], id="again")
        assert set(ids(mem.recall("Where is the deploy script?", k=2))) == {"first", "again"}
