"""Long texts in passages: nothing is lost, nothing is read twice, and a number finds a passage again."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.text.passages import (
    MAX_BEFORE_CHARACTERS,
    MAX_READ_CHARACTERS,
    PASSAGE_CHARACTERS,
    end_of,
    passage_span,
    passage_spans,
    passages_of,
    texts_to_embed,
)
from fivefold.values.memory import Memory, record_of
from fivefold.values.times import spoken_date
from fivefold.values.vectors import Passage
from fivefold.writing.draft import draft
from fivefold.writing.extract import extractor

AT = datetime(2023, 5, 8, 9, tzinfo=UTC)
SENTENCE = "The river sensor drifts when the water is cold. "
PARAGRAPH = (SENTENCE * 5).strip() + "\n\n"


def memory(content: str, **fields: object) -> Memory:
    return draft(record_of({"content": content, "event_at": AT, **fields}), "default", extractor("rules"), AT).memory


def texts(content: str) -> list[str]:
    return [content[start:end] for start, end in passage_spans(content)]


@given(st.text(st.sampled_from("ab .\n?é東\u3000🎉"), max_size=4_000).map(str.strip), st.integers(0, 3))
def test_passages_cover_a_text_in_their_order(piece: str, times: int) -> None:
    content = (piece * times).strip()
    spans = passage_spans(content)
    assert "".join("".join(texts(content)).split()) == "".join(content.split())
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert [passage_span(content, part) for part in range(len(spans))] == spans


def test_a_text_that_is_read_at_once_is_one_passage() -> None:
    for content in ("", "kettle", "x" * MAX_READ_CHARACTERS, SENTENCE * 20):
        assert texts(content) == [content]


def test_passages_end_with_paragraphs_sentences_or_words() -> None:
    paragraphs = texts((PARAGRAPH * 20).strip())
    assert len(paragraphs) > 4
    assert all(text.endswith("cold.") and text.startswith("The river") for text in paragraphs)
    assert {text.count("\n\n") for text in paragraphs} <= {1, 2, 3}
    sentences = texts((SENTENCE * 100).strip())
    assert all(text.endswith("cold.") for text in sentences)
    assert set(" ".join(texts("kettle " * 1_000)).split()) == {"kettle"}
    assert "".join(texts("x" * 5_000)) == "x" * 5_000


def test_passages_are_of_about_equal_length() -> None:
    for content in ("kettle " * 144, SENTENCE * 300, "x" * 20_001, PARAGRAPH * 77):
        lengths = [len(text) for text in texts(content.strip())]
        assert max(lengths) <= 1.2 * PASSAGE_CHARACTERS
        assert min(lengths) >= 0.4 * PASSAGE_CHARACTERS


def test_scripts_that_are_read_letter_by_letter_have_shorter_passages() -> None:
    assert texts("我住在利兹。" * 40) == ["我住在利兹。" * 40]
    chinese = texts("我住在利兹。" * 400)
    assert all(len(text) <= 1.2 * PASSAGE_CHARACTERS / 4 for text in chinese)
    assert all(text.endswith("。") for text in chinese)


def test_a_gap_of_spaces_is_no_passage() -> None:
    assert texts("kettle" + " " * 5_000 + "volcano") == ["kettle", "volcano"]


def test_each_passage_carries_speaker_and_date_and_what_stands_before_it() -> None:
    said = memory((SENTENCE * 60).strip(), speaker="Caroline")
    first, *others = passages_of(said, "What about the sensor?")
    assert first.before == "What about the sensor?"
    for one, other in zip([first, *others], others, strict=False):
        assert other.text.startswith("Caroline (8 May 2023): The river")
        assert one.text.endswith(other.before)
        assert 0 < len(other.before) <= MAX_BEFORE_CHARACTERS


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("short", "short"),
        ("w " + "kettle " * 99, "kettle " * 42),
        ("東" * 999, "東" * MAX_BEFORE_CHARACTERS),
        ("x" * 999, "x" * MAX_BEFORE_CHARACTERS),
    ],
)
def test_the_end_of_a_text_begins_with_a_word(text: str, end: str) -> None:
    assert end_of(text) == end


def test_a_part_equal_to_the_content_is_the_same_passages() -> None:
    both = texts_to_embed(
        memory("rye flour", user_text="rye flour", assistant_text="tea"), {}, "What do you bake with?"
    )
    assert both["user"] is both["full"]
    assert both["full"] == (Passage(f"{spoken_date(AT)} rye flour", "What do you bake with?"),)
    assert both["assistant"] == (Passage(f"{spoken_date(AT)} tea"),)
