"""The route of standing instructions and preferences, on a real store with the default embedder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

import fivefold
from fivefold import sample
from fivefold.designs.recall import score_rrf
from fivefold.engine import Engine
from fivefold.models.embedders import embedder
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.routes.searches import WINDOW_FACTOR, Lexical
from fivefold.stores.records import NAMES_WINDOW, SAID_IN_WINDOW
from fivefold.values.memory import Record
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Evidence, RouteHit, RouteRun
from tests.support.toy_engine import toy

# The graph and temporal routes, the type filter with its widening, and routes that are late.


def run_of(answer: Recall, route: str) -> RouteRun:
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


# The turns of the running conversation and of the one before, on a real store, without any search by likeness.

DURING, AFTER = "2025-06-11T10:30:00Z", "2025-06-12T09:00:00Z"
"""While the second conversation runs, and on the day after."""

TALKS = {
    "jam": ("2025-06-09T18", ("The quince jam is done.", "How many jars?", "Twelve jars.")),
    "kiln": ("2025-06-11T10", ("The kiln needs a fuse.", "Which one?", "A slow one of ten amperes.")),
}


@pytest.fixture(scope="module")
def talks() -> Iterator[Engine]:
    with toy(":memory:") as opened:
        for session, (hour, texts) in TALKS.items():
            opened.remember_many(
                {"id": f"{session}{i}", "session_id": session, "speaker": "user", "content": text}
                | {"event_at": f"{hour}:{10 * i:02}:00Z"}
                for i, text in enumerate(texts)
            )
        opened.remember("A note on its own.", id="note", event_at="2025-06-11T10:25:00Z")
        yield opened


def asked(talks: Engine, question: str, now: str) -> list[str]:
    """The ids of what the route found, in its order."""
    return [top.id for top in run_of(talks.recall(question, now=now), "turns").top]


def test_other_questions_skip_the_route(talks: Engine) -> None:
    run = run_of(talks.recall("which fuse does the kiln need?", now=DURING), "turns")
    assert (run.status, run.reason) == ("skipped", "the question asks for no turns of a conversation")


def test_just_now_is_the_running_conversation_latest_turn_first(talks: Engine) -> None:
    answer = talks.recall("what did I just say?", now=DURING)
    run = run_of(answer, "turns")
    assert [top.id for top in run.top] == ["kiln2", "kiln1", "kiln0"]
    assert [hit.score for hit in run.hits] == pytest.approx([1, 1 / 2, 1 / 3])


def test_last_time_is_not_the_running_conversation(talks: Engine) -> None:
    assert asked(talks, "what did we talk about last time?", DURING) == ["jam2", "jam1", "jam0"]


def test_after_a_pause_the_conversation_before_is_the_last(talks: Engine) -> None:
    assert asked(talks, "what did we talk about last time?", AFTER) == ["kiln2", "kiln1", "kiln0"]
    assert asked(talks, "what did I just say?", AFTER) == ["kiln2", "kiln1", "kiln0"]


def test_conversations_after_the_time_of_the_question_are_left_out(talks: Engine) -> None:
    assert asked(talks, "what did we talk about last time?", "2025-06-11T09:00:00Z") == ["jam2", "jam1", "jam0"]
    assert asked(talks, "what did I just say?", "2025-06-09T17:00:00Z") == []


def test_the_last_words_of_somebody_who_is_named(tmp_path: Path) -> None:
    with toy(str(tmp_path / "m.db")) as team:
        team.remember_many(
            {"id": f"{speaker}{day}", "speaker": speaker, "content": text, "event_at": f"2025-06-0{day}T10:00:00Z"}
            | ({"session_id": "s"} if speaker == "Tove" else {})
            for day, (speaker, text) in enumerate(
                [("Tove", "The kiln hums."), ("Ulf", "Ulf's kiln"), ("Tove", "It broke."), ("Ulf", "Order a fuse.")], 1
            )
        )
        for question in ("what did Tove last say?", "last message from Tove", "what has Tove said most recently?"):
            assert asked(team, question, AFTER) == ["Tove3", "Tove1"]
        assert asked(team, "Ulf: what was my last note?", AFTER) == ["Ulf4", "Ulf2"]
        assert asked(team, "Tove here, what was the last thing I told you?", AFTER) == ["Tove3", "Tove1"]
        assert asked(team, "what did Nobody last say?", AFTER) == []
        assert asked(team, "any news about the kiln?", AFTER) == ["Ulf2", "Tove1"]
        assert team.understand("what did Tove last say?").demands[0].speaker == "Tove"


def test_the_depth_keeps_the_latest_turns(talks: Engine) -> None:
    answer = talks.recall("what did I just say?", now=DURING, k=2, overrides={"routes.turns.depth": 2})
    assert [top.id for top in run_of(answer, "turns").top] == ["kiln2", "kiln1"]


def test_a_store_without_conversations_finds_nothing() -> None:
    with toy(":memory:") as talks:
        talks.remember("A note on its own.")
        assert asked(talks, "what did we talk about last time?", AFTER) == []


# The parts of a question are searched one by one.


def test_each_part_of_a_question_has_a_hit_for_itself() -> None:
    with fivefold.open(":memory:") as mem:
        mem.remember_many([f"The marathon of group {i} went past the old marathon school" for i in range(30)])
        mem.remember("We took the night train to Oslo in spring", id="oslo")
        found = mem.recall("Which happened first, the trip to Oslo or the marathon?", k=40)
        route = next(run for run in found.routes if run.route == "parts")
        whole = mem.plan("Where is Oslo?")
    assert found.query.parts == ("the trip to Oslo", "the marathon")
    notes = {hit.note for hit in route.hits}
    assert notes == {"for 'the trip to Oslo'", "for 'the marathon'"}
    assert "oslo" in [hit.memory.id for hit in found]
    assert next(part for part in whole.routes if part.route == "parts").reason == "the question has one part"


# The route of the time asked about, on a real store: what was said in it, what names it, and times ahead.

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
def diary() -> Iterator[Engine]:
    with toy(":memory:") as opened:
        opened.remember_many({"id": id, "event_at": at, "content": text} for id, at, text in TOLD)
        yield opened


def asked_diary(diary: Engine, question: str) -> Recall:
    return diary.recall(question, now=NOW, k=len(TOLD))


def evidence(answer: Recall) -> dict[str, Evidence]:
    """What the route says about each memory that it found."""
    found = ((hit.memory.id, item) for hit in answer for item in hit.candidate.evidence)
    return {id: item for id, item in found if item.route == "window"}


def test_a_question_without_a_time_skips_the_route(diary: Engine) -> None:
    run = run_of(asked_diary(diary, "where is the lamp?"), "window")
    assert (run.status, run.reason) == ("skipped", "the question names no time")


def test_what_was_said_in_the_time_and_what_names_it_are_found(diary: Engine) -> None:
    found = evidence(asked_diary(diary, "what did I do last weekend?"))
    notes = {id: item.note for id, item in found.items()}
    assert notes == {"boat": SAID_IN_WINDOW, "soup": SAID_IN_WINDOW, "fair": NAMES_WINDOW}


def test_a_time_ahead_finds_what_names_it(diary: Engine) -> None:
    found = evidence(asked_diary(diary, "what's on tomorrow?"))
    assert {id: item.note for id, item in found.items()} == {"dentist": NAMES_WINDOW}


def test_a_time_without_a_subject_weighs_more_than_one_with_it(diary: Engine) -> None:
    alone, subject = (
        asked_diary(diary, question) for question in ("what happened last weekend?", "the soup last weekend?")
    )
    route = next(part for part in alone.plan.routes if part.route == "window")
    assert [demand.decides for demand in alone.query.demands if demand.kind == "window"] == [True]
    assert [demand.decides for demand in subject.query.demands if demand.kind == "window"] == [False]
    assert [item.weight for item in evidence(alone).values()] == pytest.approx([WINDOW_FACTOR * route.weight] * 3)
    assert [item.weight for item in evidence(subject).values()] == pytest.approx([route.weight] * 3)


def test_a_memory_of_the_time_is_a_candidate_though_no_word_is_alike() -> None:
    """Among many that are as near, the route alone brings it up."""
    with toy(":memory:") as diary:
        diary.remember_many(f"A remark about what happened, number {i}" for i in range(300))
        diary.remember("Quince jam", id="jam", event_at="2025-06-07T10:00:00Z")
        answer = diary.recall("what happened last weekend?", now=NOW, k=5)
        assert [top.id for top in run_of(answer, "window").top] == ["jam"]
        assert list(evidence(answer)) == ["jam"]


def test_a_window_without_memories_is_searched_in_vain(diary: Engine) -> None:
    run = run_of(asked_diary(diary, "what happened in January 2019?"), "window")
    assert (run.status, run.hits) == ("hits", ())


def test_the_depth_of_the_route_is_a_limit(diary: Engine) -> None:
    answer = diary.recall("what did I do last weekend?", now=NOW, k=1, overrides={"routes.window.depth": 1})
    assert run_of(answer, "window").found == 1


FILLER = "We walked along the river and talked about the weather of the last days."

WISHES = {
    "headings": "Always use short headings when you write a summary for me.",
    "figs": f"{FILLER} {FILLER} I love figs and walnuts. {FILLER}",
    "lamp": "The lamp in the hall is broken.",
    "report": "The summary of the report was sent to Carla on Monday.",
}
"""An instruction, a taste within a longer message, and two memories with neither."""

REQUEST = "Please write a summary of the meeting."


@pytest.fixture(scope="module")
def wishes() -> Iterator[Engine]:
    with fivefold.open(":memory:") as opened:
        opened.remember_many({"id": id, "content": text, "speaker": "user"} for id, text in WISHES.items())
        yield opened


def scores_of(answer: Recall) -> dict[str, float]:
    """The ids of what the route found with their scores, in its order."""
    return {top.id: top.score for top in run_of(answer, "standing").top}


@pytest.mark.parametrize("question", ["where is the lamp?", "what did I say about figs?", "who is Carla?"])
def test_a_question_that_is_not_a_request_skips_the_route(wishes: Engine, question: str) -> None:
    run = run_of(wishes.recall(question), "standing")
    assert (run.status, run.reason) == ("skipped", "the question is not a request")


@pytest.mark.parametrize("question", [REQUEST, "What should I cook for dinner?"])
def test_a_request_and_a_question_for_advice_find_instructions_and_tastes_only(wishes: Engine, question: str) -> None:
    answer = wishes.recall(question)
    assert answer.query.demand("request", "suggestion") is not None
    assert set(scores_of(answer)) == {"headings", "figs"}


def test_the_instruction_that_is_about_the_request_comes_first(wishes: Engine) -> None:
    assert list(scores_of(wishes.recall(REQUEST))) == ["headings", "figs"]
    assert list(scores_of(wishes.recall("Suggest a dessert with fruit for me."))) == ["figs", "headings"]


def test_the_sentence_is_compared_and_not_the_whole_message(wishes: Engine) -> None:
    """The score is near the cosine of the question with the sentence that states the taste, read with its speaker."""
    question = "Suggest a dessert with fruit for me."
    sentence = next(text for text in WISHES["figs"].split(". ") if "figs" in text)
    asked, told, whole = embedder("fivefold-minilm").embed([question, f"{sentence}.", WISHES["figs"]])
    score = scores_of(wishes.recall(question))["figs"]
    assert score == pytest.approx(float(asked @ told), abs=0.1)
    assert score > float(asked @ whole) + 0.05


def test_an_instruction_is_a_candidate_though_no_word_is_alike(sample_path: str, tmp_path: Path) -> None:
    """Among the memories of a year the route alone brings it up, and the ranker counts that it applies."""
    question, now = "Draft an email to Tom about the gaskets.", "2026-01-10T10:00:00Z"
    text = "Always use short headings when you write for me."
    with fivefold.open(copy(sample_path, tmp_path / "year.db")) as wishes:
        wishes.remember(text, id="headings", speaker="user", event_at=now)
        answer = wishes.recall(question, now=now, k=100)
        without = wishes.recall(question, now=now, k=100, overrides={"routes.standing.on": False})
    (hit,) = (hit for hit in answer if hit.memory.id == "headings")
    assert "standing" in {item.route for item in hit.candidate.evidence}
    assert "applies +" in str(hit.candidate.steps[0].why)
    assert "headings" not in {hit.memory.id for hit in without}


def test_the_depth_of_the_route_and_the_filter_are_limits(wishes: Engine) -> None:
    assert list(scores_of(wishes.recall(REQUEST, k=1, overrides={"routes.standing.depth": 1}))) == ["headings"]
    assert scores_of(wishes.recall(REQUEST, filter={"speaker": "Carla"})) == {}


def test_a_store_without_preferences_finds_nothing() -> None:
    with toy(":memory:") as wishes:
        wishes.remember("The lamp in the hall is broken.")
        run = run_of(wishes.recall(REQUEST), "standing")
        assert (run.status, run.hits) == ("hits", ())


def test_a_cosine_below_0_counts_as_nothing_when_scores_are_fused_by_their_root() -> None:
    shares = score_rrf([RouteHit(1, 0.25), RouteHit(2, -0.05)], "standing", 1.0, 60, 10)
    assert shares.contributions == [pytest.approx(0.5 / 61), 0.0]


def test_an_advice_about_food_brings_diets_and_any_other_brings_budgets() -> None:
    """Whatever the request says, and however many tastes are nearer to it."""
    tastes = [
        f"I love {what}, more than anything." for what in ("opera", "maps", "owls", "trains", "rain", "chess", "figs")
    ]
    diet, budget = "Kayla is allergic to tree nuts.", "We can spend at most 300 euros on it."
    with fivefold.open(":memory:") as engine:
        engine.remember_many([Record(content=text, speaker="user") for text in (*tastes, diet, budget)])
        for request, brought in (
            ("What should I cook for the family tonight?", diet),
            ("What could I give my sister, any idea?", budget),
        ):
            hits = engine.recall(request, k=6)
            assert brought in [hit.memory.content for hit in hits], request
