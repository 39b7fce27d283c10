"""Links between memories: which equals, supersedes or repeats which, and which only likely supersedes."""

from __future__ import annotations

from fivefold.stores.sql.transaction import Transaction
from fivefold.values.reports import WITH_CHANCE, LinkKind

_PAIR = "namespace = ?1 AND ((source = ?2 AND target = ?3) OR (source = ?3 AND target = ?2))"
READ = "relation IN ('likely', 'repeats')"
"""Links that are read out of two texts; the condition of their index."""


def link_memories(
    txn: Transaction, source: int, target: int, relation: LinkKind, why: str, chance: float = 1.0
) -> None:
    """Link two memories; a link that exists stays as it is, but for a likely one that becomes sure.

    What is superseded is neither likely replaced nor repeated by the same memory.
    """
    pair = (txn.key, source, target)
    if relation == "supersedes":
        txn.run(f"DELETE FROM memory_links WHERE {_PAIR} AND {READ}", *pair)
    if relation in WITH_CHANCE and txn.rows(
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


def unlink_read(txn: Transaction, row: int) -> None:
    """Delete what was read out of the text of a memory: what it likely replaces or repeats, and the reverse."""
    for end in ("source", "target"):
        txn.run(f"DELETE FROM memory_links WHERE namespace = ? AND {end} = ? AND {READ}", txn.key, row)
