"""The keys that a SQLite file gives out, table by table."""

from __future__ import annotations

from fivefold.stores.sql.transaction import Transaction


def reserve(txn: Transaction, table: str, more: int) -> int:
    """The last key a table has given out; that many more count as given out from now on."""
    last = txn.number("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
    if last is None:
        txn.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, more)
    else:
        txn.run("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?", more, table)
    return last or 0
