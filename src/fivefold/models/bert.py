"""What the ONNX models of the BERT family share: the tokenizer, a session, batches with little padding."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fivefold.errors import EmbedderError
from fivefold.models.shipped import shipped_lines

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Encoding, Tokenizer

Ids = npt.NDArray[np.int64]

MAX_TOKENS = 256
BATCH_TOKENS = 4096
"""Texts are batched by length up to this many tokens, padding included."""


@cache
def _vocabulary() -> dict[str, int]:
    return {word: number for number, word in enumerate(shipped_lines("bert-uncased-vocab.txt"))}


@cache
def whole_words() -> dict[str, int]:
    """The words of letters that the models know whole, each with its rank: the more common, the smaller.

    None where the file is missing; the models say so when they are loaded.
    """
    try:
        pieces = _vocabulary()
    except EmbedderError:
        return {}
    return {word: rank for word, rank in pieces.items() if word.isascii() and word.isalpha() and len(word) > 1}


def tokenizer(longest: int, pieces: Mapping[str, int] | None = None) -> Tokenizer:
    """BERT's word pieces, or fewer, lower case, cut at `longest`; two texts go in one line, the second cut first."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = _vocabulary() if pieces is None else dict(pieces)
    built = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    built.normalizer = normalizers.BertNormalizer(lowercase=True)
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    built.enable_truncation(longest)
    return built


def _cores() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(os.cpu_count() or 1)


@dataclass(slots=True)
class Threads:
    """How the models of this process share its cores."""

    most: int = 4
    """Threads of one model. Processes that share the cores take one each; that also makes a model which was loaded
    before a fork work after it, since it has no threads to lose."""
    running: threading.BoundedSemaphore = field(default_factory=_cores)
    """As many runs at once as there are cores, over all models. More would be no faster, and each takes 20 MB and more
    that the allocator keeps: twelve at once raised a process from 160 MB to 384, two at once to 210."""

    def renew(self) -> None:
        """A forked process has no part in runs that were under way."""
        self.running = _cores()


THREADS = Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=THREADS.renew)


class Session:
    """A model whose runs wait for a core."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session

    def run(self, outputs: Sequence[str], inputs: Mapping[str, Ids]) -> list[Any]:
        with THREADS.running:
            found: list[Any] = self._session.run(outputs, inputs)
        return found


def session(path: str | Path) -> Session:
    """A model on the CPU, on a few threads that do not spin while they wait."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(THREADS.most, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return Session(onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]))


def batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Indexes grouped so that texts of like length share a batch of at most `most` tokens, padding included."""
    grouped: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not grouped or (len(grouped[-1]) + 1) * lengths[i] > most:
            grouped.append([])
        grouped[-1].append(i)
    return grouped


def pad(encoded: Sequence[Encoding]) -> tuple[Ids, Ids, Ids]:
    """Ids, mask and parts of a batch, side by side."""
    width = max(len(item.ids) for item in encoded)
    ids, mask, parts = (np.zeros((len(encoded), width), dtype=np.int64) for _ in range(3))
    for i, item in enumerate(encoded):
        ids[i, : len(item.ids)] = item.ids
        mask[i, : len(item.ids)] = 1
        parts[i, : len(item.ids)] = item.type_ids
    return ids, mask, parts
