"""The reader: its rows of tokens, relations and answers it must get right, and what its numbers do not depend on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.errors import ReaderError
from fivefold.models.bert import word_pieces
from fivefold.models.reader import FILE, MAX_TEXT_TOKENS, PairReader, Remark, SaidPair, pair_reader, token_rows
from tests.support.model_folder import with_model_file

MEMORIES = (
    Remark("Mia has a dog called Bruno.", "user"),
    Remark("The kettle broke on Monday.", "user"),
    Remark("Bought two tickets for the opera in June.", "user"),
    Remark("The user prefers tea to coffee in the morning.", "assistant"),
    Remark("We walked along the canal for hours and talked about her new job. " * 6, "user"),
)


@pytest.fixture(scope="module")
def reader() -> PairReader:
    return pair_reader()


def pair(older: str, newer: str) -> SaidPair:
    return SaidPair(Remark(older, "user"), Remark(newer, "user"))


def test_a_text_is_read_after_its_speaker() -> None:
    assert Remark("Hello.", " Agent ").line == Remark("Hello.", "assistant").line == "assistant: Hello."
    assert Remark("Hello.").line == Remark("Hello.", "USER").line == "user: Hello."
    assert Remark("Hello.", "Mia").line == "mia: Hello."


def test_a_row_has_both_texts_and_says_where_the_second_begins() -> None:
    pieces = word_pieces()
    ((row, newer),) = token_rows(pieces, [pair("I am here.", "I left.")])
    words = [list(pieces.vocabulary)[id] for id in row]
    assert words == "[CLS] user : i am here . [SEP] user : i left . [SEP]".split()
    assert words[newer:] == "user : i left . [SEP]".split()


def test_a_long_text_is_cut() -> None:
    ((row, newer),) = token_rows(word_pieces(), [pair("word " * 500, "word " * 500)])
    assert (len(row), newer) == (2 * MAX_TEXT_TOKENS + 3, MAX_TEXT_TOKENS + 2)


@pytest.mark.parametrize(
    ("older", "newer", "relation"),
    [
        ("I live in Leeds.", "I moved from Leeds to Bristol last week.", "replaces"),
        ("Our landlord is Mr Finch.", "We have a new landlord, Mrs Osei took over from Mr Finch.", "replaces"),
        ("I live in Leeds.", "Still living in Leeds and happy with it.", "continues"),
        ("I live in Leeds.", "The kettle broke on Monday.", "apart"),
    ],
)
def test_plain_relations(reader: PairReader, older: str, newer: str, relation: str) -> None:
    (found,) = reader.relations([pair(older, newer)])
    assert sum(found) == pytest.approx(1, abs=1e-4)
    assert found._asdict()[relation] == max(found)


def test_a_change_counts_in_one_direction(reader: PairReader) -> None:
    before, after = "I work at Nordwind.", "I left Nordwind and work at Brightline now."
    there, back = reader.relations([pair(before, after), pair(after, before)])
    assert there.replaces > back.replaces


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("What is the name of Mia's dog?", 0),
        ("which day did the kettle break", 1),
        ("How many tickets did I buy for the opera?", 2),
    ],
)
def test_the_memory_that_answers_has_the_highest_number(reader: PairReader, question: str, place: int) -> None:
    found = reader.answers(question, MEMORIES)
    assert found.shape == (len(MEMORIES),)
    assert int(found.argmax()) == place


def test_what_nothing_answers_has_a_lower_number(reader: PairReader) -> None:
    """The right person or thing, and another detail of it."""
    answered = reader.answers("What is the name of Mia's dog?", MEMORIES).max()
    assert reader.answers("What is the name of Mia's school?", MEMORIES).max() < answered


@settings(max_examples=5, deadline=None)
@given(st.permutations(range(len(MEMORIES))))
def test_the_order_of_the_memories_changes_nothing(reader: PairReader, order: list[int]) -> None:
    found = reader.answers("What is the name of Mia's dog?", MEMORIES)
    again = reader.answers("What is the name of Mia's dog?", [MEMORIES[i] for i in order])
    assert again.tolist() == found[order].tolist()


def test_nothing_to_read_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = PairReader()
    monkeypatch.setattr("fivefold.models.reader.FILE", "missing.onnx")
    assert fresh.relations([]) == []
    assert fresh.answers("Who?", []).shape == (0,)


@pytest.mark.parametrize("content", [None, b"", b"no graph"])
def test_a_file_that_is_missing_or_damaged_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    with_model_file(monkeypatch, tmp_path, FILE, content)
    with pytest.raises(ReaderError, match=f"{FILE} could not be loaded; install fivefold again"):
        PairReader().relations([pair("I live in Leeds.", "I moved.")])


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_word_pieces_that_are_missing_or_damaged_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    with_model_file(monkeypatch, tmp_path, "reader-vocab.txt", content)
    with pytest.raises(ReaderError, match=r"reader-vocab\.txt could not be loaded; install fivefold again"):
        PairReader().relations([pair("I live in Leeds.", "I moved.")])
