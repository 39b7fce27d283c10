"""The fixtures of every test of the suite: the store under test, an engine on it, and the reference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fivefold.engine import Engine
from fivefold.stores import open_store
from fivefold.stores.interface import Store

from .store_pair import StorePair, in_memory, opened


class StoreFixtures:
    """The subclass defines `location`."""

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
    def pair(self, store: Store, reference: Store) -> StorePair:
        """A new namespace of the store under test, and the same of the reference."""
        return StorePair(store, reference)
