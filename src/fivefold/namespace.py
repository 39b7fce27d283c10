"""One namespace of one store with the models that serve it: what every operation of the engine works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime

from fivefold.errors import EmbedderError, EmbedderMismatch, InvalidInput, NotFound
from fivefold.models.embedders import DEFAULT, Embedder, choice_of, is_remote
from fivefold.models.embedders import embedder as load_embedder
from fivefold.settings import Settings, settings_of
from fivefold.stores.protocol import Reader, Space, Store, Writer
from fivefold.values.memory import Memory
from fivefold.values.validate import checked_name
from fivefold.writing.extract import Extractor


@dataclass(slots=True)
class Namespace:
    """`choice` is the embedder the caller named or made, or None to take the one the namespace is pinned to.

    `otherwise` is for a namespace that is pinned to none yet.
    """

    store: Store
    namespace: str
    choice: str | Embedder | None
    extractor: Extractor
    clock: Callable[[], datetime]
    otherwise: str = DEFAULT

    @property
    def reader(self) -> Reader:
        return self.store.reader(self.namespace)

    @property
    def settings(self) -> Settings:
        """The namespace's settings, defaults where nothing is set."""
        return settings_of(self.reader.settings())

    @contextmanager
    def writing(self, model: Embedder) -> Iterator[Writer]:
        """A transaction whose vectors are the model's; a namespace that moved to another one meanwhile says so."""
        with self.store.write(self.namespace) as txn:
            space = txn.pin(model.pin, model.dimension)
            if space.embedder != model.pin:
                raise EmbedderMismatch(self.namespace, space.embedder, model.pin)
            yield txn

    def editing(self) -> AbstractContextManager[Writer]:
        """A transaction that makes no vectors and so needs no model."""
        return self.store.write(self.namespace)

    def embedder(self) -> Embedder:
        """The namespace's model; naming another one is an error that says how to move (R3)."""
        return self.embedder_of(self.reader.space())

    def embedder_of(self, space: Space | None) -> Embedder:
        model = self._chosen(space)
        if space is not None and space.embedder != model.pin:
            raise EmbedderMismatch(self.namespace, space.embedder, model.pin)
        return model

    def _chosen(self, space: Space | None) -> Embedder:
        if self.choice is not None:
            return load_embedder(self.choice) if isinstance(self.choice, str) else self.choice
        if space is None:
            return load_embedder(self.otherwise)
        choice = choice_of(space.embedder)
        if is_remote(choice) and choice != self.otherwise:
            raise EmbedderError(
                f"namespace {self.namespace!r} is embedded by {choice!r}, which sends texts to a server; "
                f"open it with embedder={choice!r} to allow that"
            )
        try:
            return load_embedder(choice)
        except InvalidInput:
            raise EmbedderError(
                f"namespace {self.namespace!r} is pinned to {space.embedder!r}, an embedder of your own; "
                "open it with embedder= and that object"
            ) from None

    def get(self, id: str) -> Memory:
        try:
            memory = self.reader.get(checked_name(id, "id"))
        except InvalidInput:
            memory = None
        if memory is None:
            raise NotFound(f"namespace {self.namespace!r} has no memory {id!r}")
        return memory
