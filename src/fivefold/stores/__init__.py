"""Stores keep the memories."""

from __future__ import annotations

import os

from fivefold.errors import InvalidInput, MissingExtra
from fivefold.stores.interface import Store
from fivefold.values.registry import members_of, plugin
from fivefold.values.validate import checked_location

POSTGRES = ("postgresql://", "postgres://")
"""Beginnings of a PostgreSQL address."""

_SCHEMES = tuple(start.removesuffix("://") for start in POSTGRES)


def unknown_scheme(location: str) -> InvalidInput:
    """The error for an address that is not a PostgreSQL store; only its scheme is named, as it may have a password."""
    scheme = location.split("://", maxsplit=1)[0]
    return InvalidInput(
        f"{scheme!r} is not a store fivefold knows; give a file path, ':memory:' or postgresql://user@host/database"
    )


def open_store(location: str | os.PathLike[str], key: str | None = None) -> Store:
    """The store at a path, ':memory:', or an address: of PostgreSQL, or of a scheme that a package registers.

    `key` opens an encrypted file; without it the environment may have it.
    """
    location = checked_location(location)
    if key is not None and (location == ":memory:" or "://" in location):
        raise InvalidInput("encrypts a file; leave it out for any other store", field="key")
    if location.startswith(POSTGRES):
        try:
            from fivefold.stores.postgres.store import PostgresStore
        except ImportError:
            raise MissingExtra("a PostgreSQL store", "postgres") from None
        return PostgresStore(location)
    if "://" in location:
        scheme = location.split("://", maxsplit=1)[0]
        if entry := plugin("stores", scheme, _SCHEMES):
            store: Store = entry.part(members_of(Store), location)
            return store
        raise unknown_scheme(location)
    from fivefold.stores.sqlite.store import SqliteStore

    return SqliteStore(location, key)
