"""N1: the trace has every candidate that a route brought, and every stage that rested."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval.recipe import RACED
from fivefold.values.recall_trace import RoutePlace
from tests.support.toy_engine import toy

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
        "date_match": "no candidate is of a time that the question names",
        "episodic": "no candidate is of a type that fades",
        "access": "no candidate was used before",
        "cross_encoder": "it runs from normal effort on",
        "learned": "no model that learned from use is switched on",
        "noise": "its width is 0",
        "threshold": "no cross-encoder has judged, or the best that it read is good enough",
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
