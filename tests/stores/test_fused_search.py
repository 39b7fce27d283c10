"""Searching and fusing in one statement: the composite score and reciprocal ranks, against hand and plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.stores.records import Arm
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.query import CURVES, Curve, Decay, age_in_days
from tests.support.dial import Dial, dialled
from tests.support.toy_engine import Toy, toy

DAY = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def dial(store_path: str) -> Iterator[Engine]:
    with dialled(store_path) as engine:
        yield engine


def signals(answer: fivefold.Recall) -> dict[str, dict[str, float]]:
    """Each hit's own score in each route, by id."""
    return {hit.memory.id: {item.route: item.score for item in hit.candidate.evidence} for hit in answer}


# the composite of Ditto


def test_d1_d2_similarity_recency_and_frequency_by_hand(dial: Engine) -> None:
    """Bertil is spoken of twice, Agnes and each topic once: a has 2 + 1, b 2 + 1, c 1; the times lie at 0, ½ and 1."""
    dial.remember("Bertil sails @0.9", id="a", event_at=DAY)
    dial.remember("Bertil met Agnes @0.8", id="b", event_at=DAY + timedelta(days=2))
    dial.remember("it rains @0.5", id="c", event_at=DAY + timedelta(days=4))
    answer = dial.recall("what?", recipe="ditto")
    assert signals(answer) == {
        "a": pytest.approx({"similarity": 0.9, "recency": 0.0, "frequency": 1.0}),
        "b": pytest.approx({"similarity": 0.8, "recency": 0.5, "frequency": 1.0}),
        "c": pytest.approx({"similarity": 0.5, "recency": 1.0, "frequency": 1 / 3}),
    }
    assert {hit.memory.id: hit.score for hit in answer} == pytest.approx(
        {"b": 0.6 * 0.8 + 0.25 * 0.5 + 0.15 * 1.0, "a": 0.6 * 0.9 + 0.15 * 1.0, "c": 0.6 * 0.5 + 0.25 + 0.15 / 3}
    )
    assert [hit.memory.id for hit in answer] == ["b", "a", "c"]


def test_d1_the_weights_are_0_6_0_25_0_15_and_add_up_to_1() -> None:
    weights = {route.name: route.weight for route in load_recipe("ditto").routes}
    assert weights == {"similarity": 0.6, "recency": 0.25, "frequency": 0.15}
    assert sum(weights.values()) == pytest.approx(1.0)


def test_d2_one_candidate_is_new(dial: Engine) -> None:
    dial.remember("so it is @0.4", event_at=DAY)
    (one,) = signals(dial.recall("what?", recipe="ditto")).values()
    assert one["recency"] == 1.0


def test_d2_equal_times_are_new(dial: Engine) -> None:
    dial.remember_many([{"content": f"Bertil sails @0.{i}", "event_at": DAY} for i in (3, 5, 7)])
    assert [item["recency"] for item in signals(dial.recall("what?", recipe="ditto")).values()] == [1.0, 1.0, 1.0]


def test_d2_without_a_subject_the_frequency_is_0(dial: Engine) -> None:
    dial.remember_many([{"content": text, "event_at": DAY} for text in ("so it is @0.4", "was it so @0.5")])
    assert dial.stats().links == 0
    assert [item["frequency"] for item in signals(dial.recall("what?", recipe="ditto")).values()] == [0.0, 0.0]


def test_d2_a_cosine_below_0_counts_as_0(dial: Engine) -> None:
    dial.remember("so it is @-0.5", id="far", event_at=DAY)
    dial.remember("was it so @0.5", id="near", event_at=DAY)
    assert signals(dial.recall("what?", recipe="ditto"))["far"]["similarity"] == 0.0


def test_d2_recency_spans_the_candidates_and_not_the_namespace(dial: Engine) -> None:
    """Fifty nearer ones push the oldest out of the candidate set, so that the span begins after it."""
    dial.remember("an old one @0.1", id="oldest", event_at=DAY - timedelta(days=900))
    dial.remember_many(
        [{"content": f"number {i} @0.9{i:02}", "id": f"n{i}", "event_at": DAY + timedelta(days=i)} for i in range(50)]
    )
    answer = dial.recall("what?", k=50, recipe="ditto")
    recency = {id: item["recency"] for id, item in signals(answer).items()}
    assert "oldest" not in recency
    assert recency["n0"] == 0.0
    assert recency["n49"] == 1.0
    assert recency["n7"] == pytest.approx(7 / 49)


