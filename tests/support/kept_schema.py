"""The tables of a new store, made once in a process: hundreds of tests begin with an empty file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

import apsw

from fivefold.stores.sqlite import schema
from fivefold.stores.sqlite.encryption import KEY_VARIABLE

Migrate = Callable[..., None]


def kept_schema() -> Migrate:
    """Stands for `migrate`: an empty file gets a copy of tables that all migrations have made; others are migrated."""
    made: list[apsw.Connection] = []
    lock = threading.Lock()

    def migrate(
        connection: apsw.Connection, location: str, steps: Sequence[tuple[int, str]], key: str | None = None
    ) -> None:
        with lock:
            if (
                not (key or os.environ.get(KEY_VARIABLE))
                and steps == schema.migrations()
                and location != ":memory:"
                and connection.pragma("page_count") == 0
            ):
                if not made:
                    made.append(apsw.Connection(":memory:"))
                    schema.migrate(made[0], ":memory:", steps)
                with connection.backup("main", made[0], "main") as backup:
                    backup.step()
                return
        schema.migrate(connection, location, steps, key)

    return migrate
