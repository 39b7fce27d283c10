from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest

from fivefold.errors import EmbedderError
from fivefold.models.embedders import embedder
from fivefold.models.embedders.packages import OpenAI

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
    monkeypatch.setattr("fivefold.models.remote.ATTEMPTS", 3)
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
