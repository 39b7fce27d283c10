"""Turns are paired into questions and answers, so that the routes over sides find something (M1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fivefold.engine import Engine
from fivefold.stores import open_store
from fivefold.stores.sql.search import SIDES
from fivefold.values.filters import Filter
from fivefold.values.vectors import FIELDS, VectorField
from tests.conformance.vectors import WordTokens, WordVectors
from tests.golden.figures import EXCHANGE, ROUTES

AT = "2023-05-08T09:00:00Z"
TALK = [("user", "kettle"), ("assistant", "teapot"), ("user", "saucer"), ("assistant", "spoon")]


def turn(speaker: str | None, content: str, **fields: object) -> dict[str, object]:
    return {"content": content, "speaker": speaker, "session_id": "s", "event_at": AT, **fields}


@pytest.fixture(params=[WordVectors, WordTokens], ids=["vectors", "tokens"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=request.param()) as made:
        yield made


def sides(engine: Engine, session: str = "s") -> dict[str, dict[VectorField, str]]:
    """Of each turn, by whose text each of its sides is found."""
    reader = engine.store.reader(engine.namespace)
    turns = {memory.row: memory.content for memory in reader.sessions.turns(session)}
    space = reader.search.vector_space()
    assert space is not None
    found: dict[str, dict[VectorField, str]] = {content: {} for content in turns.values()}
    for row, vector in reader.search.vectors(space, list(turns)).items():
        for side in SIDES:
            for hit in reader.search.dense(space, side, vector, 20, Filter()):
                if hit.score > 0.9999:
                    found[turns[hit.row]][side] = turns[row]
    return found


PAIRED = {
    "kettle": {"user": "kettle"},
    "teapot": {"user": "kettle", "assistant": "teapot", "next_user": "saucer"},
    "saucer": {"user": "saucer"},
    "spoon": {"user": "saucer", "assistant": "spoon"},
}


def test_M1_an_answer_has_its_question_as_the_users_side(engine: Engine) -> None:
    engine.remember_many([turn(*said) for said in TALK])
    assert sides(engine) == PAIRED


def test_M1_turns_one_at_a_time_are_paired_as_in_one_batch(engine: Engine) -> None:
    for said in TALK:
        engine.remember_many([turn(*said)])
    assert sides(engine) == PAIRED


def test_M1_between_people_each_turn_answers_the_one_before(engine: Engine) -> None:
    engine.remember_many([turn("Ana", "kettle"), turn("Bea", "teapot"), turn("Bea", "saucer"), turn("Ana", "spoon")])
    assert sides(engine) == {
        "kettle": {"user": "kettle", "next_user": "teapot"},
        "teapot": {"user": "kettle", "assistant": "teapot"},
        "saucer": {"user": "saucer", "next_user": "spoon"},
        "spoon": {"user": "saucer", "assistant": "spoon"},
    }


def test_M1_no_vector_is_stored_twice(engine: Engine) -> None:
    engine.remember_many([turn(*said) for said in TALK])
    with engine.store.write(engine.namespace) as txn:
        rows = [memory.row for memory in txn.sessions.turns("s")]
        assert {where: len(txn.vectors.get(rows, where)) for where in ("full", *SIDES)} == {
            "full": 4,
            "user": 0,
            "assistant": 0,
            "next_user": 0,
        }


def test_M1_a_filter_leaves_an_answer_whose_question_does_not_pass(engine: Engine) -> None:
    engine.remember_many([turn(*said) for said in TALK])
    for in_store in (True, False):
        changes = {"boosts.session_first.on": False, "fusion.store": in_store}
        answer = engine.recall("saucer", recipe="memsense", filter={"speakers": ["assistant"]}, overrides=changes)
        runs = {run.route: [top.id for top in run.top] for run in answer.routes}
        assert [engine.get(id).content for id in runs["vec_user"]] == ["spoon", "teapot"]
        assert [engine.get(id).content for id in runs["vec_next_user"]] == ["teapot"]


def test_M1_what_a_tool_says_is_no_side(engine: Engine) -> None:
    engine.remember_many([turn("user", "kettle"), turn("tool", "weather"), turn("assistant", "teapot")])
    assert sides(engine) == {"kettle": {"user": "kettle"}, "weather": {}, "teapot": {"assistant": "teapot"}}


def test_M1_the_next_user_turn_is_put_on_chunks_without_speakers(engine: Engine) -> None:
    chunks = [("kettle", "teapot"), ("saucer", "spoon")]
    pairs = [turn(None, "", user_text=asked, assistant_text=said) for asked, said in chunks]
    first, second = engine.remember_many(pairs).stored
    assert engine.get(first).next_user_text == "saucer"
    with engine.store.write(engine.namespace) as txn:
        rows = [engine.get(id).row for id in (first, second)]
        reply, asked = txn.vectors.get(rows, "next_user"), txn.vectors.get(rows, "user")
    np.testing.assert_allclose(reply[rows[0]], asked[rows[1]], atol=1e-6)
    engine.forget(second)
    assert engine.get(first).next_user_text is None


def test_M1_plain_turns_without_speakers_have_the_next_one_too(engine: Engine) -> None:
    ids = engine.remember_many([turn(None, "kettle"), turn(None, "teapot")]).stored
    assert engine.get(ids[0]).next_user_text == "teapot"


def test_M1_sides_follow_a_turn_that_changes_goes_or_comes_late(engine: Engine) -> None:
    ids = engine.remember_many([turn(*said, turn_index=2 * place) for place, said in enumerate(TALK)]).stored
    engine.update(ids[0], content="samovar")
    assert sides(engine)["teapot"]["user"] == "samovar"
    engine.forget(ids[2])
    assert sides(engine)["spoon"] == {"assistant": "spoon"}
    engine.remember_many([turn("user", "ladle", turn_index=5)])
    assert sides(engine)["spoon"] == {"user": "ladle", "assistant": "spoon"}


def test_M1_a_turn_given_again_is_still_the_question_of_a_new_one(engine: Engine) -> None:
    engine.remember_many([turn("user", "kettle")])
    engine.remember_many([turn("user", "kettle"), turn("assistant", "teapot")])
    assert sides(engine)["teapot"] == {"user": "kettle", "assistant": "teapot"}


def test_M1_a_repair_pairs_as_a_write_does(engine: Engine) -> None:
    engine.remember_many([turn(*said) for said in TALK])
    with engine.store.write(engine.namespace) as txn:
        for memory in txn.sessions.turns("s"):
            txn.vectors.drop_fields(memory.row, FIELDS, "active")
    engine.doctor(repair=True)
    assert sides(engine) == PAIRED


def test_M1_all_eight_routes_find_something_in_one_store(engine: Engine) -> None:
    """One conversation by role, and a note about its speaker."""
    engine.remember_many(
        [
            *({**said, "session_id": "s", "event_at": AT} for said in EXCHANGE),
            {"content": "The kettle shop closes at six", "event_at": AT},
        ]
    )
    answer = engine.recall("kettle", recipe="memsense")
    found = {run.route: len(run.hits) for run in answer.routes}
    assert all(found[route] for route in ROUTES), found


def test_M1_all_eight_routes_find_something_in_the_sample_year(sample_engine: Engine) -> None:
    answer = sample_engine.recall("Which tea do I like?", recipe="memsense")
    assert all(run.hits for run in answer.routes if run.route in ROUTES)
