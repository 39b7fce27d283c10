"""What the doctor looks at in a file: that it is sound, and that everything derived agrees with the memories."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from fivefold.stores.base import FIELDS, Finding
from fivefold.stores.sqlite import lexical, vectors
from fivefold.stores.sqlite.connection import number, rows


def check(connection: apsw.Connection, namespace: int | None) -> Iterator[Finding]:
    problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check") if row[0] != "ok"]
    yield Finding("file", not problems, problems[0] if problems else "every page is readable")
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    yield Finding("references", not broken, f"{len(broken)} rows point nowhere" if broken else "all resolve")
    if namespace is None:
        yield Finding("namespace", True, "nothing stored yet")
        return
    yield _lexical(connection, namespace)
    yield from _vectors(connection, namespace)
    yield _entities(connection, namespace)
    yield _sessions(connection, namespace)


def _lexical(connection: apsw.Connection, namespace: int) -> Finding:
    """Each memory is in the index of its kind, and nothing else is."""
    wrong = 0
    for kind, condition in (("turn", "<>"), ("session", "=")):
        docs = f"{lexical.table_of(namespace, kind)}_docsize"
        stored = f"SELECT row FROM memories WHERE namespace = ?1 AND kind {condition} 'session'"
        wrong += _count(connection, f"({stored} EXCEPT SELECT id FROM {docs})", namespace)
        wrong += _count(connection, f"(SELECT id FROM {docs} EXCEPT {stored})", namespace)
    return Finding("lexical index", wrong == 0, f"{wrong} memories differ" if wrong else "agrees with the memories")


def _vectors(connection: apsw.Connection, namespace: int) -> Iterator[Finding]:
    spaces = rows(
        connection, "SELECT key, embedder, dimension FROM spaces WHERE namespace = ? AND state = 'active'", namespace
    )
    if not spaces:
        yield Finding("vectors", _count(connection, "memories WHERE namespace = ?", namespace) == 0, "none pinned yet")
        return
    space, embedder, dimension = spaces[0]
    missing = len(missing_vectors(connection, namespace, space))
    stray = _count(
        connection,
        f"(SELECT id FROM vectors WHERE space = ?1 EXCEPT SELECT rowid FROM {vectors.table_of(dimension)})",
        space,
    )
    yield Finding(
        "vectors", missing + stray == 0,
        f"{missing} memories have none, {stray} are lost" if missing + stray else f"complete, by {embedder}",
    )  # fmt: skip


def missing_vectors(connection: apsw.Connection, namespace: int, space: int, limit: int = -1) -> list[int]:
    """Rows of memories without the vector that every memory of their kind has; sessions come last."""
    found: list[int] = []
    for kind, field in (("<>", "full"), ("=", "session")):
        if limit < 0 or len(found) < limit:
            found += [
                row
                for (row,) in rows(
                    connection,
                    f"SELECT row FROM memories m WHERE +namespace = ? AND kind {kind} 'session' AND NOT EXISTS "
                    "(SELECT 1 FROM vectors v WHERE v.memory = m.row AND v.space = ? AND v.field = ?) "
                    "ORDER BY row LIMIT ?",
                    namespace, space, FIELDS.index(field), limit if limit < 0 else limit - len(found),
                )
            ]  # fmt: skip
    return found


def _entities(connection: apsw.Connection, namespace: int) -> Finding:
    wrong = _count(
        connection,
        "entities e WHERE namespace = ? AND links <> (SELECT count(*) FROM links l WHERE l.entity = e.key)",
        namespace,
    )
    return Finding("entity links", wrong == 0, f"{wrong} entities count wrongly" if wrong else "counts agree")


def _sessions(connection: apsw.Connection, namespace: int) -> Finding:
    wrong = _count(
        connection,
        "sessions s WHERE namespace = ? AND (turns, started_at, ended_at) <> "
        "(SELECT count(*), min(event_at), max(event_at) FROM memories m "
        "WHERE m.namespace = s.namespace AND m.session_id = s.id AND m.kind = 'turn')",
        namespace,
    )
    wrong += _count(
        connection,
        "(SELECT session_id FROM memories WHERE namespace = ?1 AND kind = 'turn' EXCEPT "
        "SELECT id FROM sessions WHERE namespace = ?1)",
        namespace,
    )
    return Finding("session log", wrong == 0, f"{wrong} sessions count wrongly" if wrong else "counts agree")


def _count(connection: apsw.Connection, source: str, value: int) -> int:
    return number(connection, f"SELECT count(*) FROM {source}", value) or 0
