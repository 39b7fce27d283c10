from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fivefold.embedders.base import Matrix, unit
from fivefold.embedders.minilm import MAX_TOKENS, MiniLM

MIXED = [" ".join(["the river sensor drifts when the water is cold"] * n) + f" {n}" for n in (9, 1, 60, 3, 0, 25, 1, 2)]
OPENINGS = [
    f"{what} {i}" for i in range(60) for what in ("kettle", "the meeting with Priya moved to Thursday afternoon")
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def cosine(vectors: Matrix, one: int, other: int) -> float:
    return float(vectors[one] @ vectors[other])


def test_its_pin_and_dimension_are_fixed(minilm: MiniLM) -> None:
    assert (minilm.pin, minilm.dimension) == ("minilm@1.0.0", 384)


def test_vectors_are_of_unit_length(minilm: MiniLM) -> None:
    vectors = minilm.embed([*MIXED, "", "🎉", "我住在利兹", "\u200b"])
    assert vectors.shape == (12, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_same_texts_give_the_same_vectors(minilm: MiniLM) -> None:
    np.testing.assert_array_equal(minilm.embed(MIXED), minilm.embed(MIXED))
    np.testing.assert_array_equal(minilm.embed(MIXED[:1]), MiniLM().embed(MIXED[:1]))


def test_texts_of_very_different_lengths_keep_their_order(minilm: MiniLM) -> None:
    texts = [*MIXED, *OPENINGS]
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    np.testing.assert_allclose(minilm.embed(texts), alone, atol=1e-2)


def test_progress_adds_up_to_the_texts(minilm: MiniLM) -> None:
    done: list[int] = []
    minilm.embed(OPENINGS * 5, done.append)
    assert sum(done) == len(OPENINGS) * 5
    assert len(done) > 1


@pytest.mark.parametrize(
    ("text", "like", "unlike"),
    [
        ("I live in Leeds", "My home is in Leeds", "The boiler needs a new valve"),
        ("Where do I work?", "I have a job at Halden Instruments", "Rhubarb grows best in shade"),
        ("The meeting is cancelled", "They called off the appointment", "She plays the violin"),
    ],
)
def test_similar_sentences_are_closer_than_unrelated_ones(minilm: MiniLM, text: str, like: str, unlike: str) -> None:
    vectors = minilm.embed([text, like, unlike])
    assert cosine(vectors, 0, 1) > cosine(vectors, 0, 2) + 0.1


def test_letter_case_and_accents_make_no_difference(minilm: MiniLM) -> None:
    vectors = minilm.embed(["I moved to Zürich", "i moved to ZURICH"])
    assert cosine(vectors, 0, 1) > 0.9999


def test_a_long_text_is_cut_and_does_not_fail(minilm: MiniLM) -> None:
    opening = "kettle " * (MAX_TOKENS - 2)
    vectors = minilm.embed([opening, opening + "volcano " * 5000, "x" * 100_000])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_names_of_tokens_in_a_text_are_plain_text(minilm: MiniLM) -> None:
    vectors = minilm.embed(["the kettle", "the kettle [SEP] [PAD] [MASK]"])
    assert cosine(vectors, 0, 1) < 0.999


def test_no_texts_give_no_vectors(minilm: MiniLM) -> None:
    assert minilm.embed([]).shape == (0, 384)


def test_threads_share_one_model(minilm: MiniLM) -> None:
    fresh = MiniLM()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: fresh.embed([text])[0], MIXED))
    np.testing.assert_allclose(np.stack(together), np.concatenate([minilm.embed([text]) for text in MIXED]), atol=1e-5)


def test_unit_scales_rows_and_leaves_zero_rows() -> None:
    scaled = unit(np.array([[3, 4], [0, 0], [0, -2]], dtype=np.float32))
    np.testing.assert_allclose(scaled, np.array([[0.6, 0.8], [0, 0], [0, -1]]), atol=1e-7)
