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


def load_models(choice: str | None) -> None:
    """Load this package's embedder, reader and reranker; other embedders load with the first text."""
    split_nothing()
    for model in (embedder(choice or DEFAULT), pair_reader(), reranker("local")):
        if isinstance(model, Loadable):
            model.load()
