from __future__ import annotations

import socket
from importlib.metadata import version

import numpy as np
import pytest

from fivefold.models.embedders import Matrix
from fivefold.models.embedders.packages import WordLlama

TEXTS = [" ".join(["the river sensor drifts when the water is cold"] * n) + f" {n}" for n in (9, 1, 60, 3, 0, 25, 1, 2)]


@pytest.fixture(scope="module")
def wordllama() -> WordLlama:
    return WordLlama()


def cosine(vectors: Matrix, one: int, other: int) -> float:
    return float(vectors[one] @ vectors[other])


def test_its_pin_names_the_version_of_its_vectors(wordllama: WordLlama) -> None:
    name, _, pinned = wordllama.pin.partition("@")
    assert name == "wordllama"
    assert version("wordllama").startswith(pinned)
    assert ".post" not in pinned


def test_vectors_are_of_unit_length(wordllama: WordLlama) -> None:
    vectors = wordllama.embed([*TEXTS, "🎉", "我住在利兹"])
    assert vectors.shape == (10, wordllama.dimension) == (10, 256)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_an_empty_text_has_a_finite_vector(wordllama: WordLlama) -> None:
    vectors = wordllama.embed(["", "kettle"])
    assert np.isfinite(vectors).all()


def test_the_same_texts_give_the_same_vectors(wordllama: WordLlama) -> None:
    np.testing.assert_array_equal(wordllama.embed(TEXTS), wordllama.embed(TEXTS))
    np.testing.assert_array_equal(wordllama.embed(TEXTS), WordLlama().embed(TEXTS))


def test_texts_of_very_different_lengths_keep_their_order(wordllama: WordLlama) -> None:
    texts = [*TEXTS, *(f"kettle {i}" for i in range(200))]
    alone = np.concatenate([wordllama.embed([text]) for text in texts])
    np.testing.assert_allclose(wordllama.embed(texts), alone, atol=1e-2)


def test_progress_adds_up_to_the_texts(wordllama: WordLlama) -> None:
    done: list[int] = []
    wordllama.embed(TEXTS, done.append)
    assert sum(done) == len(TEXTS)


@pytest.mark.parametrize(
    ("text", "like", "unlike"),
    [
        ("I live in Leeds", "My home is in Leeds", "The boiler needs a new valve"),
        ("The dog barked at the cat", "A kitten and a puppy", "Invoices are due in April"),
        ("The doctor prescribed a medicine", "Ask the pharmacy for the drug", "She tunes the guitar"),
    ],
)
def test_similar_sentences_are_closer_than_unrelated_ones(
    wordllama: WordLlama, text: str, like: str, unlike: str
) -> None:
    vectors = wordllama.embed([text, like, unlike])
    assert cosine(vectors, 0, 1) > cosine(vectors, 0, 2) + 0.1


def test_a_long_text_does_not_fail(wordllama: WordLlama) -> None:
    vectors = wordllama.embed(["kettle " * 14_000, "x" * 100_000])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors(wordllama: WordLlama) -> None:
    assert wordllama.embed([]).shape == (0, 256)


def test_loading_and_embedding_make_no_network_call(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def refuse(*_: object, **__: object) -> None:
        called.append("network")
        raise OSError("no network in this test")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert WordLlama().embed(["kettle"]).shape == (1, 256)
    assert called == []
