"""One namespace of one store with the models that serve it: what every operation of the engine works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from fivefold.embedders import DEFAULT, Embedder, Matrix, choice_of
from fivefold.embedders import embedder as load_embedder
from fivefold.errors import EmbedderMismatch, NotFound
from fivefold.extract import Extractor
from fivefold.memory import Memory
from fivefold.recall import Vector
from fivefold.stores.base import Reader, Store, Writer


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
        choice = self.choice or (choice_of(space.embedder) if space else DEFAULT)
        model = load_embedder(choice) if isinstance(choice, str) else choice
        if space is not None and space.embedder != model.pin:
            raise EmbedderMismatch(self.namespace, space.embedder, model.pin)
        return model

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self.embedder().embed(texts)

    def encode(self, question: str) -> Vector:
        vector: Vector = self.embedder().embed([question])[0]
        return vector

    def get(self, id: str) -> Memory:
        memory = self.reader.get(id)
        if memory is None:
            raise NotFound(f"namespace {self.namespace!r} has no memory {id!r}")
        return memory
