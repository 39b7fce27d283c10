"""What the ONNX models of the BERT family share: a session whose runs share the cores, batches with little padding."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from fivefold.errors import EmbedderError, FivefoldError
from fivefold.models.shipped import load_shipped
from fivefold.models.word_pieces import WordPieces, word_pieces

if TYPE_CHECKING:
    import onnxruntime

Ids = npt.NDArray[np.int64]
Inputs = Mapping[str, Ids]
R = TypeVar("R")
InputsOf = Callable[[Sequence[R]], Inputs]
"""Makes the inputs of a batch of rows."""

MAX_TOKENS = 256
BATCH_TOKENS = 4096
"""Texts are batched by length up to this many tokens, padding included."""


@cache
def whole_words() -> dict[str, int]:
    """The words of letters that the models know whole, each with its rank: the more common, the smaller.

    None where the file is missing; the models say so when they are loaded.
    """
    try:
        pieces = word_pieces().vocabulary
    except EmbedderError:
        return {}
    return {word: rank for word, rank in pieces.items() if word.isascii() and word.isalpha() and len(word) > 1}


def _cores() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(os.cpu_count() or 1)


@dataclass(slots=True)
class Cores:
    """How the models of this process share its cores. A run takes one thread, so that a model which was loaded before
    a fork works after it; what is long is split into runs side by side, which is faster than threads within a run:
    eight texts of 40 word pieces take 15 ms in two runs, 33 ms in one with two threads, 27 ms with one."""

    parts: int = min(4, os.cpu_count() or 1)
    """Runs that one call is split into at most. Processes that share the cores split nothing."""
    running: threading.BoundedSemaphore = field(default_factory=_cores)
    """As many runs at once as there are cores, over all models. More would be no faster, and each takes 20 MB and more
    that the allocator keeps: twelve at once raised a process from 160 MB to 384, two at once to 210."""
    _helpers: ThreadPoolExecutor | None = None
    _making: threading.Lock = field(default_factory=threading.Lock)

    @property
    def helpers(self) -> ThreadPoolExecutor:
        """The threads that take the other parts."""
        with self._making:
            if self._helpers is None:
                self._helpers = ThreadPoolExecutor(max(1, self.parts - 1), "fivefold-models")
            return self._helpers

    def renew(self) -> None:
        """A forked process has no part in runs that were under way, nor in threads."""
        self.running, self._making, self._helpers = _cores(), threading.Lock(), None


CORES = Cores()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CORES.renew)


class Batch(NamedTuple):
    """Which rows were read together, as what, and what the model gave."""

    rows: list[int]
    inputs: Inputs
    found: list[Any]


class Session:
    """A model whose runs wait for a core."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session

    def run(self, outputs: Sequence[str], inputs: Inputs) -> list[Any]:
        with CORES.running:
            found: list[Any] = self._session.run(outputs, inputs)
        return found

    def run_rows(
        self, outputs: Sequence[str], rows: Sequence[R], lengths: Sequence[int], most: int, inputs_of: InputsOf[R]
    ) -> Iterator[Batch]:
        """Rows of these lengths in batches of at most `most` tokens, as many at a time as run side by side."""
        for batches in rounds(lengths, most):
            first, *others = inputs = [inputs_of([rows[i] for i in chosen]) for chosen in batches]
            waiting = [CORES.helpers.submit(self.run, outputs, other) for other in others]
            found = [self.run(outputs, first), *(one.result() for one in waiting)]
            yield from map(Batch, batches, inputs, found)


def session(path: str | Path) -> Session:
    """A model on the CPU, on the thread that runs it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return Session(onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]))


class ShippedModel:
    """A model of this package, loaded when it is used first."""

    file = ""
    words = "bert-uncased-vocab.txt"
    error: type[FivefoldError] = EmbedderError
    """What is raised where a file is missing or damaged."""

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def load(self) -> tuple[WordPieces, Session]:
        """The word pieces and the model; loads them if they are not."""
        with self._loading:
            try:
                pieces = word_pieces(self.words)
            except EmbedderError as error:
                raise self.error(str(error)) from error
            return pieces, self._session

    @cached_property
    def _session(self) -> Session:
        try:
            return load_shipped(self.file, session)
        except Exception as error:
            raise self.error(f"{self.file} could not be loaded; install fivefold again ({error})") from error


def rounds(lengths: Sequence[int], most: int) -> Iterator[list[list[int]]]:
    """Batches of indexes, as many at a time as run side by side; what fits into one round is shared out evenly.

    Where one long text among many short ones would make an even share too large, the batches stay as they are.
    """
    parts = min(CORES.parts, len(lengths))
    grouped = batches(lengths, most)
    if 0 < len(grouped) <= parts:
        shared = shares(lengths, parts)
        if all(len(part) * lengths[part[-1]] <= most for part in shared):
            grouped = shared
    for start in range(0, len(grouped), CORES.parts):
        yield grouped[start : start + CORES.parts]


def shares(lengths: Sequence[int], parts: int) -> list[list[int]]:
    """Indexes by length in as many parts, of which each has about the same number of tokens, padding included."""
    waiting = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    shared: list[list[int]] = []
    for left in range(parts - 1, 0, -1):
        end = min(range(1, len(waiting) - left + 1), key=partial(_largest_share, lengths, waiting, left))
        shared.append(waiting[:end][::-1])
        waiting = waiting[end:]
    return [*shared, waiting[::-1]]


def _largest_share(lengths: Sequence[int], waiting: Sequence[int], left: int, end: int) -> float:
    """Tokens of the first `end`, or of each other part where those are more; the longest come first."""
    return max(end * lengths[waiting[0]], (len(waiting) - end) * lengths[waiting[end]] / left)


def batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Indexes grouped so that texts of like length share a batch of at most `most` tokens, padding included."""
    grouped: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not grouped or (len(grouped[-1]) + 1) * lengths[i] > most:
            grouped.append([])
        grouped[-1].append(i)
    return grouped


def pad(rows: Sequence[Sequence[int]], starts: Sequence[int] | int | None = None) -> dict[str, Ids]:
    """Ids side by side, their mask, and 1 from where the second text of each row starts."""
    width = max(map(len, rows))
    ids, mask, parts = (np.zeros((len(rows), width), dtype=np.int64) for _ in range(3))
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
        if starts is not None:
            parts[i, starts if isinstance(starts, int) else starts[i] : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": parts}
