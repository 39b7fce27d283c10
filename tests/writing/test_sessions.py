"""Turns are paired into questions and answers, so that the routes over sides find something (M1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.models.embedders import Progress
from fivefold.stores import open_store
from fivefold.stores.sql.search import SIDES
from fivefold.text.passages import texts_to_embed
from fivefold.values.filters import Filter
from fivefold.values.vectors import FIELDS, Passage, Reading, VectorField
from fivefold.writing.draft import read_texts
from tests.conformance.vectors import WordTokens, WordVectors
from tests.golden.figures import EXCHANGE, ROUTES

AT = "2023-05-08T09:00:00Z"
TALK = [("user", "kettle"), ("assistant", "teapot"), ("user", "saucer"), ("assistant", "spoon")]


def turn(speaker: str | None, content: str, **fields: object) -> dict[str, object]:
    return {"content": content, "speaker": speaker, "session_id": "s", "event_at": AT, **fields}


@pytest.fixture(params=[WordVectors, WordTokens], ids=["vectors", "tokens"])
def paired_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=request.param()) as made:
        yield made


def sides(paired_engine: Engine, session: str = "s") -> dict[str, dict[VectorField, str]]:
    """Of each turn, by whose text each of its sides is found."""
    reader = paired_engine.store.reader(paired_engine.namespace)
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


def test_M1_an_answer_has_its_question_as_the_users_side(paired_engine: Engine) -> None:
    paired_engine.remember_many([turn(*said) for said in TALK])
    assert sides(paired_engine) == PAIRED


def test_M1_turns_one_at_a_time_are_paired_as_in_one_batch(paired_engine: Engine) -> None:
    for said in TALK:
        paired_engine.remember_many([turn(*said)])
    assert sides(paired_engine) == PAIRED


def test_M1_between_people_each_turn_answers_the_one_before(paired_engine: Engine) -> None:
    paired_engine.remember_many(
        [turn("Ana", "kettle"), turn("Bea", "teapot"), turn("Bea", "saucer"), turn("Ana", "spoon")]
    )
    assert sides(paired_engine) == {
        "kettle": {"user": "kettle", "next_user": "teapot"},
        "teapot": {"user": "kettle", "assistant": "teapot"},
        "saucer": {"user": "saucer", "next_user": "spoon"},
        "spoon": {"user": "saucer", "assistant": "spoon"},
    }


def test_M1_no_vector_is_stored_twice(paired_engine: Engine) -> None:
    paired_engine.remember_many([turn(*said) for said in TALK])
    with paired_engine.store.write(paired_engine.namespace) as txn:
        rows = [memory.row for memory in txn.sessions.turns("s")]
        assert {where: len(txn.vectors.get(rows, where)) for where in ("full", *SIDES)} == {
            "full": 4,
            "user": 0,
            "assistant": 0,
            "next_user": 0,
        }


def test_M1_a_filter_leaves_an_answer_whose_question_does_not_pass(paired_engine: Engine) -> None:
    paired_engine.remember_many([turn(*said) for said in TALK])
    for in_store in (True, False):
        changes = {"boosts.session_first.on": False, "fusion.store": in_store}
        answer = paired_engine.recall(
            "saucer", recipe="memsense", filter={"speakers": ["assistant"]}, overrides=changes
        )
        runs = {run.route: [top.id for top in run.top] for run in answer.routes}
        assert [paired_engine.get(id).content for id in runs["vec_user"]] == ["spoon", "teapot"]
        assert [paired_engine.get(id).content for id in runs["vec_next_user"]] == ["teapot"]


def test_M1_what_a_tool_says_is_no_side(paired_engine: Engine) -> None:
    paired_engine.remember_many([turn("user", "kettle"), turn("tool", "weather"), turn("assistant", "teapot")])
    assert sides(paired_engine) == {"kettle": {"user": "kettle"}, "weather": {}, "teapot": {"assistant": "teapot"}}


def test_M1_the_next_user_turn_is_put_on_chunks_without_speakers(paired_engine: Engine) -> None:
    chunks = [("kettle", "teapot"), ("saucer", "spoon")]
    pairs = [turn(None, "", user_text=asked, assistant_text=said) for asked, said in chunks]
    first, second = paired_engine.remember_many(pairs).stored
    assert paired_engine.get(first).next_user_text == "saucer"
    with paired_engine.store.write(paired_engine.namespace) as txn:
        rows = [paired_engine.get(id).row for id in (first, second)]
        reply, asked = txn.vectors.get(rows, "next_user"), txn.vectors.get(rows, "user")
    np.testing.assert_allclose(reply[rows[0]], asked[rows[1]], atol=1e-6)
    paired_engine.forget(second)
    assert paired_engine.get(first).next_user_text is None


def test_M1_plain_turns_without_speakers_have_the_next_one_too(paired_engine: Engine) -> None:
    ids = paired_engine.remember_many([turn(None, "kettle"), turn(None, "teapot")]).stored
    assert paired_engine.get(ids[0]).next_user_text == "teapot"


def test_M1_sides_follow_a_turn_that_changes_goes_or_comes_late(paired_engine: Engine) -> None:
    ids = paired_engine.remember_many([turn(*said, turn_index=2 * place) for place, said in enumerate(TALK)]).stored
    paired_engine.update(ids[0], content="samovar")
    assert sides(paired_engine)["teapot"]["user"] == "samovar"
    paired_engine.forget(ids[2])
    assert sides(paired_engine)["spoon"] == {"assistant": "spoon"}
    paired_engine.remember_many([turn("user", "ladle", turn_index=5)])
    assert sides(paired_engine)["spoon"] == {"user": "ladle", "assistant": "spoon"}


def test_M1_a_turn_given_again_is_still_the_question_of_a_new_one(paired_engine: Engine) -> None:
    paired_engine.remember_many([turn("user", "kettle")])
    paired_engine.remember_many([turn("user", "kettle"), turn("assistant", "teapot")])
    assert sides(paired_engine)["teapot"] == {"user": "kettle", "assistant": "teapot"}


def test_M1_a_repair_pairs_as_a_write_does(paired_engine: Engine) -> None:
    paired_engine.remember_many([turn(*said) for said in TALK])
    with paired_engine.store.write(paired_engine.namespace) as txn:
        for memory in txn.sessions.turns("s"):
            txn.vectors.drop_fields(memory.row, FIELDS, "active")
    paired_engine.doctor(repair=True)
    assert sides(paired_engine) == PAIRED


def test_M1_all_eight_routes_find_something_in_one_store(paired_engine: Engine) -> None:
    """One conversation by role, and a note about its speaker."""
    paired_engine.remember_many(
        [
            *({**said, "session_id": "s", "event_at": AT} for said in EXCHANGE),
            {"content": "The kettle shop closes at six", "event_at": AT},
        ]
    )
    answer = paired_engine.recall("kettle", recipe="memsense")
    found = {run.route: len(run.hits) for run in answer.routes}
    assert all(found[route] for route in ROUTES), found


def test_M1_all_eight_routes_find_something_in_the_sample_year(sample_engine: Engine) -> None:
    answer = sample_engine.recall("Which tea do I like?", recipe="memsense")
    assert all(run.hits for run in answer.routes if run.route in ROUTES)


# A turn is read with the one before it: when it is written, and again when that one changes, comes late or goes.


class Recorder(WordTokens):
    """Notes what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.passages: list[Passage] = []

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        self.passages += passages
        return super().read(passages, progress)


