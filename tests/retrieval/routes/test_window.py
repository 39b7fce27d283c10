"""The route of the time asked about, on a real store: what was said in it, what names it, and times ahead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fivefold.engine import Engine
from fivefold.retrieval.routes.times import DECIDES
from fivefold.stores.records import NAMES_WINDOW, SAID_IN_WINDOW
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Evidence, RouteRun
from tests.support.toy_engine import toy

NOW = "2025-06-11T15:30:00Z"
"""A Wednesday."""

TOLD = (
    ("boat", "2025-06-07T10:00:00Z", "We took the boat out."),
    ("soup", "2025-06-08T19:00:00Z", "I made soup with leeks."),
    ("fair", "2025-06-02T09:00:00Z", "The fair is on 7 June 2025."),
    ("dentist", "2025-06-01T09:00:00Z", "My dentist appointment is on 12 June 2025."),
    ("tax", "2025-03-04T09:00:00Z", "The tax letter came."),
    ("lamp", "2025-06-11T09:00:00Z", "The lamp in the hall is broken."),
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with toy(":memory:") as opened:
        opened.remember_many({"id": id, "event_at": at, "content": text} for id, at, text in TOLD)
        yield opened


def asked(engine: Engine, question: str) -> Recall:
    return engine.recall(question, now=NOW, k=len(TOLD))


def run_of(answer: Recall) -> RouteRun:
    return next(run for run in answer.routes if run.route == "window")


def evidence(answer: Recall) -> dict[str, Evidence]:
    """What the route says about each memory that it found."""
    found = ((hit.memory.id, item) for hit in answer for item in hit.candidate.evidence)
    return {id: item for id, item in found if item.route == "window"}


def test_a_question_without_a_time_skips_the_route(engine: Engine) -> None:
    run = run_of(asked(engine, "where is the lamp?"))
    assert (run.status, run.reason) == ("skipped", "the question names no time")


def test_what_was_said_in_the_time_and_what_names_it_are_found(engine: Engine) -> None:
    found = evidence(asked(engine, "what did I do last weekend?"))
    notes = {id: item.note for id, item in found.items()}
    assert notes == {"boat": SAID_IN_WINDOW, "soup": SAID_IN_WINDOW, "fair": NAMES_WINDOW}


def test_a_time_ahead_finds_what_names_it(engine: Engine) -> None:
    found = evidence(asked(engine, "what's on tomorrow?"))
    assert {id: item.note for id, item in found.items()} == {"dentist": NAMES_WINDOW}


def test_a_time_without_a_subject_weighs_more_than_one_with_it(engine: Engine) -> None:
    alone, subject = (asked(engine, question) for question in ("what happened last weekend?", "the soup last weekend?"))
    route = next(part for part in alone.plan.routes if part.route == "window")
    assert [demand.decides for demand in alone.query.demands if demand.kind == "window"] == [True]
    assert [demand.decides for demand in subject.query.demands if demand.kind == "window"] == [False]
    assert [item.weight for item in evidence(alone).values()] == pytest.approx([DECIDES * route.weight] * 3)
    assert [item.weight for item in evidence(subject).values()] == pytest.approx([route.weight] * 3)


def test_a_memory_of_the_time_is_a_candidate_though_no_word_is_alike() -> None:
    """Among many that are as near, the route alone brings it up."""
    with toy(":memory:") as engine:
        engine.remember_many(f"A remark about what happened, number {i}" for i in range(300))
        engine.remember("Quince jam", id="jam", event_at="2025-06-07T10:00:00Z")
        answer = engine.recall("what happened last weekend?", now=NOW, k=5)
        assert [top.id for top in run_of(answer).top] == ["jam"]
        assert list(evidence(answer)) == ["jam"]


def test_a_window_without_memories_is_searched_in_vain(engine: Engine) -> None:
    run = run_of(asked(engine, "what happened in January 2019?"))
    assert (run.status, run.hits) == ("hits", ())


def test_the_depth_of_the_route_is_a_limit(engine: Engine) -> None:
    answer = engine.recall("what did I do last weekend?", now=NOW, k=1, overrides={"routes.window.depth": 1})
    assert run_of(answer).found == 1
