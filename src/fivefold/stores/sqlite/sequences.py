"""The keys that a SQLite file gives out, table by table."""

from __future__ import annotations

import apsw

from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sqlite.connection import number

_LAST_NAMESPACE = (
    "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'namespaces'), 0), coalesce(max(key), 0)) "
    "FROM namespaces"
)


def reserve(txn: Transaction, table: str, more: int) -> int:
    """The last key a table has given out; that many more count as given out from now on."""
    last = txn.number("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
    if last is None:
        txn.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, more)
    else:
        txn.run("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?", more, table)
    return last or 0


def last_namespace(connection: apsw.Connection) -> int:
    """The last key that a namespace got, whether or not it still exists."""
    return number(connection, _LAST_NAMESPACE) or 0


def note_last_namespace(connection: apsw.Connection) -> None:
    """Before a namespace is deleted: its key is never used again, so that no process takes another for it."""
    last = last_namespace(connection)
    connection.execute("DELETE FROM sqlite_sequence WHERE name = 'namespaces'")
    connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('namespaces', ?)", (last,))