def ana(content: str, **fields: object) -> dict[str, object]:
    return {"content": content, "session_id": "s", "speaker": "Ana", "event_at": AT, **fields}


@pytest.fixture
def model() -> Recorder:
    return Recorder()


@pytest.fixture
def reading_engine(tmp_path: Path, model: Recorder) -> Iterator[Engine]:
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=model) as made:
        yield made


def befores(reading_engine: Engine) -> dict[str, str]:
    """For each turn the one whose words its stored token vectors have, as far as a fresh reading agrees with them."""
    reader = reading_engine.store.reader(reading_engine.namespace)
    space = reader.search.vector_space()
    assert space is not None
    turns = reader.sessions.turns("s")
    vectors = reader.search.vectors(space, [memory.row for memory in turns])
    tokens = reader.search.token_vectors(space, [(memory.row, 0) for memory in turns])
    found = {}
    for memory in turns:
        for before in ("", *(other.content for other in turns if other.row != memory.row)):
            (read,) = read_texts([texts_to_embed(memory, {}, before)], WordTokens())
            if read.passages[0].tokens == tokens[memory.row, 0]:
                np.testing.assert_allclose(vectors[memory.row], read.fields["full"], atol=1e-6)
                found[memory.content] = before
    return found


def test_turns_of_one_batch_are_read_with_the_one_before(reading_engine: Engine) -> None:
    reading_engine.remember_many([ana("one"), ana("two"), ana("three"), "a note", ana("four")])
    assert befores(reading_engine) == {"one": "", "two": "one", "three": "two", "four": "three"}


