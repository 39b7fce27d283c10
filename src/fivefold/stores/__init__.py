"""Stores: where memories live."""

from __future__ import annotations

from fivefold.errors import InvalidInput
from fivefold.stores.base import Store


def open_store(location: str) -> Store:
    """The store at `location`: a path, or ':memory:' for one that ends with the process."""
    if "://" in location:
        scheme = location.split("://", maxsplit=1)[0]
        raise InvalidInput(f"{scheme!r} is no store fivefold knows; give a file path or ':memory:'")
    from fivefold.stores.sqlite.store import SqliteStore

    return SqliteStore(location)
