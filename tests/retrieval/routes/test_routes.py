"""The graph and temporal routes, the type filter with its widening, and routes that are late."""

from __future__ import annotations

import time
from typing import Any

import pytest

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.routes.searches import Lexical


def run_of(answer: fivefold.Recall, route: str) -> Any:
    return next(run for run in answer.routes if run.route == route)


def test_a_relation_without_a_shared_word_is_found_through_the_graph_alone(engine: Engine) -> None:
    engine.remember("Sarah reports to Tom", id="bridge")
    engine.remember("Tom is busy with the river float", id="answer")
    engine.remember_many([f"an unrelated remark number {i}" for i in range(30)])
    answer = engine.recall("Sarah?", recipe="recall", k=5)
    hit = next(hit for hit in answer if hit.memory.id == "answer")
    graph = next(item for item in hit.candidate.evidence if item.route == "graph")
    assert graph.note == "Sarah —reports to→ Tom"
    assert graph.weight == 0.8


@pytest.mark.parametrize("id", ["q30", "q31", "q32", "q33"])
def test_relations_of_the_sample_are_reached_through_the_graph(sample_engine: Engine, id: str) -> None:
    """The answering memory shares no word with the question, and the graph leads to it."""
    question = next(item for item in sample.questions() if item.id == id)
    answer = sample_engine.recall(question.query, recipe="recall", now=question.now)
    rows = {sample_engine.get(relevant).row for relevant in question.relevant}
    found = {run.route: {hit.row for hit in run.hits} for run in answer.routes}
    assert rows <= found["graph"]


def test_the_bounds_of_a_walk_show_in_the_trace(engine: Engine) -> None:
    engine.remember("Sarah reports to Tom")
    reason = run_of(engine.recall("Sarah", recipe="recall"), "graph").reason
    assert "within 2 hops, along at most 32 edges and 200 memories of an entity" in reason


def test_weights_and_scores_of_r10(engine: Engine) -> None:
    """A direct mention at rank 1: 1.0 · √1 / 61; a far one: 0.8 · √score / (60 + rank)."""
    engine.remember("Sarah reports to Tom", id="direct")
    engine.remember("Tom sails", id="far")
    answer = engine.recall("Sarah", recipe="recall")
    evidence = {hit.memory.id: {item.route: item for item in hit.candidate.evidence} for hit in answer}
    assert evidence["direct"]["graph"].contribution == pytest.approx(1 / 61)
    far = evidence["far"]["graph"]
    assert far.contribution == pytest.approx(0.8 * far.score**0.5 / 62)


def test_the_temporal_route_finds_events_of_the_window_only(engine: Engine) -> None:
    engine.remember("I visited the harbour", id="in", event_at="2025-06-10T18:00:00Z", type="event")
    engine.remember("I visited the mill", id="out", event_at="2025-05-01T12:00:00Z", type="event")
    engine.remember("The harbour is old", id="fact", event_at="2025-06-10T18:00:00Z", type="fact")
    answer = engine.recall("what happened yesterday?", recipe="recall", now="2025-06-11T15:30:00Z")
    temporal = run_of(answer, "temporal")
    assert [top.id for top in temporal.top] == ["in"]
    assert answer[0].memory.id == "in"
    assert run_of(answer, "lexical").status == "skipped"


def test_too_many_events_are_taken_from_the_middle_of_the_window(engine: Engine) -> None:
    engine.remember_many(
        {
            "content": f"I walked lap {hour}",
            "id": f"h{hour:02}",
            "event_at": f"2025-06-10T{hour:02}:00:00Z",
            "type": "event",
        }
        for hour in range(24)
    )
    reader = engine.store.reader("default")
    window = engine.understand("yesterday", now="2025-06-11T15:30:00Z").window
    assert window is not None
    rows = [hit.row for hit in reader.search.temporal(window.start, window.end, 3)]
    assert {memory.id for memory in reader.memories.fetch(rows).values()} == {"h12", "h11", "h13"}
    assert len(reader.search.temporal(window.start, window.end, 100)) == 24


def test_R8_an_event_that_its_text_dates_into_the_window_is_found(engine: Engine) -> None:
    engine.remember("I ran the marathon on 7 May 2023", type="event", event_at="2023-05-20T09:00:00Z", id="dated")
    engine.remember("We painted the fence", type="event", event_at="2023-05-07T09:00:00Z", id="said")
    engine.remember("The lease ends on 7 May 2023", type="fact", event_at="2023-01-20T09:00:00Z", id="fact")
    question, now = "what happened on 7 May 2023?", "2023-06-01T12:00:00Z"
    temporal = run_of(engine.recall(question, recipe="recall", now=now), "temporal")
    assert [(top.id, top.score, top.note) for top in temporal.top] == [("said", 1.0, None), ("dated", 1.0, "names it")]
    without = {"routes.temporal.named": False}
    answer = engine.recall(
        "what happened on 7 May 2023?", recipe="recall", now="2023-06-01T12:00:00Z", overrides=without
    )
    assert [top.id for top in run_of(answer, "temporal").top] == ["said"]