def test_turns_one_at_a_time_are_read_with_the_last_one_stored(reading_engine: Engine) -> None:
    for content in ("one", "two", "three"):
        reading_engine.remember(**ana(content))  # type: ignore[arg-type]
    assert befores(reading_engine) == {"one": "", "two": "one", "three": "two"}


def test_a_text_without_any_token_is_complete(reading_engine: Engine) -> None:
    reading_engine.remember_many([ana("\U0001fae8" * 3), {"content": "\U0001fae8", "event_at": AT}])
    assert all(finding.ok for finding in reading_engine.doctor())


def test_notes_and_other_sessions_are_not_read_along(reading_engine: Engine, model: Recorder) -> None:
    reading_engine.remember_many([ana("one"), "a note", ana("other", session_id="t"), ana("two")])
    befores_read = {passage.text.rpartition(" ")[2]: passage.before for passage in model.passages}
    assert befores_read == {"one": "", "note": "", "other": "", "two": "one"}


def test_the_order_in_the_session_counts_not_that_of_writing(reading_engine: Engine) -> None:
    reading_engine.remember_many([ana("two", turn_index=2), ana("zero", turn_index=0), ana("one", turn_index=1)])
    assert befores(reading_engine) == {"zero": "", "one": "zero", "two": "one"}


def test_a_turn_that_comes_late_is_read_along_by_the_next_one(reading_engine: Engine) -> None:
    reading_engine.remember_many([ana("zero", turn_index=0), ana("four", turn_index=4)])
    reading_engine.remember_many([ana("one", turn_index=1), ana("two", turn_index=2)])
    assert befores(reading_engine) == {"zero": "", "one": "zero", "two": "one", "four": "two"}
    reading_engine.remember_many([ana("six"), ana("three", turn_index=3)])
    assert befores(reading_engine) == {
        "zero": "",
        "one": "zero",
        "two": "one",
        "three": "two",
        "four": "three",
        "six": "four",
    }


def test_turns_given_again_change_nothing(reading_engine: Engine) -> None:
    reading_engine.remember_many([ana("one"), ana("two")])
    reading_engine.remember_many([ana("one"), ana("two"), ana("three")])
    assert befores(reading_engine) == {"one": "", "two": "one", "three": "two"}
    reading_engine.remember_many([ana("changed", id="x"), ana("five", id="y")])
    reading_engine.remember_many([ana("another text", id="y"), ana("six", id="z")])
    assert befores(reading_engine)["six"] == "five"


def test_a_forgotten_turn_leaves_nothing_in_the_next_one(reading_engine: Engine) -> None:
    ids = reading_engine.remember_many([ana("one"), ana("two"), ana("three")]).stored
    reading_engine.forget(ids[1])
    assert befores(reading_engine) == {"one": "", "three": "one"}
    reading_engine.forget(ids[0])
    assert befores(reading_engine) == {"three": ""}
    assert all(finding.ok for finding in reading_engine.doctor())


