"""Links between memories: which equals or supersedes which, and which only likely does."""

from __future__ import annotations

from fivefold.stores.sql.transaction import Transaction
from fivefold.values.reports import LinkKind

_PAIR = "namespace = ?1 AND ((source = ?2 AND target = ?3) OR (source = ?3 AND target = ?2))"


def link_memories(
    txn: Transaction, source: int, target: int, relation: LinkKind, why: str, chance: float = 1.0
) -> None:
    """Link two memories; a link that exists stays as it is, but for a likely one that becomes sure."""
    pair = (txn.key, source, target)
    if relation == "supersedes":
        txn.run(f"DELETE FROM memory_links WHERE {_PAIR} AND relation = 'likely'", *pair)
    if relation == "likely" and txn.rows(
        f"SELECT 1 FROM memory_links WHERE {_PAIR} AND relation = 'supersedes' LIMIT 1", *pair
    ):
        return
    txn.run(
        "INSERT INTO memory_links (namespace, source, target, relation, why, chance) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        *pair,
        relation,
        why,
        chance,
    )


def unlink_likely(txn: Transaction, row: int) -> None:
    """Delete what a memory likely replaces, and what likely replaces it."""
    for end in ("source", "target"):
        txn.run(f"DELETE FROM memory_links WHERE namespace = ? AND {end} = ? AND relation = 'likely'", txn.key, row)
