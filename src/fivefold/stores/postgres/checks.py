"""The checks of a PostgreSQL store: everything derived agrees with the memories."""

from __future__ import annotations

from collections.abc import Iterator

from fivefold.stores.postgres.dialect import POSTGRES
from fivefold.stores.postgres.vector_writer import WITHOUT_VECTOR
from fivefold.stores.sql.checks import (
    Ask,
    check_entities,
    check_labels,
    check_sessions,
    check_texts,
    check_times,
    check_vectors,
    count_rows,
)
from fivefold.values.reports import Finding


def check(ask: Ask, namespace: int) -> Iterator[Finding]:
    def stray(space: int, dimension: int) -> int:
        """Vectors whose memory is gone, and counts of vectors that are wrong."""
        lost = count_rows(
            ask,
            "vectors v WHERE namespace = ? AND space = ? AND NOT EXISTS "
            "(SELECT 1 FROM memories m WHERE m.namespace = v.namespace AND m.row = v.memory)",
            namespace,
            space,
        )
        return lost + count_rows(
            ask,
            "held h WHERE namespace = ?1 AND space = ?2 AND count <> (SELECT count(*) FROM vectors v WHERE "
            "v.namespace = ?1 AND v.space = h.space AND v.field = h.field AND v.type = h.type)",
            namespace,
            space,
        )

    yield Finding("server", True, "answers, and enforces all references")
    if not ask("SELECT 1 FROM namespaces WHERE key = ?", (namespace,)):
        yield Finding("namespace", True, "nothing stored yet")
        return
    yield check_texts(ask, POSTGRES, namespace)
    yield _documents(ask, namespace)
    yield _statistics(ask, namespace)
    yield from check_vectors(
        ask,
        POSTGRES,
        namespace,
        stray,
        lambda: count_rows(ask, f"tokens t WHERE namespace = ? AND {WITHOUT_VECTOR}", namespace),
    )
    yield check_entities(ask, namespace)
    yield check_sessions(ask, namespace)
    yield check_times(ask, POSTGRES, namespace)
    yield check_labels(ask, namespace)


def _documents(ask: Ask, namespace: int) -> Finding:
    """Each memory is in the lexical index under its kind, and nothing else is."""
    wrong = count_rows(
        ask,
        "(SELECT row, kind FROM memories WHERE namespace = ?1) AS m FULL JOIN "
        "(SELECT memory, sessions FROM documents WHERE namespace = ?1) AS d "
        "ON d.memory = m.row AND d.sessions = (m.kind = 'session') WHERE m.row IS NULL OR d.memory IS NULL",
        namespace,
    )
    return Finding("lexical index", wrong == 0, f"{wrong} memories differ" if wrong else "agrees with the memories")


def _statistics(ask: Ask, namespace: int) -> Finding:
    """How often each lexeme is used, and how many there are, as the documents have it."""
    wrong = count_rows(
        ask,
        "(SELECT k.key, count(*) AS documents FROM documents d CROSS JOIN unnest(d.keys) AS k(key) "
        "WHERE d.namespace = ?1 GROUP BY k.key) AS used "
        "FULL JOIN (SELECT key, documents FROM terms WHERE namespace = ?1) AS kept USING (key) "
        "WHERE used.documents IS DISTINCT FROM kept.documents",
        namespace,
    )
    wrong += count_rows(
        ask,
        "(SELECT sessions, count(*) AS documents, sum(length) AS tokens FROM documents WHERE namespace = ?1 "
        "GROUP BY sessions) AS used FULL JOIN (SELECT sessions, documents, tokens FROM corpora "
        "WHERE namespace = ?1 AND documents > 0) AS kept USING (sessions) WHERE (used.documents, used.tokens) "
        "IS DISTINCT FROM (kept.documents, kept.tokens)",
        namespace,
    )
    return Finding(
        "lexical statistics", wrong == 0, f"{wrong} lexemes count wrongly" if wrong else "agree with the index"
    )
