"""What every law of the suite stands on: the store under test, an engine on it, and the reference beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fivefold.engine import Engine
from fivefold.stores import open_store
from fivefold.stores.protocol import Store
from fivefold.testing.pairs import Pair, in_memory, opened


class Places:
    """Fixtures. `location` is the subclass's to define."""

    @pytest.fixture
    def store(self, location: str) -> Iterator[Store]:
        """The store under test, open for one test."""
        store = open_store(location)
        try:
            yield store
        finally:
            store.close()

    @pytest.fixture
    def reference(self) -> Iterator[Store]:
        """SQLite in memory."""
        with in_memory() as store:
            yield store

    @pytest.fixture
    def engine(self, store: Store) -> Engine:
        """A new namespace of the store under test."""
        return opened(store)

    @pytest.fixture
    def pair(self, store: Store, reference: Store) -> Pair:
        """A new namespace of the store under test, and the same of the reference."""
        return Pair(store, reference)
