"""Hosted rerankers against a real local server: their three shapes, and every way a server can fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fivefold.errors import MissingExtra, RerankerError
from fivefold.models.rerankers import Hosted, reranker
from fivefold.values.vectors import Passage
from tests.support.rerank_service import SHAPES, Service, serving

pytestmark = pytest.mark.slow

every_service = pytest.mark.parametrize("name", list(SHAPES))


@pytest.fixture
def name() -> str:
    return "cohere"


@pytest.fixture
def service(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with serving(SHAPES[name][0]) as made:
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", made.url + "/")
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "local-key")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield made


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, taken down instead of slept."""
    slept: list[float] = []
    monkeypatch.setattr("fivefold.models.remote.time.sleep", slept.append)
    return slept


def passages(*scores: float) -> list[Passage]:
    return [Passage(f"memory {score}") for score in scores]


def asked(name: str, *scores: float, patience: float = 30.0) -> list[float]:
    return Hosted(name, "big").scores("which?", passages(*scores), patience)


@every_service
def test_scores_come_in_the_order_of_the_passages(service: Service, name: str) -> None:
    assert asked(name, 0.2, 0.9, 0.0, 0.5) == [0.2, 0.9, 0.0, 0.5]


@every_service
def test_the_request_has_the_shape_of_the_service(service: Service, name: str) -> None:
    Hosted(name, "big").scores("which?", [Passage("Ann: tea 0.4"), Passage("Bo: no 0.1", "Ann: coffee? 0.3")], 30)
    (path, key, body), limit = service.asked[0], SHAPES[name][1]
    assert (path, key) == ("/api/rerank", "Bearer local-key")
    assert body == {
        "model": "big",
        "query": "which?",
        limit: 2,
        "documents": ["Ann: tea 0.4", "Bo: no 0.1\n(said before: Ann: coffee? 0.3)"],
    }


@every_service
def test_the_choice_gives_this_reranker_under_its_pin(name: str) -> None:
    assert reranker(f"{name}:some:model").pin == f"{name}:some:model"
    assert reranker(f"{name}:some:model") is reranker(f"{name}:some:model")


def test_scores_beyond_the_scale_are_cut_to_it(service: Service, name: str) -> None:
    assert asked(name, 1.7, -3.0, 1.0) == [1.0, 0.0, 1.0]


def test_a_busy_service_is_asked_again_after_growing_pauses(service: Service, name: str, pauses: list[float]) -> None:
    service.failures = [(429, "slow down"), (503, "later"), (500, "oops")]
    assert asked(name, 0.3) == [0.3]
    assert len(service.asked) == 4
    assert len(pauses) == 3
    assert pauses == sorted(pauses)


def test_a_service_that_stays_busy_is_given_up_with_its_words(service: Service, name: str, pauses: list[float]) -> None:
    service.failures = [(503, "closed for tea")] * 9
    with pytest.raises(RerankerError, match=r"cohere:big gave no scores: .*HTTP 503: closed for tea"):
        asked(name, 0.3)
    assert len(service.asked) == 4


def test_no_attempt_begins_after_the_patience_is_over(service: Service, name: str, pauses: list[float]) -> None:
    """The first pause is half a second and more, so that a patience of less leaves no second attempt."""
    service.failures = [(503, "closed for tea")] * 9
    with pytest.raises(RerankerError, match="HTTP 503"):
        asked(name, 0.3, patience=0.4)
    assert (len(service.asked), pauses) == (1, [])


def test_an_answer_that_does_not_come_in_time_is_given_up(service: Service, name: str) -> None:
    service.wait = True
    with pytest.raises(RerankerError, match=r"cohere:big gave no scores: .*ReadTimeout"):
        asked(name, 0.3, patience=0.2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_told_at_once(service: Service, name: str, pauses: list[float], status: int) -> None:
    service.failures = [(status, "not like this")]
    with pytest.raises(RerankerError, match=f"HTTP {status}: not like this"):
        asked(name, 0.3)
    assert (len(service.asked), pauses) == (1, [])


@every_service
def test_a_refusal_without_a_key_says_which_to_set(
    service: Service, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(f"{name.upper()}_API_KEY")
    service.failures = [(401, "no key")]
    with pytest.raises(RerankerError, match=f"{name.upper()}_API_KEY is not set"):
        asked(name, 0.3)
    assert service.asked[0][1] is None


def test_a_service_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> None:
    with serving("results") as gone:
        url = gone.url
    monkeypatch.setenv("JINA_BASE_URL", url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(RerankerError, match=r"jina:big gave no scores: .*ConnectError"):
        asked("jina", 0.3)
    assert len(pauses) == 3


@pytest.mark.parametrize("given", [[0], [0, 1, 2], [], [0, 0], [1, 2], [-1, 0]])
def test_a_wrong_number_of_scores_is_told(service: Service, name: str, given: list[int]) -> None:
    service.answer = lambda _: {"results": [{"index": i, "relevance_score": 0.5} for i in given]}
    with pytest.raises(RerankerError, match=rf"cohere:big gave no scores: {len(set(given))} scores for 2 passages"):
        asked(name, 0.3, 0.4)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"data": [{"index": 0, "relevance_score": 0.5}]},
        {"results": None},
        {"results": 5},
        {"results": {"index": 0}},
        {"results": [{"index": 0}]},
        {"results": [{"relevance_score": 0.5}]},
        {"results": [{"index": "x", "relevance_score": 0.5}]},
        {"results": [{"index": 0, "relevance_score": None}]},
        {"results": [{"index": 0, "relevance_score": "high"}]},
        {"results": ["text"]},
        [],
        None,
        "text",
    ],
)
def test_an_answer_of_another_shape_is_a_reranker_error(service: Service, name: str, answer: Any) -> None:
    service.answer = lambda _: answer
    with pytest.raises(RerankerError, match="cohere:big gave no scores"):
        asked(name, 0.3)


def test_an_answer_that_is_no_json_is_a_reranker_error(service: Service, name: str) -> None:
    service.failures = [(200, "<html>welcome</html>")]
    with pytest.raises(RerankerError, match="cohere:big gave no scores"):
        asked(name, 0.3)


@pytest.mark.parametrize("url", ["http://127.0.0.1:notaport", "127.0.0.1/v1", "ftp://127.0.0.1"])
def test_an_address_that_is_none_is_a_reranker_error(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float], url: str
) -> None:
    monkeypatch.setenv("VOYAGE_BASE_URL", url)
    with pytest.raises(RerankerError, match="voyage:big gave no scores"):
        asked("voyage", 0.3)


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.models.rerankers.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"reranker jina:big needs .* pip install 'fivefold\[rerank\]'"):
        Hosted("jina", "big")
