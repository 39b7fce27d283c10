"""One namespace of one store with the models that serve it: what every operation of the engine works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from fivefold.embedders import DEFAULT, Embedder, Matrix, choice_of
from fivefold.embedders import embedder as load_embedder
from fivefold.errors import EmbedderError, EmbedderMismatch, InvalidInput, NotFound
from fivefold.extract import Extractor
from fivefold.memory import Memory
from fivefold.recall import Vector
from fivefold.stores.base import Reader, Space, Store, Writer


@dataclass(slots=True)
class Workspace:
    """`choice` is the embedder the caller named or made, or None to take the one the namespace is pinned to."""

    store: Store
    namespace: str
    choice: str | Embedder | None
    extractor: Extractor
    clock: Callable[[], datetime]

    @property
    def reader(self) -> Reader:
        return self.store.reader(self.namespace)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """A transaction on the namespace, pinned to its embedder."""
        model = self.embedder()
        with self.store.write(self.namespace) as txn:
            space = txn.pin(model.pin, model.dimension)
            if space.embedder != model.pin:
                raise EmbedderMismatch(self.namespace, space.embedder, model.pin)
            yield txn

    def embedder(self) -> Embedder:
        """The namespace's model; naming another one is an error that says how to move (R3)."""
        space = self.reader.space()
        model = self._chosen(space)
        if space is not None and space.embedder != model.pin:
            raise EmbedderMismatch(self.namespace, space.embedder, model.pin)
        return model

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One vector a text; an embedder that gives anything else is named."""
        model = self.embedder()
        vectors = np.asarray(model.embed(texts), dtype=np.float32)
        if vectors.shape != (len(texts), model.dimension):
            raise EmbedderError(
                f"{model.pin} gave an array of shape {vectors.shape} for {len(texts)} texts; "
                f"it should be {(len(texts), model.dimension)}"
            )
        return vectors

    def encode(self, question: str) -> Vector:
        vector: Vector = self.embed([question])[0]
        return vector

    def _chosen(self, space: Space | None) -> Embedder:
        if self.choice is not None:
            return load_embedder(self.choice) if isinstance(self.choice, str) else self.choice
        if space is None:
            return load_embedder(DEFAULT)
        try:
            return load_embedder(choice_of(space.embedder))
        except InvalidInput:
            raise EmbedderError(
                f"namespace {self.namespace!r} is pinned to {space.embedder!r}, an embedder of your own; "
                "open it with embedder= and that object"
            ) from None

    def get(self, id: str) -> Memory:
        memory = self.reader.get(id) if isinstance(id, str) and id.isprintable() else None
        if memory is None:
            raise NotFound(f"namespace {self.namespace!r} has no memory {id!r}")
        return memory