def test_d9_one_statement_finds_counts_ages_and_sums() -> None:
    """Everything else on the connection keeps the vectors held in memory true to the file."""
    with dialled(":memory:") as engine:
        engine.remember_many([{"content": f"Bertil sails @0.{i}", "event_at": DAY} for i in (3, 5, 7)])
        assert isinstance(engine.store, SqliteStore)
        seen: list[str] = []

        def note(cursor: Any, statement: str, bindings: Any) -> bool:
            if "FROM namespaces" not in statement:  # which key the namespace has
                seen.append(statement)
            return True

        with engine.store.connections.reader() as connection:
            connection.exec_trace = note
        answer = engine.recall("what?", recipe="ditto")
        with engine.store.connections.reader() as connection:
            connection.exec_trace = None
    assert len(answer) == 3
    of_routes = [statement for statement in seen if "nearest(" in statement]
    assert len(of_routes) == 1
    assert all(table in of_routes[0] for table in ("memories", "links", "entities"))
    after = seen[seen.index(of_routes[0]) + 1 :]
    assert after[-1].startswith("SELECT row, id, content")
    for statement in after[:-1]:
        assert statement in {"BEGIN", "COMMIT"} or " vectors " in statement or " removals " in statement


@pytest.mark.parametrize(
    ("curve", "left"),
    [
        ("none", [1.0, 1.0, 1.0]),
        ("linear", [1.0, 0.5, 0.2]),
        ("exponential", [1.0, 0.5, 0.25]),
        ("gaussian", [1.0, 0.5, 0.2]),
        ("step", [1.0, 0.2, 0.2]),
    ],
)
def test_d12_recency_by_a_curve_of_age(dial: Engine, curve: Curve, left: list[float]) -> None:
    """With a half-life the age at the time of the question counts: 0, 30 and 60 days, and at least 0.2 stays."""
    for id, days in (("now", 0), ("month", 30), ("two", 60)):
        dial.remember(f"{id} @0.5", id=id, event_at=DAY - timedelta(days=days))
    how = {"curve": curve, "half_life_days": 30, "floor": 0.2}
    changes = {f"routes.recency.{name}": value for name, value in how.items()}
    found = signals(dial.recall("what?", recipe="ditto", now=DAY, overrides=changes))
    assert [found[id]["recency"] for id in ("now", "month", "two")] == pytest.approx(left)


names = st.sampled_from("Bertil Agnes Sarah Tom Miso".split())
memories = st.lists(
    st.tuples(st.integers(-99, 99), st.integers(0, 200), st.lists(names, max_size=3)), min_size=1, max_size=8
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    told=memories,
    depth=st.integers(1, 8),
    curve=st.none() | st.sampled_from(CURVES),
    floor=st.floats(0, 1),
    life=st.floats(1, 200),
    weights=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
)
def test_the_composite_in_sql_is_the_composite_in_python(
    told: list[tuple[int, int, list[str]]],
    depth: int,
    curve: Curve | None,
    floor: float,
    life: float,
    weights: tuple[float, float, float],
) -> None:
    now = DAY + timedelta(days=100)
    decay = Decay("linear", None) if curve is None else Decay(curve, life, floor)
    changes: dict[str, object] = {
        "routes.similarity.depth": depth,
        "routes.similarity.weight": weights[0],
        "routes.recency.weight": weights[1],
        "routes.frequency.weight": weights[2],
        "routes.recency.curve": decay.curve,
        "routes.recency.floor": decay.floor,
        "fusion.weights": "fixed",
    }
    if decay.half_life_days is not None:
        changes["routes.recency.half_life_days"] = decay.half_life_days
    with dialled(":memory:") as engine:
        engine.remember_many(
            [
                {"content": f"{i} {' '.join(about)} @{near / 100:.2f}", "event_at": DAY + timedelta(days=day)}
                for i, (near, day, about) in enumerate(told)
            ]
        )
        expected = _composite(engine, depth, decay, weights, now)
        answer = engine.recall("what?", k=1, recipe="ditto", overrides=changes, now=now)
        rows = {hit.row: hit for run in answer.routes for hit in run.hits}
        totals = {
            row: math.fsum(hit.contribution or 0.0 for run in answer.routes for hit in run.hits if hit.row == row)
            for row in rows
        }
    assert totals == pytest.approx(expected, abs=1e-6)


