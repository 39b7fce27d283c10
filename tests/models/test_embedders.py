"""Embedders: how they are chosen, the default one, WordLlama, and one on a server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.errors import EmbedderError, InvalidInput, MissingExtra
from fivefold.models import bert
from fivefold.models.embedders import DEFAULT, Matrix, choice_of, embedder
from fivefold.models.embedders.fivefold_minilm import FILE, FivefoldMiniLM
from fivefold.models.embedders.packages import MiniLM, OpenAI, WordLlama
from tests.support.model_folder import with_model_file


@pytest.mark.parametrize(
    "choice", ["", "minilm2", "MiniLM", "minilm:large", "wordllama:x", "openai", "openai:", "fastembed", ":x"]
)
def test_an_unknown_name_is_refused_and_the_known_ones_listed(choice: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        embedder(choice)
    message = str(caught.value)
    assert message.startswith(f"unknown embedder {choice!r}; known are ")
    for known in (
        "fivefold-minilm",
        "minilm",
        "wordllama",
        "fastembed:NAME",
        "sentence-transformers:NAME",
        "openai:NAME",
    ):
        assert known in message


@pytest.mark.parametrize("extra", ["fastembed", "sentence-transformers"])
def test_a_choice_without_its_package_names_the_extra_to_install(extra: str) -> None:
    with pytest.raises(MissingExtra, match=rf"{extra}:some/model needs .* pip install 'fivefold\[{extra}\]'"):
        embedder(f"{extra}:some/model")


@pytest.mark.parametrize(
    "choice", ["fivefold-minilm", "minilm", "wordllama", "openai:some-model", "openai:name@2024:beta"]
)
def test_the_choice_is_the_pin_without_its_version(choice: str) -> None:
    pin = embedder(choice).pin
    assert pin.startswith(f"{choice}@")
    assert choice_of(pin) == choice
    assert embedder(choice_of(pin)).pin == pin


@pytest.mark.parametrize("choice", ["fivefold-minilm", "minilm", "wordllama", "openai:some-model"])
def test_one_object_serves_each_choice(choice: str) -> None:
    assert embedder(choice) is embedder(choice)


def test_different_choices_are_different_objects() -> None:
    assert embedder("openai:one") is not embedder("openai:other")
    assert embedder("openai:one").pin != embedder("openai:other").pin


def test_the_default_works_offline_and_is_known() -> None:
    assert DEFAULT == "fivefold-minilm"
    assert embedder(DEFAULT).pin.startswith("fivefold-minilm@")


def test_a_package_that_is_not_there_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.models.embedders.packages.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"minilm needs .* pip install 'fivefold\[minilm\]'"):
        MiniLM()


@pytest.mark.parametrize(("choice", "dimension"), [("fivefold-minilm", 384), ("minilm", 384), ("wordllama", 256)])
def test_the_dimension_is_that_of_the_vectors(choice: str, dimension: int) -> None:
    model = embedder(choice)
    assert model.dimension == model.embed(["kettle"]).shape[1] == dimension


# The default embedder: what a damaged install does, and namespaces that stay with the model they began with.


TOLD = ["The kettle in the kitchen is red", "Bertil bakes with rye flour", "The spare key hangs behind the door"]


@pytest.mark.parametrize("data", [None, b"", b"no graph at all", b"\x08\x09" * 500])
def test_a_missing_or_damaged_file_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes | None
) -> None:
    with_model_file(monkeypatch, tmp_path, FILE, data)
    with pytest.raises(EmbedderError, match=rf"{FILE} could not be loaded; install fivefold again"):
        FivefoldMiniLM().embed(["kettle"])


def test_a_damaged_file_leaves_the_answer_by_words(
    engine: Engine, store_path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine.remember_many(TOLD)
    (tmp_path / "models").mkdir()
    with_model_file(monkeypatch, tmp_path / "models", FILE, b"no graph at all")
    with fivefold.open(store_path, embedder=FivefoldMiniLM()) as broken:
        answer = broken.recall("where is the spare key?")
        with pytest.raises(EmbedderError, match="install fivefold again"):
            broken.remember("The boiler was mended")
    assert answer[0].memory.content == TOLD[2]
    assert answer.degraded == ("dense", "late")
    assert all("install fivefold again" in run.reason for run in answer.routes if run.status == "failed")


def test_missing_word_pieces_leave_the_answer_by_words(
    engine: Engine, store_path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine.remember_many(TOLD)
    (tmp_path / "models").mkdir()
    with_model_file(monkeypatch, tmp_path / "models", "bert-uncased-vocab.txt", None)
    assert bert.whole_words.__wrapped__() == {}
    with fivefold.open(store_path, embedder=FivefoldMiniLM()) as broken:
        answer = broken.recall("where is the spare key?")
        with pytest.raises(EmbedderError, match=r"bert-uncased-vocab\.txt could not be loaded; install fivefold again"):
            broken.remember("The boiler was mended")
    assert answer[0].memory.content == TOLD[2]
    assert answer.degraded == ("dense", "late")


def test_a_namespace_pinned_to_minilm_stays_with_it(store_path: str) -> None:
    with fivefold.open(store_path, embedder="minilm") as engine:
        engine.remember_many(TOLD)
    with fivefold.open(store_path) as engine:
        assert engine.stats().embedder == "minilm@1.0.0"
        engine.remember("Priya moved to Lisbon")
        for question, wanted in (("what colour is the kettle?", TOLD[0]), ("Lisbon", "Priya moved to Lisbon")):
            answer = engine.recall(question)
            assert answer.embedder == "minilm@1.0.0"
            assert answer[0].memory.content == wanted
            assert not answer.degraded
    with fivefold.open(store_path, namespace="new") as engine:
        engine.remember(TOLD[0])
        assert engine.stats().embedder == "fivefold-minilm@3"


def test_a_namespace_can_move_from_minilm_to_the_default(store_path: str) -> None:
    with fivefold.open(store_path, embedder="minilm") as engine:
        engine.remember_many(TOLD)
        assert engine.reembed("fivefold-minilm") == "fivefold-minilm@3"
        assert engine.recall("spare key")[0].memory.content == TOLD[2]
    with fivefold.open(store_path) as engine:
        assert engine.recall("spare key").embedder == "fivefold-minilm@3"
        assert all(finding.ok for finding in engine.doctor())


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


pytestmark = pytest.mark.slow


def vector_of(text: str) -> list[float]:
    """A vector that tells its text apart: its number and a constant."""
    return [float(text.rpartition(" ")[2]), 1.0, 0.0]


def vectors(body: dict[str, Any]) -> dict[str, Any]:
    """One vector a text, told in reverse order."""
    data = [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(body["input"])]
    return {"data": data[::-1]}


class Endpoint:
    """An embeddings endpoint on a free local port; fails as often as told, then answers."""

    def __init__(self) -> None:
        self.failures: list[tuple[int, str]] = []
        self.answer: Callable[[dict[str, Any]], Any] = vectors
        self.asked: list[tuple[str, str | None, dict[str, Any]]] = []
        self.pauses: list[float] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append((self.path, self.headers["Authorization"], body))
                if endpoint.failures:
                    status, text = endpoint.failures.pop(0)
                else:
                    status, text = 200, json.dumps(endpoint.answer(body))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Keep the test output quiet."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    made = Endpoint()
    monkeypatch.setenv("OPENAI_BASE_URL", made.url + "/")
    monkeypatch.setenv("OPENAI_API_KEY", "local-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("fivefold.models.remote.MAX_ATTEMPTS", 3)
    monkeypatch.setattr("fivefold.models.remote.time.sleep", made.pauses.append)
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def numbered(count: int) -> list[str]:
    return [f"text {i}" for i in range(count)]


def test_vectors_come_in_the_order_of_the_texts_at_unit_length(endpoint: Endpoint) -> None:
    got = OpenAI("small").embed(["text 4", "text 0", "text 2"])
    expected = np.array([[4, 1, 0], [0, 1, 0], [2, 1, 0]]) / np.sqrt([[17], [1], [5]])
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_the_request_names_model_key_and_texts(endpoint: Endpoint) -> None:
    OpenAI("small").embed(["text 1"])
    assert endpoint.asked == [("/v1/embeddings", "Bearer local-key", {"model": "small", "input": ["text 1"]})]


def test_many_texts_are_sent_in_batches_and_keep_their_order(endpoint: Endpoint) -> None:
    done: list[int] = []
    got = OpenAI("small").embed(numbered(300), done.append)
    assert [len(body["input"]) for _, _, body in endpoint.asked] == done == [128, 128, 44]
    np.testing.assert_allclose(got[:, 0] / got[:, 1], np.arange(300), rtol=1e-4)


def test_the_dimension_is_that_of_the_answer_and_asked_for_once(endpoint: Endpoint) -> None:
    endpoint.answer = lambda body: {"data": [{"index": i, "embedding": [3, 4]} for i in range(len(body["input"]))]}
    model = OpenAI("small")
    assert (model.dimension, model.dimension) == (2, 2)
    assert len(endpoint.asked) == 1


def test_no_texts_give_no_vectors_and_no_error(endpoint: Endpoint) -> None:
    assert len(OpenAI("small").embed([])) == 0


def test_a_busy_server_is_asked_again_after_growing_pauses(endpoint: Endpoint) -> None:
    endpoint.failures = [(429, "slow down"), (500, "oops")]
    assert OpenAI("small").embed(["text 1"]).shape == (1, 3)
    assert len(endpoint.asked) == 3
    assert len(endpoint.pauses) == 2
    assert 0 < endpoint.pauses[0] < endpoint.pauses[1]


def test_a_server_that_stays_busy_is_given_up_with_its_words(endpoint: Endpoint) -> None:
    endpoint.failures = [(503, "closed for tea")] * 9
    with pytest.raises(EmbedderError, match=r"openai:small gave no vectors.*HTTP 503: closed for tea"):
        OpenAI("small").embed(["text 1"])
    assert len(endpoint.asked) == 3


def test_a_refusal_is_told_at_once(endpoint: Endpoint) -> None:
    endpoint.failures = [(401, "bad key")]
    with pytest.raises(EmbedderError, match=r"openai:small gave no vectors.*HTTP 401: bad key"):
        OpenAI("small").embed(["text 1"])
    assert (len(endpoint.asked), endpoint.pauses) == (1, [])


def test_a_refusal_without_a_key_says_which_to_set(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    endpoint.failures = [(401, "no key")]
    with pytest.raises(EmbedderError, match="OPENAI_API_KEY is not set"):
        OpenAI("small").embed(["text 1"])
    assert endpoint.asked[0][1] is None


@pytest.mark.parametrize("given", [0, 1, 3])
def test_a_wrong_number_of_vectors_is_told(endpoint: Endpoint, given: int) -> None:
    endpoint.answer = lambda _: {"data": [{"index": i, "embedding": [1.0]} for i in range(given)]}
    with pytest.raises(EmbedderError, match=f"openai:small gave {given} vectors for 2 texts"):
        OpenAI("small").embed(["text 1", "text 2"])


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"data": None},
        {"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]},
        {"data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": None}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]},
        [],
        None,
        "text",
    ],
)
def test_an_answer_of_another_shape_is_an_embedder_error(endpoint: Endpoint, answer: object) -> None:
    endpoint.answer = lambda _: answer
    with pytest.raises(EmbedderError, match="openai:small"):
        OpenAI("small").embed(["text 1", "text 2"])


def test_batches_of_different_width_are_an_embedder_error(endpoint: Endpoint) -> None:
    def widening(body: dict[str, Any]) -> dict[str, Any]:
        width = len(endpoint.asked) + 1
        return {"data": [{"index": i, "embedding": [1.0] * width} for i in range(len(body["input"]))]}

    endpoint.answer = widening
    with pytest.raises(EmbedderError, match="openai:small"):
        OpenAI("small").embed(numbered(200))


@pytest.mark.parametrize("url", ["http://127.0.0.1:notaport/v1", "127.0.0.1/v1", "ftp://127.0.0.1"])
def test_an_address_that_is_none_is_an_embedder_error(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(EmbedderError, match="openai:small"):
        OpenAI("small").embed(["text 1"])


def test_the_choice_gives_this_embedder_under_its_pin() -> None:
    assert embedder("openai:some-model").pin == "openai:some-model@1"
