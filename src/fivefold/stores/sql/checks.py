"""The checks of every SQL store: everything derived agrees with the memories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fivefold.stores.sql.dialect import Dialect, Values
from fivefold.values.reports import Finding
from fivefold.values.vectors import FIELDS

Ask = Callable[[str, Values], list[tuple[Any, ...]]]
"""Runs one statement and gives its rows."""


def count_rows(ask: Ask, source: str, namespace: int, *values: Any) -> int:
    return int(ask(f"SELECT count(*) FROM {source}", (namespace, *values))[0][0])


def missing_vectors(ask: Ask, sql: Dialect, namespace: int, space: int, limit: int | None = None) -> list[int]:
    """Rows of memories without the vector that every memory of their kind has; sessions come last."""
    memories: list[int] = []
    for kind, field in (("<>", "full"), ("=", "session")):
        if limit is None or len(memories) < limit:
            most = "" if limit is None else f" LIMIT {limit - len(memories)}"
            missing = ask(
                f"SELECT row FROM memories m WHERE {sql.unindexed('namespace')} = ? AND kind {kind} 'session' "
                f"AND NOT EXISTS (SELECT 1 FROM vectors v WHERE {sql.own_vector} AND v.space = ? AND v.field = ?) "
                f"ORDER BY row{most}",
                (namespace, space, FIELDS.index(field)),
            )
            memories += [row for (row,) in missing]
    return memories


def check_entities(ask: Ask, namespace: int) -> Finding:
    wrong = count_rows(
        ask,
        "entities e WHERE namespace = ?1 AND links <> "
        "(SELECT count(*) FROM links l WHERE l.namespace = ?1 AND l.entity = e.key)",
        namespace,
    )
    return Finding("entity links", wrong == 0, f"{wrong} entities count wrongly" if wrong else "counts agree")


def check_sessions(ask: Ask, namespace: int) -> Finding:
    wrong = count_rows(
        ask,
        "sessions s WHERE namespace = ?1 AND (turns, started_at, ended_at) <> "
        "(SELECT count(*), min(event_at), max(event_at) FROM memories m "
        "WHERE m.namespace = ?1 AND m.session_id = s.id AND m.kind = 'turn')",
        namespace,
    )
    wrong += count_rows(
        ask,
        "(SELECT session_id FROM memories WHERE namespace = ?1 AND kind = 'turn' EXCEPT "
        "SELECT id FROM sessions WHERE namespace = ?1) AS unlogged",
        namespace,
    )
    return Finding("session log", wrong == 0, f"{wrong} sessions count wrongly" if wrong else "counts agree")


def check_vectors(ask: Ask, sql: Dialect, namespace: int, stray: Callable[[int, int], int]) -> Iterator[Finding]:
    """`stray` counts, of a space and its dimension, the vectors that are lost."""
    spaces = ask("SELECT key, embedder, dimension FROM spaces WHERE namespace = ? AND state = 'active'", (namespace,))
    if not spaces:
        yield Finding("vectors", count_rows(ask, "memories WHERE namespace = ?", namespace) == 0, "none pinned yet")
        return
    space, embedder, dimension = spaces[0]
    missing, lost = len(missing_vectors(ask, sql, namespace, space)), stray(space, dimension)
    yield Finding(
        "vectors",
        missing + lost == 0,
        f"{missing} memories have none, {lost} are lost" if missing + lost else f"complete, by {embedder}",
    )
