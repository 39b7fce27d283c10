"""The tables that a store keeps for all its namespaces, for tests that read or change them by SQL."""

from __future__ import annotations

from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.protocol import Store
from fivefold.stores.sql.shared_tables import SharedTables
from fivefold.stores.sqlite.store import SqliteStore


def shared_tables(store: Store) -> SharedTables:
    assert isinstance(store, SqliteStore | PostgresStore)
    return store.shared_tables
