"""Models loaded ahead, by a process that others are forked from: they share its memory."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fivefold.models import bert
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.reader import pair_reader
from fivefold.models.rerankers import reranker


@runtime_checkable
class Loadable(Protocol):
    """A model that can be loaded before it is used."""

    def load(self) -> object: ...


def split_nothing() -> None:
    """From now on the models of this process split no call, as suits several processes on the same cores."""
    bert.CORES.parts = 1


def load_models(choice: str | None, split: bool = False) -> None:
    """Load the embedder, the reader and the reranker of this package, without using them.

    Other embedders load with the first text, as they always do. Without `split`, models split no call.
    """
    if not split:
        split_nothing()
    for model in (embedder(choice or DEFAULT), pair_reader(), reranker("local")):
        if isinstance(model, Loadable):
            model.load()