def test_a_hint_of_recency_runs_the_temporal_route_at_half_weight(engine: Engine) -> None:
    engine.remember("I finished the latest shed plan", event_at="2025-06-10T12:00:00Z", type="event")
    answer = engine.recall("what is my latest shed plan?", recipe="recall", now="2025-06-11T12:00:00Z")
    item = next(item for item in answer[0].candidate.evidence if item.route == "temporal")
    assert item.weight == 0.5


@pytest.fixture
def typed(engine: Engine) -> Engine:
    engine.remember_many([{"content": f"I prefer tea number {i}", "type": "preference"} for i in range(8)])
    engine.remember_many([{"content": f"tea was bought on day {i}", "type": "fact"} for i in range(8)])
    return engine


def test_the_type_a_question_implies_narrows_dense_and_lexical(typed: Engine) -> None:
    answer = typed.recall("which tea do I prefer?", recipe="recall", k=20)
    assert {hit.memory.type for hit in answer} == {"preference"}
    assert "of type preference" in run_of(answer, "dense").reason


def test_too_few_of_the_type_and_the_filter_is_dropped(typed: Engine) -> None:
    typed.remember_many([{"content": f"coffee was bought on day {i}", "type": "fact"} for i in range(8)])
    answer = typed.recall("coffee settings", recipe="recall", k=20)
    assert run_of(answer, "lexical").reason == "only 0 of type preference by lexical, so all types were searched"
    assert "fact" in {hit.memory.type for hit in answer}


def test_R9_the_whole_search_widens_and_not_one_route(typed: Engine) -> None:
    typed.remember_many([{"content": f"coffee was bought on day {i}", "type": "fact"} for i in range(8)])
    answer = typed.recall("coffee settings", recipe="recall", k=20)
    found = {route: run_of(answer, route) for route in ("dense", "lexical")}
    assert {run.reason for run in found.values()} == {
        "only 0 of type preference by lexical, so all types were searched"
    }
    assert found["dense"].found == 24


@pytest.mark.parametrize("question", ["tea that I might like", "the tea people want"])
def test_R2_like_and_want_imply_preferences(typed: Engine, question: str) -> None:
    assert typed.recall(question, recipe="recall").query.type_hints == ("preference",)


def test_a_type_the_namespace_hardly_holds_is_no_hint(engine: Engine) -> None:
    engine.remember("I prefer tea")
    query = engine.recall("what do I prefer?").query
    assert query.type_hints == ()
    assert [cue.value for cue in query.cues if cue.kind == "type"] == ["preference"]


def test_R9_a_dropped_hint_is_said_in_the_trace(typed: Engine) -> None:
    answer = typed.recall("when did I prefer tea?", recipe="recall")
    assert [(hint.type, hint.text, hint.kept) for hint in answer.plan.type_hints] == [
        ("preference", "prefer", True),
        ("event", "when did", False),
    ]
    assert answer.query.type_hints == ("preference",)
    said = "type event is dropped: fewer than 5 memories have this type"
    assert said in answer.explain()
    assert answer.to_dict()["plan"]["type_hints"][1]["kept"] is False


def test_the_widening_threshold_is_a_setting(typed: Engine) -> None:
    typed.configure(widen_below=0)
    answer = typed.recall("coffee settings", recipe="recall", k=20)
    assert run_of(answer, "lexical").found == 0


def test_a_late_route_is_left_out_and_named(typed: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Lexical):
        def search(self, search: Any, depth: int, keep: Any, options: Any) -> Any:
            time.sleep(0.5)
            return super().search(search, depth, keep, options)

    typed.recall("tea", recipe="recall")
    monkeypatch.setitem(ROUTES, "lexical", Slow())
    typed.configure(route_budget_ms=200)
    answer = typed.recall("tea", recipe="recall")
    assert run_of(answer, "lexical").status == "late"
    assert run_of(answer, "lexical").reason == "not done after 200 ms"
    assert answer.degraded == ("lexical",)
    assert len(answer) > 0


def test_namespace_weights_override_the_recipe(typed: Engine) -> None:
    typed.configure(lexical_weight=0.0)
    plan = typed.plan("tea")
    assert {part.route: part.weight for part in plan.routes}["lexical"] == 0.0


def test_skipping_leaves_the_answers_alike(sample_engine: Engine) -> None:
    """The optimizer may change at most a tenth of the top ten, taken over the sample's questions."""

    def top_ten(optimize: bool) -> list[set[str]]:
        chosen = load_recipe("recall", {"optimize": optimize})
        return [
            {hit.memory.id for hit in sample_engine.recall(question.query, recipe=chosen, now=question.now)}
            for question in sample.questions()
        ]

    shared = [len(one & other) / 10 for one, other in zip(top_ten(True), top_ten(False), strict=True)]
    assert sum(shared) / len(shared) >= 0.9
