"""Hosted rerankers. Voyage, Cohere and Jina speak one shape: query and documents in, index and relevance out (E4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from fivefold.errors import MissingExtra, RerankerError
from fivefold.models.remote import RemoteError, Server, post
from fivefold.values.reading import Passage


@dataclass(frozen=True, slots=True)
class Api:
    """Where a service answers and what it calls things."""

    server: Server
    path: str
    results: str
    limit: str


_VOYAGE = Server("VOYAGE_BASE_URL", "https://api.voyageai.com/v1", "VOYAGE_API_KEY")
_COHERE = Server("COHERE_BASE_URL", "https://api.cohere.com/v2", "COHERE_API_KEY")
_JINA = Server("JINA_BASE_URL", "https://api.jina.ai/v1", "JINA_API_KEY")

APIS = {
    "voyage": Api(_VOYAGE, "/rerank", "data", "top_k"),
    "cohere": Api(_COHERE, "/rerank", "results", "top_n"),
    "jina": Api(_JINA, "/rerank", "results", "top_n"),
}


class Hosted:
    """Texts leave this machine, which is why a recipe must name it."""

    def __init__(self, service: str, model: str) -> None:
        if find_spec("httpx") is None:
            raise MissingExtra(f"reranker {service}:{model}", "rerank")
        self._service, self._model, self._api = service, model, APIS[service]

    @property
    def pin(self) -> str:
        return f"{self._service}:{self._model}"

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        body: dict[str, Any] = {
            "model": self._model,
            "query": question,
            "documents": [passage.joined for passage in passages],
        }
        body[self._api.limit] = len(passages)
        try:
            answer = post(self._api.path, body, self._api.server, timeout_s)
            return _in_order(answer[self._api.results], len(passages))
        except (RemoteError, KeyError, TypeError, ValueError, IndexError) as error:
            raise RerankerError(f"{self.pin} gave no scores: {error}") from error


def _in_order(results: Sequence[dict[str, Any]], count: int) -> list[float]:
    scores: dict[int, float] = {int(item["index"]): float(item["relevance_score"]) for item in results}
    if sorted(scores) != list(range(count)):
        raise ValueError(f"{len(scores)} scores for {count} passages")
    return [min(1.0, max(0.0, scores[i])) for i in range(count)]
