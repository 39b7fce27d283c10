"""One namespace of one store with the models that serve it: what every operation of the engine works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any

from fivefold.errors import EmbedderError, EmbedderMismatch, InvalidInput, NotFound, RetiredEmbedder
from fivefold.models.embedders import (
    DEFAULT,
    RETIRED,
    Embedder,
    checked_dimension,
    checked_pin,
    choice_of,
    gives_tokens,
    is_remote,
)
from fivefold.models.embedders import embedder as load_embedder
from fivefold.settings import Settings, settings_of
from fivefold.stores.interface import Reader, Store, Writer
from fivefold.stores.records import VectorSpace
from fivefold.values.entities import Extraction, Extractor
from fivefold.values.memory import Memory
from fivefold.values.reports import Finding
from fivefold.values.serialize import plain
from fivefold.values.validate import checked_name


@dataclass(slots=True)
class Activity:
    """Times at which the engines of this process last read or wrote a store, by the clock that never goes back."""

    last: float = 0.0

    def note(self) -> None:
        self.last = monotonic()


@dataclass(slots=True)
class Namespace:
    """`embedder_choice` is the embedder that the caller names or makes; None takes the one of the namespace's pin.

    `default_embedder` is for a namespace that has no pin yet.
    """

    store: Store
    name: str
    embedder_choice: str | Embedder | None
    extractor: Extractor
    clock: Callable[[], datetime]
    default_embedder: str | Embedder = DEFAULT
    activity: Activity = field(default_factory=Activity)

    @property
    def reader(self) -> Reader:
        self.activity.note()
        return self.store.reader(self.name)

    @property
    def settings(self) -> Settings:
        return settings_of(self.reader.admin.settings())

    def configure(self, changes: Mapping[str, Any]) -> Settings:
        """Store changed settings; None brings a default back."""
        settings_of({name: value for name, value in changes.items() if value is not None})
        with self.transaction() as txn:
            merged = {**txn.admin.settings(), **changes}
            stored = {name: value for name, value in merged.items() if value is not None}
            settings = settings_of(stored)
            txn.admin.save_settings(plain(stored))
        return settings

    @contextmanager
    def transaction(self, model: Embedder | None = None) -> Iterator[Writer]:
        """A write to the namespace, all or nothing. With `model`, its vectors must be those of that model.

        A namespace that has moved to another model meanwhile raises EmbedderMismatch.
        """
        self.activity.note()
        with self.store.write(self.name) as txn:
            if model is not None:
                pin = checked_pin(model)
                pinned = txn.vectors.pin(pin, checked_dimension(model), gives_tokens(model))
                if pinned.embedder != pin:
                    raise EmbedderMismatch(self.name, pinned.embedder, pin)
            yield txn

    def embedder(self) -> Embedder:
        """The namespace's model; choosing another one is an error that says how to move (R3)."""
        return self.embedder_of(self.reader.search.vector_space())

    def embedder_of(self, pinned: VectorSpace | None) -> Embedder:
        """The model for vectors of that space."""
        model = self._chosen_model(pinned)
        if pinned is not None and pinned.embedder != (pin := checked_pin(model)):
            replaced = RETIRED.get(pinned.embedder) == choice_of(pin)
            mismatch = RetiredEmbedder if replaced else EmbedderMismatch
            raise mismatch(self.name, pinned.embedder, pin)
        return model

    def check_choice(self) -> None:
        """Refuse an embedder that is not the namespace's; one that takes the place of a retired one may come."""
        with suppress(RetiredEmbedder):
            self.embedder()

    def check_embedder(self) -> Iterator[Finding]:
        """A finding if the vectors are those of a model that this version no longer has."""
        pinned = self.reader.search.vector_space()
        if pinned is not None and pinned.embedder in RETIRED:
            detail = f"this version no longer has {pinned.embedder}; a repair or the next write makes new vectors"
            yield Finding("embedder", False, detail)

    def _chosen_model(self, pinned: VectorSpace | None) -> Embedder:
        if self.embedder_choice is not None:
            choice = self.embedder_choice
            return load_embedder(choice) if isinstance(choice, str) else choice
        default = self.default_embedder
        if isinstance(default, str):
            if pinned is None:
                return load_embedder(default)
        elif pinned is None or pinned.embedder == default.pin:
            return default
        name = choice_of(pinned.embedder)
        if is_remote(name) and name != default:
            raise EmbedderError(
                f"namespace {self.name!r} is embedded by {name!r}, which sends texts to a server; "
                f"open it with embedder={name!r} to allow that"
            )
        try:
            return load_embedder(name)
        except InvalidInput:
            raise EmbedderError(
                f"namespace {self.name!r} is pinned to {pinned.embedder!r}, an embedder of your own; "
                "open it with embedder= and that object"
            ) from None

    def get(self, id: str) -> Memory:
        """The memory with that id; raises NotFound if there is none."""
        try:
            memory = self.reader.memories.get(checked_name(id, "id"))
        except InvalidInput:
            memory = None
        if memory is None:
            raise NotFound(f"namespace {self.name!r} has no memory {id!r}")
        return memory

    def extraction_of(self, memory: Memory) -> Extraction:
        stored = self.reader.memories.scan(memory.row - 1, 1)
        return stored[0][1] if stored and stored[0][0].row == memory.row else Extraction()
