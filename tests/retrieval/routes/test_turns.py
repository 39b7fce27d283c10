"""The turns of the running conversation and of the one before, on a real store, without any search by likeness."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fivefold.engine import Engine
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import RouteRun
from tests.support.toy_engine import toy

DURING, AFTER = "2025-06-11T10:30:00Z", "2025-06-12T09:00:00Z"
"""While the second conversation runs, and on the day after."""

TALKS = {
    "jam": ("2025-06-09T18", ("The quince jam is done.", "How many jars?", "Twelve jars.")),
    "kiln": ("2025-06-11T10", ("The kiln needs a fuse.", "Which one?", "A slow one of ten amperes.")),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with toy(":memory:") as opened:
        for session, (hour, texts) in TALKS.items():
            opened.remember_many(
                {"id": f"{session}{i}", "session_id": session, "speaker": "user", "content": text}
                | {"event_at": f"{hour}:{10 * i:02}:00Z"}
                for i, text in enumerate(texts)
            )
        opened.remember("A note on its own.", id="note", event_at="2025-06-11T10:25:00Z")
        yield opened


def run_of(answer: Recall) -> RouteRun:
    return next(run for run in answer.routes if run.route == "turns")


def asked(engine: Engine, question: str, now: str) -> list[str]:
    """The ids of what the route found, in its order."""
    return [top.id for top in run_of(engine.recall(question, now=now)).top]


def test_other_questions_skip_the_route(engine: Engine) -> None:
    run = run_of(engine.recall("which fuse does the kiln need?", now=DURING))
    assert (run.status, run.reason) == ("skipped", "the question asks for no turns of a conversation")


def test_just_now_is_the_running_conversation_latest_turn_first(engine: Engine) -> None:
    answer = engine.recall("what did I just say?", now=DURING)
    run = run_of(answer)
    assert [top.id for top in run.top] == ["kiln2", "kiln1", "kiln0"]
    assert [hit.score for hit in run.hits] == pytest.approx([1, 1 / 2, 1 / 3])


def test_last_time_is_not_the_running_conversation(engine: Engine) -> None:
    assert asked(engine, "what did we talk about last time?", DURING) == ["jam2", "jam1", "jam0"]


def test_after_a_pause_the_conversation_before_is_the_last(engine: Engine) -> None:
    assert asked(engine, "what did we talk about last time?", AFTER) == ["kiln2", "kiln1", "kiln0"]
    assert asked(engine, "what did I just say?", AFTER) == ["kiln2", "kiln1", "kiln0"]


def test_conversations_after_the_time_of_the_question_are_left_out(engine: Engine) -> None:
    assert asked(engine, "what did we talk about last time?", "2025-06-11T09:00:00Z") == ["jam2", "jam1", "jam0"]
    assert asked(engine, "what did I just say?", "2025-06-09T17:00:00Z") == []


def test_the_depth_keeps_the_latest_turns(engine: Engine) -> None:
    answer = engine.recall("what did I just say?", now=DURING, k=2, overrides={"routes.turns.depth": 2})
    assert [top.id for top in run_of(answer).top] == ["kiln2", "kiln1"]


def test_a_store_without_conversations_finds_nothing() -> None:
    with toy(":memory:") as engine:
        engine.remember("A note on its own.")
        assert asked(engine, "what did we talk about last time?", AFTER) == []
