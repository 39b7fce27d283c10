"""Links between memories: which equals or supersedes which."""

from __future__ import annotations

from fivefold.stores.sql.transaction import Transaction


def link_memories(txn: Transaction, source: int, target: int, relation: str, why: str) -> None:
    """Link two memories; a link that exists stays as it is."""
    txn.run(
        "INSERT INTO memory_links (namespace, source, target, relation, why) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        txn.key,
        source,
        target,
        relation,
        why,
    )
