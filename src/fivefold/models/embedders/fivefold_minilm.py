"""fivefold-minilm: all-MiniLM-L6-v2 tuned for memories, as a true int8 graph. Offline, the default.

One pass gives the vector of a passage, of 384 dimensions, and one of 64 for each of its tokens. The end of what was
said before is read along; it is not part of the passage's vector, but its tokens have vectors too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fivefold.errors import EmbedderError
from fivefold.models.bert import Batch, Ids, Session, session
from fivefold.models.embedders.base import Matrix, Progress, unit
from fivefold.models.embedders.passage_tokens import PassageTokenizer, Row
from fivefold.models.shipped import load_shipped
from fivefold.models.token_vectors import pack, packed_size
from fivefold.values.reading import Passage, QuestionReading, Reading, Span

FILE = "fivefold-minilm.onnx"

BATCH_TOKENS = 2_048
"""Passages are read in batches of like length up to this many word pieces, padding included."""


class FivefoldMiniLM:
    """Reads up to 256 word pieces at once; longer texts are cut, so they come in passages."""

    pin = "fivefold-minilm@2"
    dimension = 384

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        pieces, model = self._loaded()
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        rows = pieces.rows([Passage(text) for text in texts])
        for batch in _run(model, ["vector"], rows):
            (out[batch.rows],) = batch.found
            if progress:
                progress(len(batch.rows))
        return unit(out)

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        pieces, model = self._loaded()
        rows = pieces.rows(passages)
        read: dict[int, Reading] = {}
        for batch in _run(model, ["vector", "tokens"], rows):
            vectors, tokens = batch.found
            packed = _pack_rows(tokens, pieces.stored(batch.inputs["input_ids"], batch.inputs["attention_mask"]))
            read.update(zip(batch.rows, map(Reading, unit(vectors), packed), strict=True))
            if progress:
                progress(len(batch.rows))
        return [read[i] for i in range(len(passages))]

    def read_question(self, question: str) -> QuestionReading:
        pieces, model = self._loaded()
        (row,) = pieces.rows([Passage(question)])
        vectors, tokens, weights = model.run(["vector", "tokens", "weights"], _inputs([row]))
        return QuestionReading(
            unit(vectors)[0], unit(tokens[0]), np.asarray(weights[0] / weights[0].sum(), dtype=np.float32), row.spans
        )

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        pieces, _ = self._loaded()
        (row,) = pieces.rows([passage])
        ids = np.array([row.ids], dtype=np.int64)
        chosen = np.flatnonzero(pieces.stored(ids, np.ones_like(ids))[0])
        spans = row.spans
        return [(spans[i], bool(i >= row.own)) for i in chosen]

    def load(self) -> None:
        """Load the model now and not with the first text."""
        self._loaded()

    def _loaded(self) -> tuple[PassageTokenizer, Session]:
        with self._loading:
            return self._tokenizer, self._session

    @cached_property
    def _tokenizer(self) -> PassageTokenizer:
        return PassageTokenizer()

    @cached_property
    def _session(self) -> Session:
        try:
            return load_shipped(FILE, session)
        except Exception as error:
            raise EmbedderError(f"{FILE} could not be loaded; install fivefold again ({error})") from error


def _run(model: Session, outputs: Sequence[str], rows: Sequence[Row]) -> Iterator[Batch]:
    return model.run_rows(outputs, rows, [len(row.ids) for row in rows], BATCH_TOKENS, _inputs)


def _inputs(rows: Sequence[Row]) -> dict[str, Ids]:
    """Rows side by side, as the graph takes them."""
    width = max(len(row.ids) for row in rows)
    ids, mask, own = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(3))
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = row.ids
        mask[i, : len(row.ids)] = 1
        own[i, : row.own] = 1
    return {"input_ids": ids, "attention_mask": mask, "own": own}


def _pack_rows(tokens: npt.NDArray[np.float32], stored: npt.NDArray[np.bool_]) -> list[bytes]:
    """The stored tokens of each row, packed all at once."""
    packed = pack(tokens[stored])
    ends = (np.cumsum(stored.sum(axis=1)) * packed_size(tokens.shape[2])).tolist()
    return [packed[start:end] for start, end in zip([0, *ends], ends, strict=False)]
