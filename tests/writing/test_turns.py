"""A turn is read with the one before it: when it is written, and again when that one changes, comes late or goes."""

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
from fivefold.text.passages import texts_to_embed
from fivefold.values.filters import Filter
from fivefold.values.vectors import FIELDS, Passage, Reading
from fivefold.writing.indexing import read_texts
from tests.conformance.vectors import WordTokens, WordVectors

AT = "2023-05-08T09:00:00Z"


class Recorder(WordTokens):
    """Notes what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.passages: list[Passage] = []

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        self.passages += passages
        return super().read(passages, progress)


def turn(content: str, **fields: object) -> dict[str, object]:
    return {"content": content, "session_id": "s", "speaker": "Ana", "event_at": AT, **fields}


@pytest.fixture
def model() -> Recorder:
    return Recorder()


@pytest.fixture
def engine(tmp_path: Path, model: Recorder) -> Iterator[Engine]:
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=model) as made:
        yield made


def befores(engine: Engine) -> dict[str, str]:
    """For each turn the one whose words its stored token vectors have, as far as a fresh reading agrees with them."""
    reader = engine.store.reader(engine.namespace)
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


def test_turns_of_one_batch_are_read_with_the_one_before(engine: Engine) -> None:
    engine.remember_many([turn("one"), turn("two"), turn("three"), "a note", turn("four")])
    assert befores(engine) == {"one": "", "two": "one", "three": "two", "four": "three"}


def test_turns_one_at_a_time_are_read_with_the_last_one_stored(engine: Engine) -> None:
    for content in ("one", "two", "three"):
        engine.remember(**turn(content))  # type: ignore[arg-type]
    assert befores(engine) == {"one": "", "two": "one", "three": "two"}


def test_a_text_without_any_token_is_complete(engine: Engine) -> None:
    engine.remember_many([turn("\U0001fae8" * 3), {"content": "\U0001fae8", "event_at": AT}])
    assert all(finding.ok for finding in engine.doctor())


def test_notes_and_other_sessions_are_not_read_along(engine: Engine, model: Recorder) -> None:
    engine.remember_many([turn("one"), "a note", turn("other", session_id="t"), turn("two")])
    befores_read = {passage.text.rpartition(" ")[2]: passage.before for passage in model.passages}
    assert befores_read == {"one": "", "note": "", "other": "", "two": "one"}


def test_the_order_in_the_session_counts_not_that_of_writing(engine: Engine) -> None:
    engine.remember_many([turn("two", turn_index=2), turn("zero", turn_index=0), turn("one", turn_index=1)])
    assert befores(engine) == {"zero": "", "one": "zero", "two": "one"}


def test_a_turn_that_comes_late_is_read_along_by_the_next_one(engine: Engine) -> None:
    engine.remember_many([turn("zero", turn_index=0), turn("four", turn_index=4)])
    engine.remember_many([turn("one", turn_index=1), turn("two", turn_index=2)])
    assert befores(engine) == {"zero": "", "one": "zero", "two": "one", "four": "two"}
    engine.remember_many([turn("six"), turn("three", turn_index=3)])
    assert befores(engine) == {"zero": "", "one": "zero", "two": "one", "three": "two", "four": "three", "six": "four"}


def test_turns_given_again_change_nothing(engine: Engine) -> None:
    engine.remember_many([turn("one"), turn("two")])
    engine.remember_many([turn("one"), turn("two"), turn("three")])
    assert befores(engine) == {"one": "", "two": "one", "three": "two"}
    engine.remember_many([turn("changed", id="x"), turn("five", id="y")])
    engine.remember_many([turn("another text", id="y"), turn("six", id="z")])
    assert befores(engine)["six"] == "five"


def test_a_forgotten_turn_leaves_nothing_in_the_next_one(engine: Engine) -> None:
    ids = engine.remember_many([turn("one"), turn("two"), turn("three")]).stored
    engine.forget(ids[1])
    assert befores(engine) == {"one": "", "three": "one"}
    engine.forget(ids[0])
    assert befores(engine) == {"three": ""}
    assert all(finding.ok for finding in engine.doctor())


def test_an_edited_turn_is_read_along_as_it_is_now(engine: Engine) -> None:
    ids = engine.remember_many([turn("one"), turn("two"), turn("three")]).stored
    engine.update(ids[1], content="second")
    assert befores(engine) == {"one": "", "second": "one", "three": "second"}
    engine.update(ids[2], tags=["odd"])
    assert befores(engine) == {"one": "", "second": "one", "three": "second"}


def test_the_reply_has_the_vector_of_the_turn_that_replies(engine: Engine) -> None:
    ids = engine.remember_many([turn("one"), turn("two", speaker="Bea"), turn("three")]).stored

    def replies() -> dict[str, str]:
        """Of each turn, the one by whose vector it is found as that of its reply."""
        reader = engine.store.reader(engine.namespace)
        turns = {memory.row: memory.content for memory in reader.sessions.turns("s")}
        space = reader.search.vector_space()
        assert space is not None
        found = {
            text: reader.search.dense(space, "next_user", vector, 9, Filter())
            for row, vector in reader.search.vectors(space, list(turns)).items()
            if (text := turns[row])
        }
        return {turns[hit.row]: text for text, hits in found.items() for hit in hits if hit.score > 0.9999}

    for change in (lambda: None, lambda: engine.update(ids[1], content="second"), lambda: engine.forget(ids[0])):
        change()
        assert replies() == {memory.content: memory.next_user_text for memory in with_reply(engine)}
        assert replies()


def with_reply(engine: Engine) -> list[fivefold.Memory]:
    turns = engine.store.reader(engine.namespace).sessions.turns("s")
    return [memory for memory in turns if memory.next_user_text]


def test_a_rebuild_and_a_move_read_as_a_write_does(engine: Engine) -> None:
    engine.remember_many([turn("one"), turn("two"), turn("three")])
    as_written = befores(engine)
    engine.reembed(WordVectors())
    engine.reembed(WordTokens())
    assert befores(engine) == as_written
    reader = engine.store.reader(engine.namespace)
    with engine.store.write(engine.namespace) as txn:
        for memory in reader.sessions.turns("s"):
            txn.vectors.drop_fields(memory.row, FIELDS, "active")
    assert not all(finding.ok for finding in engine.doctor())
    assert all(finding.ok for finding in engine.doctor(repair=True))
    assert befores(engine) == as_written


def test_a_model_without_tokens_reads_each_turn_alone(tmp_path: Path) -> None:
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=WordVectors()) as engine:
        ids = engine.remember_many([turn("one"), turn("two")]).stored
        reader = engine.store.reader("default")
        space = reader.search.vector_space()
        assert space is not None
        assert not space.tokens
        rows = [engine.get(id).row for id in ids]
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
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=model) as engine:
        ids = engine.remember_many([turn("one"), turn("two"), turn("three")]).stored
        model.off = True
        engine.forget(ids[0])
        assert {finding.check for finding in engine.doctor() if not finding.ok} == {"vectors", "token vectors"}
        model.off = False
        assert all(finding.ok for finding in engine.doctor(repair=True))
        assert befores(engine) == {"two": "", "three": "two"}
