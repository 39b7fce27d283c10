"""Rerankers, chosen by a string.

`local`, `sentence-transformers:NAME`, `fastembed:NAME`, `voyage:MODEL`, `cohere:MODEL`, `jina:MODEL`,
or a name that an installed package registers.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from time import monotonic
from typing import Any, Protocol

import numpy as np

from fivefold.errors import FivefoldError, MissingExtra, RerankerError
from fivefold.models.bert import ShippedModel, WordPieces, row_inputs
from fivefold.models.remote import PackagedModel, RemoteError, Server, post
from fivefold.text.lexemes import empty_on_forget
from fivefold.values.registry import plugin_by_choice
from fivefold.values.vectors import Passage


class Reranker(Protocol):
    """Construction is light; a model loads at the first call."""

    @property
    def pin(self) -> str:
        """Name and version, such as 'local@1', for the cache of scores and for the trace."""

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        """One score in 0..1 a passage, in order. Gives up with an error when the time is over."""


_BUILTIN = {
    "local": "local",
    "sentence-transformers": "sentence-transformers:NAME",
    "fastembed": "fastembed:NAME",
    "voyage": "voyage:MODEL",
    "cohere": "cohere:MODEL",
    "jina": "jina:MODEL",
}
"""Each family, and how a model of it is named."""


@lru_cache(maxsize=8)
def reranker(choice: str) -> Reranker:
    """The reranker named `choice`; one object serves the whole process, so a model is loaded once."""
    family, _, model = choice.partition(":")
    if choice == "local":
        return Local()
    if model and family == "sentence-transformers":
        return SentenceTransformersReranker(model)
    if model and family == "fastembed":
        return FastEmbedReranker(model)
    if model and family in {"voyage", "cohere", "jina"}:
        return HostedReranker(family, model)
    plugin: Reranker = plugin_by_choice("rerankers", choice, _BUILTIN, Reranker)
    return plugin


CACHE_SIZE = 50_000
"""Maximum number of scores that a process keeps; the least recently used go first.

One takes about 200 bytes, however long its text.
"""

DIGEST_BYTES = 16
"""Bytes that stand for model, question and text."""


class Scores:
    """A cache that several threads may ask. It has digests under a key of its own, and no text."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self._size = size
        self._key = secrets.token_bytes(32)
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self, model: Reranker, question: str, passages: Sequence[Passage], timeout_s: float
    ) -> tuple[list[float], int]:
        """The scores, and how many of them had to be computed."""
        keys = [self._digest(model.pin, question, passage) for passage in passages]
        with self._lock:
            scores = {key: self._scores[key] for key in keys if key in self._scores}
        missing = {key: passage for key, passage in zip(keys, passages, strict=True) if key not in scores}
        if missing:
            computed = model.scores(question, list(missing.values()), timeout_s)
            scores.update(zip(missing, computed, strict=True))
        with self._lock:
            for key in keys:
                self._scores[key] = scores[key]
                self._scores.move_to_end(key)
            while len(self._scores) > self._size:
                self._scores.popitem(last=False)
        return [scores[key] for key in keys], len(missing)

    def clear(self) -> None:
        with self._lock:
            self._scores.clear()

    def _digest(self, pin: str, question: str, passage: Passage) -> bytes:
        """Each part with its length before it, so that no two lists of parts are one text."""
        digest = hashlib.blake2b(key=self._key, digest_size=DIGEST_BYTES)
        for part in (pin, question, passage.text, passage.before):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8))
            digest.update(encoded)
        return digest.digest()


SCORES = Scores()
empty_on_forget(SCORES.clear)


@dataclass(frozen=True, slots=True)
class Api:
    """The address of a service and its names for things."""

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


class HostedReranker:
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


FILE = "fivefold-reranker.onnx"

MAX_QUESTION_TOKENS, MAX_MEMORY_TOKENS, MAX_BEFORE_TOKENS = 40, 96, 16
"""Word pieces read of each: the first of question and text, the last of the turn before."""

MAX_PIECE_CHARACTERS = 12
"""Characters a word piece may have on average; what lies beyond is not worth tokenising."""


class Local(ShippedModel):
    """Scores are calibrated: of passages scored .7, about seven in ten answered, on data it was not trained on."""

    pin = "local@1"
    file = FILE
    error: type[FivefoldError] = RerankerError

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        pieces, model = self.load()
        end = monotonic() + timeout_s
        rows, start = token_rows(pieces, question, passages)
        scores: dict[int, float] = {}
        for place, (score,) in model.run_each(["score"], [row_inputs(row, start) for row in rows]):
            scores[place] = float(score[0])
            if len(scores) < len(rows) and monotonic() > end:
                raise RerankerError(f"{self.pin} had not read {len(rows)} memories after {timeout_s:g} s")
        return [scores[place] for place in range(len(rows))]


def token_rows(pieces: WordPieces, question: str, passages: Sequence[Passage]) -> tuple[list[list[int]], int]:
    """Builds a row for each passage, `[CLS] question [SEP] memory [SEP] end of what came before [SEP]`, with the starts
    of the memories."""
    question_ids = pieces.ids(question)[:MAX_QUESTION_TOKENS]
    rows = []
    for passage in passages:
        before = pieces.ids(passage.before[-MAX_PIECE_CHARACTERS * MAX_BEFORE_TOKENS :])[-MAX_BEFORE_TOKENS:]
        end = [*before, pieces.sep] if before else []
        memory = pieces.ids(passage.text[: MAX_PIECE_CHARACTERS * MAX_MEMORY_TOKENS])[:MAX_MEMORY_TOKENS]
        rows.append([pieces.cls, *question_ids, pieces.sep, *memory, pieces.sep, *end])
    return rows, len(question_ids) + 2


class SentenceTransformersReranker(PackagedModel):
    """Scores come out of a sigmoid, in 0..1."""

    package: str = "sentence-transformers"
    _made_by = "sentence_transformers:CrossEncoder"
    error: type[FivefoldError] = RerankerError

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        scores = np.asarray(
            self._model.predict([(question, passage.joined) for passage in passages], show_progress_bar=False)
        )
        inside = bool(((scores >= 0) & (scores <= 1)).all())
        return [float(value) for value in (scores if inside else _sigmoid(scores))]


class FastEmbedReranker(PackagedModel):
    """Scores are logits, squashed into 0..1."""

    package: str = "fastembed"
    _made_by = "fastembed.rerank.cross_encoder:TextCrossEncoder"
    error: type[FivefoldError] = RerankerError

    def scores(self, question: str, passages: Sequence[Passage], timeout_s: float) -> list[float]:
        return [
            float(value)
            for value in _sigmoid(
                np.array(list(self._model.rerank(question, [passage.joined for passage in passages])))
            )
        ]


def _sigmoid(logits: Any) -> Any:
    return 1 / (1 + np.exp(-logits))
