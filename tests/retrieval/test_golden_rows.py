"""Requirements that hold for the store and the face of a recall, each by its id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.rerankers import reranker
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages.noise import RERANKED
from fivefold.values.serialize import Json
from tests.support.toy_engine import Toy, toy

AT: Json = {"event_at": "2025-05-14T09:00:00Z"}


@pytest.fixture
def engine(store_path: str) -> Iterator[Engine]:
    with toy(store_path) as opened:
        yield opened


def test_D11_one_number_brings_the_last_turns_along(engine: Engine) -> None:
    engine.remember_many(
        {"content": f"turn {i}", "session_id": "s", "id": f"t{i}", "event_at": f"2025-05-14T09:0{i}:00Z"}
        for i in range(5)
    )
    now = "2025-05-15T00:00:00Z"
    assert [turn.id for turn in engine.recall("lathe", recent_turns=2, now=now).recent] == ["t3", "t4"]
    assert engine.recall("lathe", now=now).recent == ()
    engine.configure(recent_turns=3)
    assert [turn.id for turn in engine.recall("lathe", now=now).recent] == ["t2", "t3", "t4"]


def test_F6_one_file_has_records_with_question_answer_time_tags_and_indexes(tmp_path: Path) -> None:
    with toy(str(tmp_path / "one.db")) as opened:
        opened.remember(
            "Which paint? Oil.", user_text="Which paint?", assistant_text="Oil.", tags=["art"], id="it", **AT
        )
    assert [path.name for path in tmp_path.iterdir()] == ["one.db"]
    with toy(str(tmp_path / "one.db")) as opened:
        memory = opened.get("it")
        assert (memory.user_text, memory.assistant_text, memory.tags) == ("Which paint?", "Oil.", ("art",))
        found = {run.route: run.found for run in opened.recall("paint", recipe="five-stage").routes}
    assert found == {"dense": 1, "lexical": 1}
    assert embedder(DEFAULT).dimension == 384


def test_E4_the_cross_encoder_reads_the_best_twenty_by_any_of_the_models(engine: Engine) -> None:
    engine.remember_many({"content": f"apple crate {i}", **AT} for i in range(30))
    by = next(stage.constants for stage in load_recipe("engram").rerank if stage.name == "cross_encoder")
    assert (by.model, by.depth) == ("local", 20)
    answer = engine.recall("apple", 30, recipe="engram", overrides={"select.threshold.on": False})
    note = next(note for note in answer.notes if note.stage == RERANKED)
    assert (note.status, note.why.startswith("read the best 20,")) == ("done", True)
    for name in ("voyage:rerank-2.5", "cohere:rerank-v3.5", "jina:jina-reranker-v2-base-multilingual"):
        assert reranker(name).pin == name


def test_E8_the_index_of_the_dense_route_finds_the_nearest_vectors(engine: Engine) -> None:
    engine.configure(find_changes=False, find_repeats=False)
    texts = [f"{'ab' * (i % 7)} crate {chr(97 + i % 26)} {i}" for i in range(120)]
    engine.remember_many({"content": text, "id": f"m{i}", **AT} for i, text in enumerate(texts))
    run = engine.recall("crate b", recipe="engram", overrides={"rerank.cross_encoder.on": False}).routes[0]
    space = engine.store.reader(engine.namespace).search.vector_space()
    assert space is not None
    rows = [engine.get(f"m{i}").row for i in range(120)]
    stored = engine.store.reader(engine.namespace).search.vectors(space, rows)
    asked = Toy().embed(["crate b"])[0]
    exact = sorted((float(vector @ asked) for vector in stored.values()), reverse=True)
    assert [hit.score for hit in run.hits] == pytest.approx(exact[:20], abs=1e-5)


def test_R3_vectors_have_unit_length_and_a_namespace_one_model(store_path: str, engine: Engine) -> None:
    engine.remember("apple", id="it", **AT)
    search = engine.store.reader(engine.namespace).search
    space = search.vector_space()
    assert space is not None
    vector = search.vectors(space, [engine.get("it").row])[engine.get("it").row]
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)

    class Other(Toy):
        pin = "other@1"

    with pytest.raises(fivefold.EmbedderMismatch, match=r"'toy@1', not of 'other@1'") as error:
        fivefold.open(store_path, embedder=Other())
    assert "reembed" in str(error.value)


def test_R11_the_best_fifty_are_read_again_where_that_is_asked_for(engine: Engine) -> None:
    engine.configure(find_changes=False, find_repeats=False)
    engine.remember_many({"content": f"apple crate {i}", "id": f"a{i}", **AT} for i in range(60))
    asked = {"rerank.cross_encoder.effort": "normal"}
    assert "cross_encoder" not in engine.plan("apple crate", recipe="recall").stages
    answer = engine.recall("apple crate", 60, recipe="recall", overrides=asked)
    note = next(note for note in answer.notes if note.stage == RERANKED)
    assert (note.status, note.why.partition(",")[0]) == ("done", "read the best 50")
    judged = [hit for hit in answer if any(step.stage == RERANKED for step in hit.candidate.steps)]
    assert len(judged) == 60, "those that are not read keep their place below, by a step of their own"


def test_R11_a_simple_question_runs_half_of_the_routes(engine: Engine) -> None:
    engine.remember("apple", **AT)
    runs = {part.route: part.run for part in engine.plan("yesterday", recipe="recall").routes}
    assert runs == {"dense": True, "lexical": False, "graph": False, "temporal": True}


@pytest.mark.parametrize(
    "word", ["JIRA-9921", "E-47821", "snake_case_name", "ann@example.org", "/etc/hosts.d/x", "Über", "東京"]
)
def test_R4_an_identifier_is_found_whole(engine: Engine, word: str) -> None:
    engine.remember_many({"content": f"note {i} of nothing", **AT} for i in range(5))
    engine.remember(f"It is about {word} today", id="it", **AT)
    answer = engine.recall(word, 1, recipe="lexical")
    assert [hit.memory.id for hit in answer] == ["it"]
    assert answer.routes[0].found == 1


def test_R4_a_hit_in_the_predicate_weighs_four_times_one_in_the_content(engine: Engine) -> None:
    """Both are of mean length, where BM25 is idf · f · 2.2 / (f + 1.2): once counts as f 4, once as f 1."""
    engine.remember("oak elm fir", predicate="lathe", id="predicate", **AT)
    engine.remember("oak elm fir lathe", id="content", **AT)
    scores = {one.id: one.places[0].score for one in engine.recall("lathe", recipe="lexical").candidates}
    assert scores["predicate"] / scores["content"] == pytest.approx((4 * 2.2 / 5.2) / (2.2 / 2.2))


def test_R12_nothing_of_another_namespace_is_found(store_path: str) -> None:
    with toy(store_path, "one") as one, toy(store_path, "two") as two:
        one.remember("Sarah keeps the JIRA-9921 lathe", id="secret", session_id="s", speaker="Ann", **AT)
        two.remember("a plain note", id="note", **AT)
        for name in ("ditto", "memsense", "five-stage", "engram", "recall", "default"):
            answer = two.recall("Sarah JIRA-9921 lathe", 50, recipe=name)
            assert {candidate.id for candidate in answer.candidates} <= {"note"}
        assert two.understand("Sarah").entities == ()
        with pytest.raises(fivefold.NotFound):
            two.get("secret")


@pytest.mark.parametrize("name", ["ditto", "memsense", "five-stage", "engram", "recall", "default"])
def test_N5_what_each_recipe_does_with_what_was_replaced(engine: Engine, name: str) -> None:
    """Only two of them lower it; the docs and `recipes show` say so."""
    engine.remember("The gate code is four", id="old", **AT)
    engine.supersede("old", {"content": "The gate code is nine", "id": "new", "event_at": "2025-05-20T09:00:00Z"})
    answer = engine.recall("gate code", recipe=name, now="2025-05-21T09:00:00Z")
    steps = {step.stage for hit in answer if hit.memory.id == "old" for step in hit.candidate.steps}
    assert next(hit for hit in answer if hit.memory.id == "old").memory.superseded_by == "new"
    assert ("superseded" in steps) is (name in {"recall", "default"})


def test_R6_R10_every_constant_of_the_walk_is_in_the_recipe(engine: Engine) -> None:
    engine.remember("Sarah Chen works at Northwind", id="work", **AT)
    engine.remember("Northwind is based in Oslo", id="oslo", **AT)

    def found(**changes: float) -> dict[str, tuple[float, float]]:
        overrides = {f"routes.graph.{name}": value for name, value in changes.items()}
        answer = engine.recall("Sarah Chen", recipe="recall", overrides=overrides)
        evidence = {hit.memory.id: hit.candidate.evidence for hit in answer}
        graph = {id: [item for item in items if item.route == "graph"] for id, items in evidence.items()}
        return {id: (items[0].score, items[0].weight) for id, items in graph.items() if items}

    assert found()["work"] == pytest.approx((1.0, 1.0))
    plain, halved = found()["oslo"], found(one_hop=0.3)["oslo"]
    assert plain[1] == 0.8
    assert halved[0] == pytest.approx(plain[0] / 2)
    assert found(structural=0.5)["oslo"][0] == pytest.approx(plain[0] / 2)
    assert found(far=0.4)["oslo"][1] == 0.4
