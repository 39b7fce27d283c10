"""Models loaded ahead, by a process that others are forked from: they share its memory."""

from __future__ import annotations

from fivefold.models import bert
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.reader import pair_reader
from fivefold.models.rerankers import reranker


def split_nothing() -> None:
    """From now on the models of this process split no call, as suits several processes on the same cores."""
    bert.CORES.parts = 1


def load_models(choice: str | None, split: bool = False) -> None:
    """Load this package's embedder, reader and reranker; other embedders load with the first text.

    Without `split`, models split no call.
    """
    if not split:
        split_nothing()
    for model in (embedder(choice or DEFAULT), pair_reader(), reranker("local")):
        if callable(load := getattr(model, "load", None)):
            load()
