"""The tables that a store keeps for all its namespaces, for tests that read or change them by SQL."""

from __future__ import annotations

from fivefold.stores.interface import Store
from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.sql.admin import CommonTables
from fivefold.stores.sqlite.store import SqliteStore


def shared_tables(store: Store) -> CommonTables:
    assert isinstance(store, SqliteStore | PostgresStore)
    return store.shared_tables
