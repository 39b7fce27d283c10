"""A recall end to end: the trace adds up, degrades honestly, and is the same in every form."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fivefold
from fivefold import sample
from fivefold.engine import Engine
from fivefold.errors import EmbedderError, UnknownRecipe
from fivefold.models.embedders import Matrix, Progress, embedder, gives_tokens
from fivefold.retrieval.recipe import RACED
from fivefold.retrieval.recipe_file import known_recipes
from fivefold.retrieval.retrieve import RouteLine
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.routes.searches import Lexical
from fivefold.values.recall_trace import RoutePlace, RouteRun
from fivefold.values.vectors import Passage, QuestionReading, Reading, Span
from tests.support.toy_engine import toy


def lawful(answer: fivefold.Recall) -> None:
    for hit in answer:
        candidate = hit.candidate
        assert candidate.fused == math.fsum(item.contribution for item in candidate.evidence)
        reached = candidate.fused
        for step in candidate.steps:
            assert step.before == reached
            reached = step.after
        assert hit.score == reached
    scores = [hit.score for hit in answer]
    assert scores == sorted(scores, reverse=True)
    assert [hit.rank for hit in answer] == list(range(1, len(answer) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", known_recipes())
def test_every_sample_question_obeys_the_law(sample_engine: Engine, recipe: str) -> None:
    """All by the default; each other recipe is asked a third of them, and each third by several."""
    third = slice(known_recipes().index(recipe) % 3, None, 3)
    for question in sample.questions()[slice(None) if recipe == "default" else third]:
        lawful(sample_engine.recall(question.query, recipe=recipe, now=question.now))


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(min_size=1, max_size=200), k=st.integers(1, 50))
def test_any_text_is_a_question_or_a_clear_error(sample_engine: Engine, question: str, k: int) -> None:
    try:
        answer = sample_engine.recall(question, k=k)
    except fivefold.InvalidInput:
        return
    assert len(answer) <= k
    assert not answer.degraded
    lawful(answer)


@pytest.mark.parametrize(
    "question", ['"', "*", "NEAR(a b)", "-badge", "content:badge", "a AND OR NOT", "^x {y} (", "'; --"]
)
def test_search_operators_are_plain_text(sample_engine: Engine, question: str) -> None:
    assert not sample_engine.recall(question).degraded


@pytest.mark.slow
def test_a_question_of_ten_thousand_words_is_answered(sample_engine: Engine) -> None:
    answer = sample_engine.recall(" ".join(f"word{i}" for i in range(9_000)) + " badge")
    assert not answer.degraded


def test_a_question_of_stop_words_skips_the_lexical_route_and_says_so(sample_engine: Engine) -> None:
    answer = sample_engine.recall("who are you and what is it?")
    runs = {run.route: run for run in answer.routes}
    assert runs["lexical"].status == "skipped"
    assert "stop words" in runs["lexical"].reason
    assert runs["dense"].status == "hits"
    assert len(answer) == 10


def test_a_failing_route_is_named_and_the_other_answers(sample_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Lexical):
        def search(self, search: Any, depth: int, keep: Any, options: Any) -> Any:
            raise OSError("index gone")

    monkeypatch.setitem(ROUTES, "lexical", Broken())
    answer = sample_engine.recall("what's my badge ID?")
    assert answer.degraded == ("lexical", "session_lexical")
    assert "index gone" in next(run.reason for run in answer.routes if run.route == "lexical")
    assert len(answer) == 10
    assert {item.route for hit in answer for item in hit.candidate.evidence} == {"dense", "late"}


def test_a_failing_embedder_leaves_the_lexical_answer(engine: Engine, store_path: str) -> None:
    engine.remember("My badge ID is E-47821")

    class Failing:
        pin = "fivefold-minilm@3"
        dimension = 384

        def embed(self, texts: Any, progress: Any = None) -> Any:
            raise fivefold.EmbedderError("the model server is away")

    with fivefold.open(store_path, embedder=Failing()) as broken:
        answer = broken.recall("badge E-47821")
    assert answer.degraded == ("dense", "late")
    assert answer[0].memory.content == "My badge ID is E-47821"


def test_hits_past_k_are_named_with_their_reason(sample_engine: Engine) -> None:
    answer = sample_engine.recall("Kestrel calibration", k=3)
    assert len(answer) == 3
    assert answer.dropped[0].score <= answer[2].score
    total = 3 + len(answer.dropped)
    assert [item.reason for item in answer.dropped] == [
        f"rank {rank} of {total}, beyond the 3 asked for" for rank in range(4, total + 1)
    ]
    assert len(sample_engine.recall("Kestrel calibration", k=3, recipe="dense").dropped) == 97


def test_every_stage_is_timed(sample_engine: Engine) -> None:
    stages = [timing.stage for timing in sample_engine.recall("Kestrel").timings]
    assert stages == ["understand", "plan", "encode", "retrieve", "fuse", "boost", "rerank", "select"]


def test_the_same_question_gives_the_same_answer(sample_engine: Engine) -> None:
    first, second = (sample_engine.recall("where do I live now?", now="2025-12-20T09:00:00Z") for _ in range(2))
    assert [(hit.memory.id, hit.score) for hit in first] == [(hit.memory.id, hit.score) for hit in second]


def test_the_trace_is_plain_json_and_frozen(sample_engine: Engine) -> None:
    answer = sample_engine.recall("badge", k=2)
    shown = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert set(shown) == {
        "id",
        "namespace",
        "query",
        "plan",
        "routes",
        "hits",
        "dropped",
        "timings",
        "embedder",
        "notes",
        "recent",
        "chance",
        "found",
        "candidates",
    }
    assert set(shown["hits"][0]) == {
        "rank",
        "score",
        "reason",
        "rrf_score",
        "final_score",
        "routes",
        "memory",
        "evidence",
        "fused",
        "steps",
        "support",
        "neighbours",
        "passage",
        "chance",
        "folded",
        "explain",
    }
    assert shown["hits"][0]["memory"]["id"] == answer[0].memory.id
    assert "row" not in shown["hits"][0]["memory"]
    with pytest.raises(FrozenInstanceError):
        answer.id = "other"  # type: ignore[misc]


def test_explain_shows_the_arithmetic_of_the_hit(sample_engine: Engine) -> None:
    hit = sample_engine.recall("what's my badge ID?")[0]
    told = hit.explain()
    assert hit.memory.content in told
    for item in hit.candidate.evidence:
        assert item.arithmetic in told
        assert f"{item.contribution:.4f}" in told
    assert f"= {hit.candidate.fused:.4f}" in told


def test_plan_says_what_recall_does(sample_engine: Engine) -> None:
    question = "where does Sarah work?"
    assert sample_engine.plan(question, k=4) == sample_engine.recall(question, k=4).plan


def test_understand_gives_the_query_of_the_recall(sample_engine: Engine) -> None:
    now = "2025-06-01T00:00:00Z"
    assert (
        sample_engine.understand("Where is Bertil?", now=now) == sample_engine.recall("Where is Bertil?", now=now).query
    )


def test_an_unknown_recipe_lists_the_known(sample_engine: Engine) -> None:
    with pytest.raises(
        UnknownRecipe, match="default, dense, ditto, engram, five-stage, late, lexical, memsense, recall"
    ):
        sample_engine.recall("x y", recipe="nope")


def test_an_unknown_namespace_is_empty_and_stays_unmade(store_path: str) -> None:
    with fivefold.open(store_path, namespace="here") as here:
        here.remember("a secret of this namespace")
    with fivefold.open(store_path, namespace="elsewhere") as elsewhere:
        answer = elsewhere.recall("secret namespace")
        assert len(answer) == 0
        assert not answer.dropped
        assert elsewhere.stats().memories == 0
        assert elsewhere.store.namespaces() == ("here",)


def test_identifiers_and_names_of_any_script_are_found_exactly(engine: Engine) -> None:
    said = {
        "JIRA-9921": "The tracker has JIRA-9921 for the gasket",
        "E-47821": "my badge reads E-47821",
        "retry_backoff_ms": "we raised retry_backoff_ms to 400",
        "sam.osei@larkfield.example": "write to sam.osei@larkfield.example about the order",
        "/srv/kestrel/calibration/v3.toml": "it lives in /srv/kestrel/calibration/v3.toml",
        "竹影小馆": "we ate at 竹影小馆 on Friday",
        "itgc": "the job gen-itgc后 runs nightly",
        "smörgåsbord": "the smörgåsbord was endless",
        "Привет": "she said Привет at the door",
        "مرحبا": "the sign read مرحبا بالعالم",
    }
    engine.remember_many([*said.values(), *(f"filler number {i} about nothing much" for i in range(40))])
    for question, content in said.items():
        assert engine.recall(question, recipe="lexical")[0].memory.content == content, question


def test_a_superseded_memory_steps_back_but_not_before_its_time(engine: Engine) -> None:
    engine.remember("I live in Leeds", event_at="2025-01-06T09:00:00Z")
    engine.remember("I moved from Leeds to Bristol", event_at="2025-06-07T09:00:00Z")
    after = engine.recall("where do I live, in Leeds?", recipe="recall", now="2025-12-01T00:00:00Z")
    assert [hit.memory.content for hit in after] == ["I moved from Leeds to Bristol", "I live in Leeds"]
    new, old = after
    stepped_back, took_over = (
        next(step for step in hit.candidate.steps if step.stage == "superseded") for hit in (old, new)
    )
    assert stepped_back.why.startswith("× 0.5, replaced by")
    assert stepped_back.after == stepped_back.before * 0.5
    assert took_over.after == stepped_back.before
    lawful(after)
    before = engine.recall("where do I live, in Leeds?", recipe="recall", now="2025-03-01T00:00:00Z")
    assert all(step.stage != "superseded" for hit in before for step in hit.candidate.steps)
    assert before[0].memory.content == "I live in Leeds"


def test_what_holds_now_is_brought_along_even_if_no_route_found_it(engine: Engine) -> None:
    old = engine.remember("My locker combination is 12-34-56").id
    newer = engine.supersede(old, "Zebras graze").stored[0]
    newest = engine.supersede(newer, "Quiet harbour").stored[0]
    answer = engine.recall("locker combination", recipe="recall", k=3)
    assert answer[0].memory.id == newest
    assert {hit.memory.id for hit in answer} == {old, newer, newest}
    lawful(answer)


def test_the_default_recipe_puts_what_holds_now_first(engine: Engine) -> None:
    engine.remember("I live in Leeds", event_at="2025-01-06T09:00:00Z")
    engine.remember("I moved from Leeds to Bristol", event_at="2025-06-07T09:00:00Z")
    answer = engine.recall("where do I live, in Leeds?", now="2025-12-01T00:00:00Z")
    assert answer[0].memory.content == "I moved from Leeds to Bristol"


def test_the_default_recipe_puts_a_successor_without_a_shared_word_first(engine: Engine) -> None:
    old = engine.remember("My locker combination is 12-34-56").id
    newest = engine.supersede(old, "Quiet harbour").stored[0]
    assert engine.recall("locker combination", k=3)[0].memory.id == newest


def test_now_may_be_a_datetime_or_text(sample_engine: Engine) -> None:
    moment = datetime.fromisoformat("2025-12-20T10:00:00+01:00")
    assert (
        sample_engine.recall("Miso", now=moment).query.now == sample_engine.understand("x", now="2025-12-20T09:00Z").now
    )


def test_the_sample_is_answered(sample_engine: Engine) -> None:
    """A guard on quality: identifiers always, and most of everything that needs no time or relations."""
    found: dict[str, list[float]] = {}
    for question in sample.questions():
        ids = {hit.memory.id for hit in sample_engine.recall(question.query, now=question.now)}
        found.setdefault(question.category, []).append(len(ids & set(question.relevant)) / len(question.relevant))
    share = {category: sum(values) / len(values) for category, values in found.items()}
    assert share["identifier"] == 1.0
    for category in ("fact", "preference", "change"):
        assert share[category] >= 0.75, share


# Routes in a line: one thread works it off, and a route that takes long keeps no other waiting.


def run_of(route: str) -> RouteRun:
    return RouteRun(route, "hits", threading.current_thread().name, 0, 0.0)


def test_one_thread_works_off_the_line() -> None:
    line = RouteLine()
    for route in "abc":
        line.add(route, lambda route=route: run_of(route))  # type: ignore[misc]
    with ThreadPoolExecutor(4) as threads:
        line.begin(threads)
        runs = [future.result(10) for route in "abc" if (future := line.get(route))]
    assert [run.route for run in runs] == ["a", "b", "c"]
    assert len({run.reason for run in runs}) == 1
    assert line.get("d") is None


def test_a_slow_route_keeps_no_other_waiting() -> None:
    line, done = RouteLine(), threading.Event()

    def slow() -> RouteRun:
        assert done.wait(10)
        return run_of("slow")

    line.add("slow", slow)
    line.add("quick", lambda: run_of("quick"))
    with ThreadPoolExecutor(4) as threads:
        line.begin(threads)
        line.hurry(threads)
        first, second = line.get("slow"), line.get("quick")
        assert first
        assert second
        assert second.result(10).route == "quick"
        done.set()
        assert first.result(10).route == "slow"


def test_an_error_reaches_whoever_waits() -> None:
    line = RouteLine()
    line.add("broken", lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    with ThreadPoolExecutor(1) as threads:
        line.begin(threads)
        future = line.get("broken")
        assert future
        with pytest.raises(ZeroDivisionError):
            future.result(10)


# The model reads the question while it is understood, and once more only where the question was meant differently.

RECORDS = [
    "The allotment has a greenhouse with tomatoes",
    "Miso sleeps on the radiator",
    "The boiler was serviced in May",
]


class Recording:
    """The default embedder, with the questions that it has read."""

    pin, dimension = "recording@1", 384

    def __init__(self) -> None:
        model = embedder("fivefold-minilm")
        assert gives_tokens(model)
        self._model = model
        self.questions: list[str] = []

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        return self._model.embed(texts)

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        return self._model.read(passages)

    def read_question(self, question: str) -> QuestionReading:
        self.questions.append(question)
        if "unreadable" in question:
            raise EmbedderError("cannot be read")
        return self._model.read_question(question)

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        return self._model.spans(passage)


@pytest.fixture
def model() -> Recording:
    return Recording()


@pytest.fixture
def recorded(model: Recording) -> Iterator[Engine]:
    with fivefold.open(":memory:", embedder=model) as opened:
        opened.remember_many(RECORDS)
        yield opened


def test_a_question_is_read_once(recorded: Engine, model: Recording) -> None:
    answer = recorded.recall("Where does Miso sleep?", effort="low")
    assert answer[0].memory.content == RECORDS[1]
    assert model.questions == ["Where does Miso sleep?"]


def test_a_question_with_a_typing_error_is_searched_as_it_is_meant(recorded: Engine, model: Recording) -> None:
    answer = recorded.recall("What grows in the greenhuose?", effort="low")
    meant = recorded.recall("What grows in the greenhouse?", effort="low")
    assert model.questions[-1] == answer.query.to_read == meant.query.text
    assert [hit.rrf_score for hit in answer] == [hit.rrf_score for hit in meant]


def test_a_recipe_without_vectors_reads_nothing(recorded: Engine, model: Recording) -> None:
    assert recorded.recall("Where does Miso sleep?", recipe="lexical")
    assert model.questions == []


def test_a_question_with_a_history_waits_for_what_it_means(recorded: Engine, model: Recording) -> None:
    answer = recorded.recall("And where does it sleep?", history=["Do you remember Miso?"], effort="low")
    assert model.questions == [answer.query.to_read]


def test_a_model_that_fails_costs_its_own_routes(recorded: Engine) -> None:
    answer = recorded.recall("unreadable radiator", effort="low")
    assert {run.route for run in answer.routes if run.status == "failed"} == {"dense", "late"}
    assert answer[0].memory.content == RECORDS[1]


# N1: the trace has every candidate that a route brought, and every stage that rested.

COUNT = 139


@pytest.fixture
def many(store_path: str) -> Iterator[Engine]:
    with toy(store_path) as engine:
        engine.remember_many(
            [{"content": f"apple number {i}", "event_at": "2025-05-14T09:00:00Z", "id": f"a{i}"} for i in range(COUNT)]
        )
        yield engine


@pytest.mark.parametrize("name", RACED)
def test_N1_every_candidate_of_every_route_has_its_rank_and_score(many: Engine, name: str) -> None:
    answer = many.recall("apple number 7", k=3, recipe=name)
    supports = {part.route for part in answer.plan.routes if part.supports}
    rows = {many.get(one.id).row: one for one in answer.candidates}
    brought = {hit.row for run in answer.routes if run.route not in supports for hit in run.hits}
    assert brought <= set(rows)
    for run in answer.routes:
        if run.route not in supports:
            for rank, hit in enumerate(run.hits, 1):
                assert RoutePlace(run.route, rank, hit.score) in rows[hit.row].places
    assert len({one.id for one in answer.candidates}) == len(answer.candidates)


def test_N1_what_the_fusion_leaves_behind_is_named_with_its_rank(many: Engine) -> None:
    answer = many.recall("apple number 7", k=3, recipe="dense")
    assert len(answer.candidates) == COUNT
    assert [one.rank for one in answer.candidates[:4]] == [1, 2, 3, None]
    behind = [one for one in answer.candidates if one.stage == "fuse"]
    assert len(behind) == COUNT - 100
    assert behind[0].reason == f"rank 101 of {COUNT}, beyond the 100 that go on"
    assert behind[-1].places[0].rank == COUNT
    assert f"… and {COUNT - 3 - 5} more dropped: 92 at select, 39 at fuse" in answer.explain()
    assert "(dense #4 " in answer.explain()


def test_N1_json_has_them_only_in_the_trace(many: Engine) -> None:
    answer = many.recall("apple number 7", k=3, recipe="dense")
    traced = answer.to_dict()["candidates"]
    assert len(traced) == COUNT
    assert set(traced[0]) == {"id", "rank", "score", "stage", "reason", "places"}
    assert set(traced[0]["places"][0]) == {"route", "rank", "score"}
    assert "candidates" not in answer.summary()


def test_N1_the_trace_is_whole_after_the_store_is_closed(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember_many({"content": f"apple number {i}"} for i in range(COUNT))
        answer = engine.recall("apple", k=3, recipe="lexical")
    assert len(answer.to_dict()["candidates"]) == COUNT


def test_N1_a_memory_that_a_stage_added_is_listed_without_a_place(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("The gate code is four", id="old")
        engine.supersede("old", {"content": "Nine from today on", "id": "new"})
        answer = engine.recall("gate code", recipe="recall", overrides={"routes.dense.on": False})
    places = {one.id: [place.route for place in one.places] for one in answer.candidates}
    assert places == {"new": [], "old": ["lexical"]}


def test_N1_a_stage_that_rests_says_so(many: Engine) -> None:
    answer = many.recall("apple", k=3, recipe="engram", effort="low", overrides={"select.noise.sigma": 0})
    idle = {note.stage: note.why for note in answer.notes if note.status == "idle"}
    assert idle == {
        "date_match": "no candidate is from a time in the question",
        "episodic": "no candidate has a type that fades",
        "access": "no candidate was used before",
        "cross_encoder": "it runs from normal effort on",
        "learned": "no model learned from use is switched on",
        "noise": "its width is 0",
        "threshold": "no cross-encoder has judged, or its best score is high enough",
    }
    assert re.search(r"\n  access +idle ", answer.explain())


@pytest.mark.parametrize("name", RACED)
def test_N1_each_stage_of_a_recipe_leaves_a_step_a_note_or_a_drop(many: Engine, name: str) -> None:
    recipe = fivefold.load_recipe(name)
    answer = many.recall("apple number 7", k=3, recipe=recipe)
    said = {step.stage for hit in answer for step in hit.candidate.steps}
    said |= {note.stage for note in answer.notes} | {item.stage for item in answer.dropped}
    said = {stage.replace(" ", "_").replace("-", "_") for stage in said}
    assert {stage.name for stage in (*recipe.boosts, *recipe.rerank, *recipe.select)} - said == set()
