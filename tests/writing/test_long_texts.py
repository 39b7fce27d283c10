"""A text of any length is one memory: stored whole, read in passages, found, exported, edited and forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.models.embedders import Embedder
from fivefold.stores import open_store
from fivefold.text.passages import passage_spans
from fivefold.values.validate import MAX_CONTENT, MAX_EXTRACTED
from fivefold.writing.extract import beginning
from tests.conformance.vectors import WordTokens, WordVectors

PARAGRAPH = "The river sensor drifts when the water is cold, and Bertil writes down what it shows every hour."
END = "At the very end the zeppelin lands in Reykjavik."
BOOK = "\n\n".join([f"{number}. {PARAGRAPH}" for number in range(10_000)] + [END])
LETTER = "\n\n".join([f"{number}. {PARAGRAPH}" for number in range(30)] + [END])


@pytest.fixture(params=[WordTokens, WordVectors])
def model(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    return made


@pytest.fixture
def engine(tmp_path: Path, model: Embedder) -> Iterator[Engine]:
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=model) as made:
        yield made


def passage_count(engine: Engine, id: str) -> int:
    reader = engine.store.reader(engine.namespace)
    space, row = reader.search.vector_space(), engine.get(id).row
    assert space is not None
    vectors = reader.search.passage_vectors(space, [row]).get(row)
    count = 0 if vectors is None else len(vectors)
    if vectors is not None:
        mean = vectors.mean(axis=0)
        full = reader.search.vectors(space, [row])[row]
        np.testing.assert_allclose(full, mean / np.linalg.norm(mean), atol=1e-5)
    if space.tokens:
        parts = [(row, part) for part in range(count + 5)]
        assert len(reader.search.token_vectors(space, parts)) == max(1, count)
    return count


def found(engine: Engine) -> list[str]:
    return [hit.memory.id for hit in engine.recall("zeppelin Reykjavik", recipe="lexical")]


def test_a_book_is_one_memory(tmp_path: Path) -> None:
    assert len(BOOK) > 1_000_000
    with Engine(open_store(str(tmp_path / "memory.db")), embedder=WordTokens()) as engine:
        engine.remember_many([PARAGRAPH, {"content": BOOK, "id": "book"}, "The kettle is blue"])
        assert engine.get("book").content == BOOK
        assert passage_count(engine, "book") == len(passage_spans(BOOK))
        assert found(engine) == ["book"]
        assert len(engine.context("zeppelin Reykjavik", token_budget=500).text) < 5_000
        engine.export_jsonl(tmp_path / "memories.jsonl")
        with Engine(open_store(str(tmp_path / "copy.db")), embedder=WordVectors()) as copy:
            copy.import_jsonl(tmp_path / "memories.jsonl")
            assert copy.get("book").content == BOOK
            assert passage_count(copy, "book") == len(passage_spans(BOOK))
        engine.update("book", content=LETTER)
        assert (found(engine), passage_count(engine, "book")) == (["book"], len(passage_spans(LETTER)))
        engine.forget("book")
        assert found(engine) == []
        assert all(finding.ok for finding in engine.doctor())


def test_a_letter_becomes_short_and_long_again(engine: Engine) -> None:
    engine.remember(LETTER, id="letter")
    parts = passage_count(engine, "letter")
    assert parts == len(passage_spans(LETTER)) > 3
    engine.update("letter", content="A short note")
    assert passage_count(engine, "letter") == 0
    engine.update("letter", content=LETTER)
    assert passage_count(engine, "letter") == parts
    assert all(finding.ok for finding in engine.doctor())


def test_a_rebuild_and_a_move_keep_the_passages(engine: Engine) -> None:
    engine.remember(LETTER, id="letter")
    parts = passage_count(engine, "letter")
    engine.doctor(repair=True)
    assert passage_count(engine, "letter") == parts
    for choice in (WordVectors(48), WordTokens(48)):
        engine.reembed(choice)
        assert passage_count(engine, "letter") == parts
        assert all(finding.ok for finding in engine.doctor())


def test_long_parts_of_a_record_are_stored_whole(engine: Engine) -> None:
    engine.remember_many([{"user_text": "Tell me about the river", "assistant_text": LETTER, "id": "both"}])
    stored = engine.get("both")
    assert stored.assistant_text == LETTER
    assert stored.content == f"Tell me about the river\n{LETTER}"


def test_a_long_turn_in_a_talk(engine: Engine) -> None:
    turns = [("Ana", "How was the trip?"), ("Bea", LETTER), ("Ana", "I see")]
    ids = engine.remember_many([{"content": text, "speaker": who, "session_id": "s"} for who, text in turns]).stored
    assert engine.get(ids[0]).next_user_text == LETTER
    assert passage_count(engine, ids[1]) == len(passage_spans(LETTER))
    engine.forget(ids[1])
    assert found(engine) == []
    assert engine.get(ids[0]).next_user_text is None
    assert all(finding.ok for finding in engine.doctor())


def test_what_is_extracted_comes_from_the_beginning_of_a_long_text(engine: Engine) -> None:
    engine.remember(f"I live in Leeds. {'kettle ' * 20_000} My badge ID is E-47821.", id="long", speaker="user")
    assert {entity.name for entity in engine.graph.entities()} >= {"Leeds"}
    assert not engine.graph.entities("E-47821")
    assert engine.recall("E-47821", recipe="lexical")[0].memory.id == "long"


def test_the_beginning_ends_with_a_word() -> None:
    assert beginning("short") == "short"
    assert beginning("kettle " * 20_000).endswith("kettle")
    assert len(beginning("kettle " * 20_000)) <= MAX_EXTRACTED
    assert beginning("x" * 200_000) == "x" * MAX_EXTRACTED


def test_a_text_that_no_store_can_hold_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidInput, match=r"content has 100,000,001 characters, the most is 100,000,000; .* in parts"):
        engine.remember("x" * (MAX_CONTENT + 1))
    assert engine.stats().memories == 0
    with pytest.raises(fivefold.InvalidInput, match="the most is 100,000; make it shorter"):
        engine.recall("x" * 100_001)
