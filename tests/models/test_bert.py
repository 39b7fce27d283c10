"""Models of the BERT family: rows, cores, sessions and forks."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from fivefold.models.bert import CORES, MAX_TOKENS, Inputs, Session, row_inputs
from fivefold.models.embedders import Embedder, Matrix, unit
from fivefold.models.embedders.fivefold_minilm import FivefoldMiniLM
from fivefold.models.embedders.packages import MiniLM

# The two embedders of the BERT family: the default, tuned for memories, and MiniLM as published.


pytestmark = pytest.mark.slow

MIXED = [" ".join(["the river sensor drifts when the water is cold"] * n) + f" {n}" for n in (9, 1, 60, 3, 0, 25, 1, 2)]
OPENINGS = [
    f"{what} {i}" for i in range(60) for what in ("kettle", "the meeting with Priya moved to Thursday afternoon")
]


@pytest.fixture(scope="module", params=[FivefoldMiniLM, MiniLM])
def model(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    return made


def cosine(vectors: Matrix, one: int, other: int) -> float:
    return float(vectors[one] @ vectors[other])


def test_their_pins_and_dimensions_are_fixed() -> None:
    assert [(made.pin, made.dimension) for made in (FivefoldMiniLM, MiniLM)] == [
        ("fivefold-minilm@3", 384),
        ("minilm@1.0.0", 384),
    ]


def test_vectors_are_of_unit_length(model: Embedder) -> None:
    vectors = model.embed([*MIXED, "", "🎉", "我住在利兹", "\u200b"])
    assert vectors.shape == (12, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_same_texts_give_the_same_vectors(model: Embedder) -> None:
    """By another session, since what one session gave is kept for the tests."""
    other = type(model)()
    np.testing.assert_array_equal(model.embed(MIXED), other.embed(MIXED))
    np.testing.assert_array_equal(model.embed(MIXED[:1]), other.embed(MIXED[:1]))


def test_a_text_has_one_vector_alone_and_in_any_company(model: Embedder) -> None:
    """int8 takes its scale from all that is read at once, so texts are read one by one."""
    texts = [*MIXED, *OPENINGS]
    alone = np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_array_equal(alone, model.embed(texts))
    np.testing.assert_array_equal(alone[::-1], model.embed(texts[::-1]))


def test_progress_adds_up_to_the_texts(model: Embedder) -> None:
    done: list[int] = []
    model.embed(OPENINGS * 5, done.append)
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
def test_similar_sentences_are_closer_than_unrelated_ones(model: Embedder, text: str, like: str, unlike: str) -> None:
    vectors = model.embed([text, like, unlike])
    assert cosine(vectors, 0, 1) > cosine(vectors, 0, 2) + 0.1


def test_letter_case_and_accents_make_no_difference(model: Embedder) -> None:
    vectors = model.embed(["I moved to Zürich", "i moved to ZURICH"])
    assert cosine(vectors, 0, 1) > 0.9999


def test_a_long_text_is_cut_and_does_not_fail(model: Embedder) -> None:
    opening = "kettle " * (MAX_TOKENS - 2)
    vectors = model.embed([opening, opening + "volcano " * 5000])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(model.embed(["x" * 100_000])), 1, atol=1e-5)


def test_names_of_tokens_in_a_text_are_plain_text(model: Embedder) -> None:
    vectors = model.embed(["the kettle", "the kettle [SEP] [PAD] [MASK]"])
    assert cosine(vectors, 0, 1) < 0.999


def test_no_texts_give_no_vectors(model: Embedder) -> None:
    assert model.embed([]).shape == (0, 384)


def test_threads_share_one_model(model: Embedder) -> None:
    fresh = type(model)()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: fresh.embed([text])[0], MIXED * 2))
    alone = np.concatenate([model.embed([text]) for text in MIXED])
    np.testing.assert_allclose(np.stack(together), np.concatenate([alone, alone]), atol=1e-5)


def test_unit_scales_rows_and_leaves_zero_rows() -> None:
    scaled = unit(np.array([[3, 4], [0, 0], [0, -2]], dtype=np.float32))
    np.testing.assert_allclose(scaled, np.array([[0.6, 0.8], [0, 0], [0, -1]]), atol=1e-7)


# Models share the cores: no more runs at once than there are, whatever asks for them.


class Counting:
    """Stands for a model; knows how many runs were under way at once."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._go_on = threading.Event()

    def run(self, outputs: object, inputs: object) -> list[Any]:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self._go_on.wait(0.02)
        with self._lock:
            self._now -= 1
        return ["done"]


class Sums:
    """Stands for a model that adds up a row."""

    def run(self, outputs: object, inputs: Inputs) -> list[Any]:
        return [inputs["input_ids"].sum()]


def sums(lengths: Sequence[int]) -> list[int]:
    found = dict(Session(Sums()).run_each(["sum"], [row_inputs([1] * length) for length in lengths]))
    return [int(found[place][0]) for place in range(len(lengths))]


def test_no_more_runs_at_once_than_cores() -> None:
    model = Counting()
    session = Session(model)
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(session.run([], {}))) for _ in range(3 * (os.cpu_count() or 1))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["done"]] * len(threads)
    assert 1 <= model.most <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_fork_during_a_run_leaves_the_child_its_cores() -> None:
    with CORES.running:
        child = os.fork()
        if child == 0:
            got = [CORES.running.acquire(timeout=5) for _ in range(os.cpu_count() or 1)]
            os._exit(0 if all(got) else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_rows_come_back_in_their_place(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    monkeypatch.setattr(CORES, "parts", parts)
    for lengths in ([], [4], [9, 2, 7, 4, 30], [*range(50, 0, -1)]):
        assert sums(lengths) == lengths


def test_a_row_has_a_mask_and_says_where_its_second_text_begins() -> None:
    given = row_inputs([1, 7, 2, 8, 2], 3)
    assert given["input_ids"].tolist() == [[1, 7, 2, 8, 2]]
    assert given["attention_mask"].tolist() == [[1, 1, 1, 1, 1]]
    assert given["token_type_ids"].tolist() == [[0, 0, 0, 1, 1]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_forked_process_has_helpers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORES, "parts", 2)
    assert sums([1, 2]) == [1, 2]
    child = os.fork()
    if child == 0:
        os._exit(0 if sums([1, 2]) == [1, 2] else 1)
    assert os.waitpid(child, 0)[1] == 0
