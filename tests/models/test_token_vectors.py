"""Token vectors: how passages are read and how vectors are packed and compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fivefold.errors import EmbedderError
from fivefold.models.bert import MAX_TOKENS
from fivefold.models.embedders import (
    BLOCK_TOKENS,
    Progress,
    best_matches,
    gives_tokens,
    pack,
    packed_size,
    read_passages,
    read_question,
    similarities,
    unpack,
)
from fivefold.models.embedders.fivefold_minilm import BEFORE_TOKENS, SKIPPED_WORDS, FivefoldMiniLM, PassageTokenizer
from fivefold.values.vectors import Matrix, Passage, QuestionReading, Reading
from tests.conformance.vectors import WordVectors

# One pass of the default model: a passage's vector and its token vectors, a question's tokens with their weights.


WIDTH = 64
MOVE = Passage("Priya (7 May 2023): I finally moved to Lisbon, the flat isn't ablaze!", "Where do you live now? Hmm.")
PASSAGES = [
    MOVE,
    Passage(MOVE.text),
    Passage("Bertil bakes with rye flour. " * 30, "What is for lunch? " * 40),
    Passage(""),
    Passage("?!"),
    Passage("我住在利兹 🎉", "\u200b"),
    Passage("x" * 50_000, "y" * 50_000),
]


@pytest.fixture(scope="module")
def model() -> FivefoldMiniLM:
    return FivefoldMiniLM()


def words(model: FivefoldMiniLM, passage: Passage) -> tuple[list[str], list[str]]:
    """The stored tokens as they are written: those of the text, and those of the text before."""
    own: list[str] = []
    before: list[str] = []
    for (start, end), of_before in model.spans(passage):
        (before if of_before else own).append((passage.before if of_before else passage.text)[start:end])
    return own, before


def test_function_words_and_punctuation_have_no_token_vectors(model: FivefoldMiniLM) -> None:
    own, before = words(model, MOVE)
    assert own == ["", *"Pri ya 7 May 202 3 I finally moved Lisbon flat isn ab laze".split()]
    assert before == ["Where", "you", "live", "now", "Hmm"]


@pytest.mark.parametrize("word", ["I", "you", "we", "they", "she", "he", "not", "no", "who", "when", "May", "Will"])
def test_words_that_answer_a_question_have_one(model: FivefoldMiniLM, word: str) -> None:
    assert words(model, Passage(f"the {word} of it"))[0] == ["", word]


def test_a_word_that_begins_like_a_skipped_one_has_one(model: FivefoldMiniLM) -> None:
    assert words(model, Passage("ablaze was the ablaze"))[0] == ["", "ab", "laze", "ab", "laze"]
    assert words(model, Passage(" ".join(SKIPPED_WORDS)))[0] == [""]


def test_there_is_one_stored_vector_for_each_span(model: FivefoldMiniLM) -> None:
    for passage, reading in zip(PASSAGES, model.read(PASSAGES), strict=True):
        assert len(reading.tokens) == len(model.spans(passage)) * packed_size(WIDTH)
        vectors = unpack(reading.tokens, WIDTH)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=0.1)
        np.testing.assert_allclose(np.linalg.norm(reading.vector), 1, atol=1e-5)


def test_spans_of_a_long_text_before_count_from_its_beginning(model: FivefoldMiniLM) -> None:
    passage = Passage("Yes.", "kettle " * 500 + "volcano")
    own, before = words(model, passage)
    assert own == ["", "Yes"]
    assert before == ["kettle"] * (BEFORE_TOKENS - 1) + ["volcano"]


def test_what_was_said_before_is_no_part_of_the_vector_but_changes_it(model: FivefoldMiniLM) -> None:
    alone, asked, other = model.read([Passage("Lisbon"), Passage("Lisbon", "Where do you live?"), Passage("A kettle")])
    assert 0.999 > float(alone.vector @ asked.vector) > float(alone.vector @ other.vector)
    assert len(asked.tokens) > len(alone.tokens)
    np.testing.assert_allclose(alone.vector, model.embed(["Lisbon"])[0], atol=0.02)


def test_a_row_is_never_longer_than_the_model_reads() -> None:
    pieces = PassageTokenizer()
    for before, own in (("", MAX_TOKENS), ("kettle " * 99, MAX_TOKENS - BEFORE_TOKENS - 1)):
        (row,) = pieces.rows([Passage("volcano " * 999, before)])
        assert (len(row.ids), row.own, len(row.spans)) == (MAX_TOKENS, own, MAX_TOKENS)


@pytest.mark.slow
def test_a_passage_reads_nearly_the_same_alone_and_among_others(model: FivefoldMiniLM) -> None:
    together = model.read(PASSAGES * 20)
    for passage, reading in zip(PASSAGES, together, strict=False):
        (alone,) = model.read([passage])
        assert float(alone.vector @ reading.vector) > 0.98
        assert len(alone.tokens) == len(reading.tokens)


@pytest.mark.slow
def test_progress_of_reading_adds_up(model: FivefoldMiniLM) -> None:
    done: list[int] = []
    model.read(PASSAGES * 20, done.append)
    assert sum(done) == len(PASSAGES) * 20
    assert len(done) > 1
    assert model.read([]) == []


def test_the_weights_of_a_question_add_up_to_one(model: FivefoldMiniLM) -> None:
    question = "Where did Priya move?"
    read = model.read_question(question)
    assert [question[start:end] for start, end in read.spans] == ["", "Where", "did", "Pri", "ya", "move", "?", ""]
    assert read.tokens.shape == (8, WIDTH)
    assert float(read.weights.sum()) == pytest.approx(1)
    assert read.weights.min() > 0
    np.testing.assert_allclose(np.linalg.norm(read.tokens, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(read.vector, model.embed([question])[0], atol=1e-5)


def test_the_passage_that_answers_matches_best(model: FivefoldMiniLM) -> None:
    texts = ["Priya moved to Lisbon", "Bertil bakes with rye flour", "The spare key hangs behind the door"]
    stored = [reading.tokens for reading in model.read([Passage(text) for text in texts])]
    for answer, question in enumerate(("Where does Priya live?", "Which flour for bread?", "Where is the key?")):
        read = model.read_question(question)
        assert int((best_matches(read.tokens, stored) @ read.weights).argmax()) == answer


def test_an_embedder_without_tokens_reads_only_the_text() -> None:
    model = WordVectors()
    assert not gives_tokens(model)
    one, other, third = read_passages(model, [Passage("rye flour", "lunch?"), Passage("rye flour"), Passage("kettle")])
    np.testing.assert_array_equal(one.vector, other.vector)
    assert one.tokens == other.tokens == third.tokens == b""
    read = read_question(model, "rye flour")
    np.testing.assert_allclose(read.vector, one.vector, atol=1e-6)
    assert (read.tokens.shape, read.weights.shape, read.spans) == ((0, 0), (0,), ())
    assert read_passages(model, []) == read_passages(FivefoldMiniLM(), []) == []


class Careless(WordVectors):
    """Gives one reading too few, vectors of any length, and more weights than tokens."""

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        return [Reading(7 * vector) for vector in self.embed([passage.text for passage in passages][1:] or ["x"])]

    def read_question(self, question: str) -> QuestionReading:
        tokens: Matrix = self.embed([question])
        return QuestionReading(tokens[0] * 3, tokens, np.ones(2, dtype=np.float32), ((0, 1),))

    def spans(self, passage: Passage) -> list[tuple[tuple[int, int], bool]]:
        return []


def test_readings_are_checked() -> None:
    model = Careless()
    with pytest.raises(EmbedderError, match="gave 1 readings for 2 passages"):
        read_passages(model, [Passage("a"), Passage("b")])
    with pytest.raises(EmbedderError, match="gave 1 tokens, 2 weights and 1 spans"):
        read_question(model, "what?")
    (reading,) = read_passages(model, [Passage("a")])
    np.testing.assert_allclose(np.linalg.norm(reading.vector), 1, atol=1e-6)


# Token vectors in four bits: near the originals, and matched without unpacking one by one.


DIMENSION = 64


def unit_rows(count: int, seed: int = 0) -> Matrix:
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_a_token_takes_four_bits_a_dimension_and_one_byte() -> None:
    assert packed_size(DIMENSION) == 33
    assert len(pack(unit_rows(5))) == 5 * 33


def test_what_is_unpacked_is_near_what_was_packed() -> None:
    rows = unit_rows(500)
    again = unpack(pack(rows), DIMENSION)
    assert ((rows * again).sum(axis=1) / np.linalg.norm(again, axis=1)).min() > 0.985
    assert np.abs(rows - again).max() < 0.06


@pytest.mark.parametrize("row", [np.zeros(DIMENSION), np.eye(DIMENSION)[3], -np.eye(DIMENSION)[40]])
def test_extreme_rows_survive(row: Matrix) -> None:
    rows = row[None].astype(np.float32)
    assert np.allclose(unpack(pack(rows), DIMENSION), rows, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, BLOCK_TOKENS - 1, BLOCK_TOKENS, BLOCK_TOKENS + 1, 3 * BLOCK_TOKENS + 7])
def test_similarities_are_those_of_the_unpacked_vectors(count: int) -> None:
    packed, question = pack(unit_rows(count)), unit_rows(9, seed=1)
    expected = unpack(packed, DIMENSION) @ question.T
    assert np.allclose(similarities(question, packed), expected, atol=1e-5)


def test_each_passage_has_its_own_best_matches() -> None:
    question = unit_rows(6, seed=2)
    passages = [unit_rows(count, seed=count) for count in (4, 1, 30)]
    packed = [pack(rows) for rows in passages]
    expected = [(unpack(one, DIMENSION) @ question.T).max(axis=0) for one in packed]
    assert np.allclose(best_matches(question, packed), expected, atol=1e-5)


def test_a_passage_without_tokens_matches_nothing() -> None:
    question, filled = unit_rows(3), pack(unit_rows(7, seed=3))
    found = best_matches(question, [b"", filled, b""])
    assert not found[0].any()
    assert not found[2].any()
    assert np.allclose(found[1], best_matches(question, [filled])[0])
    assert best_matches(question, []).shape == (0, 3)
    assert not best_matches(question, [b""]).any()