def test_an_edited_turn_is_read_along_as_it_is_now(reading_engine: Engine) -> None:
    ids = reading_engine.remember_many([ana("one"), ana("two"), ana("three")]).stored
    reading_engine.update(ids[1], content="second")
    assert befores(reading_engine) == {"one": "", "second": "one", "three": "second"}
    reading_engine.update(ids[2], tags=["odd"])
    assert befores(reading_engine) == {"one": "", "second": "one", "three": "second"}


def test_the_reply_has_the_vector_of_the_turn_that_replies(reading_engine: Engine) -> None:
    ids = reading_engine.remember_many([ana("one"), ana("two", speaker="Bea"), ana("three")]).stored

    def replies() -> dict[str, str]:
        """Of each turn, the one by whose vector it is found as that of its reply."""
        reader = reading_engine.store.reader(reading_engine.namespace)
        turns = {memory.row: memory.content for memory in reader.sessions.turns("s")}
        space = reader.search.vector_space()
        assert space is not None
        found = {
            text: reader.search.dense(space, "next_user", vector, 9, Filter())
            for row, vector in reader.search.vectors(space, list(turns)).items()
            if (text := turns[row])
        }
        return {turns[hit.row]: text for text, hits in found.items() for hit in hits if hit.score > 0.9999}

    for change in (
        lambda: None,
        lambda: reading_engine.update(ids[1], content="second"),
        lambda: reading_engine.forget(ids[0]),
    ):
        change()
        assert replies() == {memory.content: memory.next_user_text for memory in with_reply(reading_engine)}
        assert replies()


def with_reply(reading_engine: Engine) -> list[fivefold.Memory]:
    turns = reading_engine.store.reader(reading_engine.namespace).sessions.turns("s")
    return [memory for memory in turns if memory.next_user_text]


def test_a_rebuild_and_a_move_read_as_a_write_does(reading_engine: Engine) -> None:
    reading_engine.remember_many([ana("one"), ana("two"), ana("three")])
    as_written = befores(reading_engine)
    reading_engine.reembed(WordVectors())
    reading_engine.reembed(WordTokens())
    assert befores(reading_engine) == as_written
    reader = reading_engine.store.reader(reading_engine.namespace)
    with reading_engine.store.write(reading_engine.namespace) as txn:
        for memory in reader.sessions.turns("s"):
            txn.vectors.drop_fields(memory.row, FIELDS, "active")
    assert not all(finding.ok for finding in reading_engine.doctor())
    assert all(finding.ok for finding in reading_engine.doctor(repair=True))
    assert befores(reading_engine) == as_written


def test_a_model_without_tokens_reads_each_turn_alone(tmp_path: Path) -> None:
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=WordVectors()) as reading_engine:
        ids = reading_engine.remember_many([ana("one"), ana("two")]).stored
        reader = reading_engine.store.reader("default")
        space = reader.search.vector_space()
        assert space is not None
        assert not space.tokens
        rows = [reading_engine.get(id).row for id in ids]
        assert reader.search.token_vectors(space, [(row, 0) for row in rows]) == {}
        np.testing.assert_allclose(
            reader.search.vectors(space, rows)[rows[1]], WordVectors().embed(["Ana (8 May 2023): two"])[0], atol=1e-6
        )


@dataclass
class Broken(Recorder):
    """Cannot read any more once it is `off`."""

    off: bool = field(default=False)

    def __post_init__(self) -> None:
        super().__init__()

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        if self.off:
            raise fivefold.EmbedderError("the model went away")
        return super().read(passages, progress)


def test_forgetting_needs_no_model(tmp_path: Path) -> None:
    """Then the next turn has no vectors, rather than those of the forgotten text, until a repair."""
    model = Broken()
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=model) as reading_engine:
        ids = reading_engine.remember_many([ana("one"), ana("two"), ana("three")]).stored
        model.off = True
        reading_engine.forget(ids[0])
        assert {finding.check for finding in reading_engine.doctor() if not finding.ok} == {"vectors", "token vectors"}
        model.off = False
        assert all(finding.ok for finding in reading_engine.doctor(repair=True))
        assert befores(reading_engine) == {"two": "", "three": "two"}
