"""What the conformance suite takes for the same, and what it does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from fivefold.stores.sqlite.search import SqliteSearchReader
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.recall_trace import RouteHit
from fivefold.values.serialize import Json
from tests.conformance.compare import differences, renamed, session_names, trace, unlike
from tests.conformance.recipes import steady, steady_recipes, steady_with
from tests.conformance.store_pair import StorePair, in_memory, opened

TOLD = [
    {"content": "Sarah reports to Tom", "id": "a", "session_id": "s"},
    {"content": "tea in the barn", "id": "b"},
    {"content": "tea on the roof with Tom", "id": "c"},
    {"content": "the barn roof leaks", "id": "d", "session_id": "s"},
]


@cache
def _told() -> Json:
    with in_memory() as store:
        engine = opened(store)
        engine.remember_many(TOLD)
        recall = engine.recall("tea with Tom's friends in the barn", k=3, recipe=steady("recall"))
        return trace(recall, engine, session_names(engine))


@pytest.fixture
def told() -> Json:
    """The trace of a recall with hits of three routes and a drop."""
    return copy.deepcopy(_told())


def _set(path: str, value: object) -> Callable[[Json], None]:
    def change(told: Json) -> None:
        *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        place: Any = told
        for part in way:
            place = place[part]
        place[last] = value(place[last]) if callable(value) else value

    return change


def test_a_recall_is_like_itself(told: Json) -> None:
    assert [run["route"] for run in told["routes"] if run["found"]] == ["dense", "lexical", "graph"]
    assert (len(told["hits"]), len(told["dropped"])) == (3, 1)
    assert differences(told, copy.deepcopy(told)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("hits.0.score", lambda score: score + 2e-4),
        ("hits.1.evidence.0.contribution", lambda share: share - 2e-4),
        ("hits.1.evidence.0.rank", lambda rank: rank + 1),
        ("hits.0.evidence.0.arithmetic", "1 / (60 + 7)"),
        ("hits.0.id", "another"),
        ("hits", lambda hits: [hits[1], hits[0], hits[2]]),
        ("hits", lambda hits: hits[:-1]),
        ("hits.0.memory.seen_count", 2),
        ("hits.0.memory.tags", ["one more"]),
        ("hits.0.neighbours", ["another"]),
        ("dropped.0.id", "another"),
        ("dropped.0.stage", "mmr"),
        ("reasons.0", lambda reason: reason.replace("rank 4", "rank 5")),
        ("routes.0.status", "late"),
        ("routes.1.found", 1),
        ("routes.1.reason", "because"),
        ("routes.0.hits", lambda hits: hits[:-1]),
        ("routes.0.hits.0.score", lambda score: score + 2e-4),
        ("routes.2.hits.0.note", "mentions nobody"),
        ("routes.2.hits.0.factor", 0.5),
        ("query.entities.0.meanings.0.name", "Thomas"),
        ("query.entities", []),
        ("query.window", {"text": "always"}),
        ("plan.routes.0.weight", 0.5),
        ("notes", [{"stage": "learned"}]),
        ("degraded", ["dense"]),
        ("embedder", "other@1"),
    ],
)
def test_any_other_answer_is_told_apart(told: Json, path: str, value: object) -> None:
    other = copy.deepcopy(told)
    _set(path, value)(other)
    assert differences(told, other) != []
    assert differences(other, told) != []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("hits.0.score", lambda score: score + 5e-5),
        ("hits.0.fused", lambda score: score - 5e-5),
        ("routes.0.hits.0.score", lambda score: score + 1e-7),
        ("hits.0.evidence.0.arithmetic", lambda text: text.replace(text[-12], text[-12])),
    ],
)
def test_rounding_is_no_difference(told: Json, path: str, value: object) -> None:
    other = copy.deepcopy(told)
    _set(path, value)(other)
    assert differences(told, other) == []


def test_what_only_rounding_orders_may_change_places(told: Json) -> None:
    other = copy.deepcopy(told)
    told["hits"][1]["score"] = told["hits"][0]["score"] - 5e-7
    other["hits"] = [copy.deepcopy(told["hits"][place]) for place in (1, 0, 2)]
    assert differences(told, other) == []
    told["hits"][1]["score"] -= 2e-6
    assert differences(told, other) != []


def test_equals_may_not_change_places(told: Json) -> None:
    told["hits"][1]["score"] = told["hits"][0]["score"]
    other = copy.deepcopy(told)
    other["hits"][:2] = reversed(other["hits"][:2])
    assert differences(told, other) != []
    other["hits"][0]["score"] += 1e-9
    assert differences(told, other) == []


def test_where_rounding_orders_a_route_only_the_routes_are_compared(told: Json) -> None:
    hits = told["routes"][0]["hits"]
    hits[1]["score"] = hits[0]["score"] - 1e-8
    other = copy.deepcopy(told)
    other["routes"][0]["hits"][:2] = reversed(other["routes"][0]["hits"][:2])
    other["hits"][0]["score"] += 0.001
    assert differences(told, other) == []
    other["routes"][1]["hits"][0]["score"] += 0.001
    assert differences(told, other) != []


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        ("0.6 · √0.5000 / (60 + 1)", "0.6 · √0.5001 / (60 + 1)", True),
        ("0.6 · √0.5000 / (60 + 1)", "0.6 · √0.5100 / (60 + 1)", False),
        ("0.6 · √0.5000 / (60 + 1)", "0.6 · √0.5000 / (60 + 2)", False),
        ("1.2e-07 left", "1.3e-07 left", True),
        ("−0.25 away", "0.25 away", False),
        ("rank 4 of 5", "rank 5 of 5", False),
        (1, 1.0, True),
        (1, 2, False),
        (True, 1, False),
        (None, 0.0, False),
        (1.0, 1.00009, True),
        (1.0, 1.0002, False),
    ],
)
def test_how_near_is_near(mine: object, theirs: object, same: bool) -> None:
    assert (list(unlike(mine, theirs, "it")) == []) is same


def test_what_only_one_side_has_is_named() -> None:
    assert list(unlike({"a": 1}, {"b": 1}, "it")) == ["it.a is only in the reference", "it.b is only in the store"]
    assert list(unlike([1, 2], [1], "it")) == ["it: 2 expected, 1 found: [1, 2] and [1]"]


def test_session_memories_are_called_by_their_session() -> None:
    with in_memory() as store:
        engine = opened(store)
        engine.remember_many(TOLD)
        names = session_names(engine)
        ((id, name),) = names.items()
    assert name == "session s"
    assert renamed({"x": [f"says what {id} says", id]}, names) == {"x": ["says what session s says", "session s"]}


def test_a_store_that_is_off_by_little_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with in_memory() as store, in_memory() as reference:
        pair = StorePair(store, reference)
        pair.remember(*TOLD)
        pair.ask("tea in the barn")
        assert isinstance(store, SqliteStore)
        dense = SqliteSearchReader.dense

        def moved(reader: SqliteSearchReader, *given: Any) -> list[RouteHit]:
            hits = dense(reader, *given)
            off = 0.001 if reader._file.connections is store.connections else 0.0
            return [RouteHit(hit.row, hit.score + off) for hit in hits]

        monkeypatch.setattr(SqliteSearchReader, "dense", moved)
        with pytest.raises(AssertionError, match="default, 'tea in the barn': route dense"):
            pair.ask("tea in the barn")


def test_a_store_that_holds_more_is_found_out() -> None:
    with in_memory() as store, in_memory() as reference:
        pair = StorePair(store, reference)
        pair.remember(*TOLD)
        pair.same()
        pair.tested.configure(hops=1)
        with pytest.raises(AssertionError, match=r"holds\.settings\.hops: 2 expected, 1 found"):
            pair.same()
        with pytest.raises(AssertionError, match="expected, 'InvalidInput: hops must be"):
            pair.both(lambda engine: engine.configure(hops=9 if engine is pair.tested else 1))


def test_recipes_are_steady() -> None:
    assert all("select.noise" not in recipe.parts() for recipe in steady_recipes())
    assert [recipe.name for recipe in steady_with("routes.graph")] == ["engram", "recall"]
