"""Models of the BERT family: batches, cores, sessions and forks."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
import pytest

from fivefold.models.bert import CORES, MAX_TOKENS, Ids, Inputs, Session, batches, rounds
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
        ("fivefold-minilm@2", 384),
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


def test_texts_of_very_different_lengths_keep_their_order(model: Embedder) -> None:
    """Alone or in company a text has nearly the same vector: int8 takes its scale from the whole batch."""
    texts = [*MIXED, *OPENINGS]
    alone, together = np.concatenate([model.embed([text]) for text in texts]), model.embed(texts)
    assert (together * alone).sum(axis=1).min() > 0.98
    assert (together @ alone.T).argmax(axis=1).tolist() == [texts.index(text) for text in texts]


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


def test_a_batch_holds_texts_of_like_length_and_few_tokens() -> None:
    lengths = [7, 300, 5, 6, 120, 5, 90, 40]
    grouped = batches(lengths, 256)
    assert sorted(chain.from_iterable(grouped)) == list(range(len(lengths)))
    assert [[lengths[i] for i in group] for group in grouped] == [[5, 5, 6, 7, 40], [90, 120], [300]]


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
    """Stands for a model that adds up each row."""

    def run(self, outputs: object, inputs: Inputs) -> list[Any]:
        return [inputs["ones"].sum(axis=1)]


def ones(lengths: Sequence[int]) -> dict[str, Ids]:
    return {"ones": np.array([[1] * length + [0] * (max(lengths) - length) for length in lengths])}


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


def test_rows_are_shared_out_and_come_back_in_their_place() -> None:
    lengths = [9, 2, 7, 4, 30]
    for most in (8, 30, 1_000):
        found = np.zeros(len(lengths), dtype=np.int64)
        for batch in Session(Sums()).run_rows(["sum"], lengths, lengths, most, ones):
            (found[batch.rows],) = batch.found
        assert found.tolist() == lengths


def test_few_rows_make_as_many_batches_as_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORES, "parts", 2)
    assert list(rounds([3, 1, 2], 100)) == [[[0], [1, 2]]]
    assert list(rounds([3], 100)) == [[[0]]]
    assert list(rounds([50, 50, 50], 50)) == [[[0], [1]], [[2]]]
    monkeypatch.setattr(CORES, "parts", 1)
    assert list(rounds([3, 1, 2], 100)) == [[[1, 2, 0]]]


def test_rows_that_fit_into_one_round_are_shared_out_by_their_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fourteen memories of about seventy tokens are a little too long for one batch; two runs then take half each."""
    monkeypatch.setattr(CORES, "parts", 2)
    lengths = [67, 68, 83, 64, 41, 73, 65, 70, 71, 28, 69, 48, 62, 76]
    ((first, second),) = rounds(lengths, 1_024)
    assert sorted(first + second) == list(range(14))
    costs = sorted(len(batch) * max(lengths[i] for i in batch) for batch in (first, second))
    assert costs[1] <= 1.1 * costs[0]


def test_a_long_row_among_many_short_ones_makes_no_batch_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORES, "parts", 4)
    lengths = [3] * 680 + [256]
    found = [batch for batches in rounds(lengths, 2_048) for batch in batches]
    assert sorted(i for batch in found for i in batch) == list(range(681))
    assert max(len(batch) * max(lengths[i] for i in batch) for batch in found) <= 2_048


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_forked_process_has_helpers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORES, "parts", 2)
    assert len(list(Session(Sums()).run_rows(["sum"], [1, 2], [1, 2], 1, ones))) == 2
    child = os.fork()
    if child == 0:
        read = list(Session(Sums()).run_rows(["sum"], [1, 2], [1, 2], 1, ones))
        os._exit(0 if len(read) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
