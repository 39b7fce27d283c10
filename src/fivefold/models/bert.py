"""What the ONNX models of the BERT family share: the tokenizer, a session, batches with little padding, embedding."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fivefold.models.embedders.base import Matrix, Progress, unit

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Encoding, Tokenizer

Ids = npt.NDArray[np.int64]

MAX_TOKENS = 256
BATCH_TOKENS = 4096
"""Texts are batched by length up to this many tokens, padding included."""


@cache
def _vocabulary() -> dict[str, int]:
    lines = resources.files("fivefold.models").joinpath("data/bert-uncased-vocab.txt").read_text("utf-8").splitlines()
    return {word: number for number, word in enumerate(lines)}


def tokenizer(longest: int) -> Tokenizer:
    """BERT's word pieces, lower case, cut at `longest`; two texts go in one line, the second cut first."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = _vocabulary()
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    made.enable_truncation(longest)
    return made


def session(path: str | Path) -> onnxruntime.InferenceSession:
    """A model on the CPU, on a few threads that do not spin while they wait."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(4, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Indexes grouped so that texts of like length share a batch of at most `most` tokens, padding included."""
    grouped: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not grouped or (len(grouped[-1]) + 1) * lengths[i] > most:
            grouped.append([])
        grouped[-1].append(i)
    return grouped


def padded(encoded: Sequence[Encoding]) -> tuple[Ids, Ids, Ids]:
    """Ids, mask and parts of a batch, side by side."""
    width = max(len(item.ids) for item in encoded)
    ids, mask, parts = (np.zeros((len(encoded), width), dtype=np.int64) for _ in range(3))
    for i, item in enumerate(encoded):
        ids[i, : len(item.ids)] = item.ids
        mask[i, : len(item.ids)] = 1
        parts[i, : len(item.ids)] = item.type_ids
    return ids, mask, parts


class BertEmbedder:
    """Unit vectors. Texts over 256 word pieces are cut; the lexical index still holds all of them."""

    pin = ""
    dimension = 384

    def __init__(self) -> None:
        self._loading = threading.Lock()

    @abstractmethod
    def _model(self) -> onnxruntime.InferenceSession: ...

    @abstractmethod
    def _vectors(self, model: onnxruntime.InferenceSession, encoded: Sequence[Encoding]) -> Matrix: ...

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        with self._loading:
            pieces, model = self._tokenizer, self._session
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        encoded = pieces.encode_batch(list(texts))
        for batch in batches([len(item.ids) for item in encoded], BATCH_TOKENS):
            out[batch] = self._vectors(model, [encoded[i] for i in batch])
            if progress:
                progress(len(batch))
        return unit(out)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return tokenizer(MAX_TOKENS)

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return self._model()