def _composite(
    engine: Engine, depth: int, decay: Decay, weights: tuple[float, float, float], now: datetime
) -> dict[int, float]:
    """D1 and D2 written down once more, over rows read plainly."""
    assert isinstance(engine.store, SqliteStore)
    with engine.store.connections.reader() as connection:
        entities: Any = connection.execute("SELECT key, links FROM entities").fetchall()
        subjects: Any = connection.execute("SELECT memory, entity FROM links").fetchall()
    links: dict[int, int] = dict(entities)
    held = [memory for memory, _ in engine.store.reader("default").memories.scan()]
    question = Dial().embed(["what?"])[0]
    near = {memory.row: float(Dial().embed([memory.content])[0] @ question) for memory in held}
    nearest = sorted(held, key=lambda memory: (-near[memory.row], memory.row))[:depth]
    counts = {memory.row: sum(links[entity] for row, entity in subjects if row == memory.row) for memory in nearest}
    oldest, newest = min(memory.event_at for memory in nearest), max(memory.event_at for memory in nearest)
    out = {}
    for memory in nearest:
        if decay.half_life_days is not None:
            recency = decay.left(age_in_days(memory.event_at, now))
        else:
            recency = 1.0 if oldest == newest else (memory.event_at - oldest) / (newest - oldest)
        most = max(counts.values())
        frequency = counts[memory.row] / most if most else 0.0
        similarity = min(1.0, max(0.0, near[memory.row]))
        out[memory.row] = weights[0] * similarity + weights[1] * recency + weights[2] * frequency
    return out


# reciprocal ranks of Memsense and the five-stage pipeline

words = st.sampled_from("alpha Beta gamma Delta epsilon I prefer tea and met Kappa yesterday".split())
said = st.lists(words, min_size=1, max_size=6).map(" ".join)
records = st.lists(
    st.fixed_dictionaries(
        {"content": said, "session_id": st.sampled_from([None, "s", "t"])},
        optional={
            "user_text": said,
            "assistant_text": said,
            "task_tag": words,
            "speaker": st.sampled_from(["Ann", "Bo"]),
        },
    ),
    max_size=10,
)


def told(answer: fivefold.Recall) -> object:
    """What each route found and what became of it, without times and ids of the recall."""
    return (
        [(run.route, run.status, run.reason, [(hit.row, hit.score) for hit in run.hits]) for run in answer.routes],
        [
            (
                hit.memory.id,
                hit.score,
                hit.candidate.fused,
                hit.support,
                hit.neighbours,
                [(one.route, one.rank, one.score, one.contribution, one.arithmetic) for one in hit.candidate.evidence],
            )
            for hit in answer
        ],
        [(item.id, item.score, item.stage, item.reason) for item in answer.dropped],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "unit"),
    [("memsense", "memory"), ("memsense", "turn"), ("memsense", "session"), ("five-stage", "memory")],
)
def test_ranks_fused_in_sql_are_ranks_fused_in_python(recipe: str, unit: str) -> None:
    @settings(max_examples=12, deadline=None)
    @given(held=records, question=said, k=st.integers(1, 5), depth=st.integers(1, 6))
    def alike(held: list[dict[str, Any]], question: str, k: int, depth: int) -> None:
        first = load_recipe(recipe).routes[0].name
        changes = {"unit": unit, f"routes.{first}.depth": depth}
        with toy(":memory:") as engine:
            engine.remember_many([{**item, "event_at": DAY} for item in held])
            in_sql, in_python = (
                engine.recall(question, k=k, recipe=recipe, now=DAY, overrides={**changes, "fusion.store": store})
                for store in (True, False)
            )
        assert told(in_sql) == told(in_python)

    alike()


def test_m3_the_statement_sums_1_over_15_plus_rank(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember_many(["alpha beta", "beta gamma", "gamma delta"])
        reader = engine.store.reader("default")
        arms = [Arm("near", 3, 1.0, "full"), Arm("words", 2, 2.0)]
        found = reader.search.rrf(reader.search.vector_space(), Toy().embed(["beta"])[0], ["beta", "gamma"], arms, 15.0)
    assert {item.route for item in found} == {"near", "words"}
    for item in found:
        weight = {"near": 1.0, "words": 2.0}[item.route]
        assert item.contribution == weight / (15 + item.rank)
        assert item.total == pytest.approx(sum(other.contribution for other in found if other.row == item.row))
    assert sorted(item.rank for item in found if item.route == "near") == [1, 2, 3]
    assert sorted(item.rank for item in found if item.route == "words") == [1, 2]
    assert [item.total for item in found] == sorted((item.total for item in found), reverse=True)


def test_m3_no_arm_that_can_search_finds_nothing(store_path: str) -> None:
    with toy(store_path) as engine:
        engine.remember("alpha beta")
        reader = engine.store.reader("default")
        assert (
            reader.search.rrf(
                reader.search.vector_space(), None, [], [Arm("near", 3, 1.0, "full"), Arm("words", 2, 2.0)], 15.0
            )
            == []
        )
