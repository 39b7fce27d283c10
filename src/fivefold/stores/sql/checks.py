"""The checks of every SQL store: everything derived agrees with the memories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sql.dialect import Dialect, Values
from fivefold.stores.sql.memory_labels import LABELLED, label_rows
from fivefold.stores.sql.memory_times import MOST_TIMES
from fivefold.stores.sql.spaces import SPACE_COLUMNS, space_of
from fivefold.values.ids import is_hash_of
from fivefold.values.reports import Finding
from fivefold.values.vectors import FIELDS

TEXTS = 2_000
"""Texts that are read together."""

NAMED = 10
"""The most ids that a finding names."""

Ask = Callable[[str, Values], list[tuple[Any, ...]]]
"""Runs one statement and gives its rows."""


def count_rows(ask: Ask, source: str, namespace: int, *values: Any) -> int:
    return int(ask(f"SELECT count(*) FROM {source}", (namespace, *values))[0][0])


def missing_vectors(
    ask: Ask, sql: Dialect, namespace: int, space: int, limit: int | None = None, tokens: bool = False
) -> list[int]:
    """Rows of memories without the vector that every memory of their kind has; sessions come last.

    With `tokens` also memories without token vectors, which session memories never have.
    """
    memories: list[int] = []
    for kind, field in (("<>", "full"), ("=", "session")):
        if limit is None or len(memories) < limit:
            most = "" if limit is None else f" LIMIT {limit - len(memories)}"
            lacks = f"NOT EXISTS (SELECT 1 FROM vectors v WHERE {sql.own_vector} AND v.space = ?2 AND v.field = ?3)"
            if tokens and field == "full":
                lacks = f"({lacks} OR NOT EXISTS (SELECT 1 FROM {sql.token_rows} t WHERE {sql.own_tokens}))"
            missing = ask(
                f"SELECT row FROM memories m WHERE {sql.unindexed('namespace')} = ?1 AND kind {kind} 'session' "
                f"AND {lacks} ORDER BY row{most}",
                (namespace, space, FIELDS.index(field)),
            )
            memories += [row for (row,) in missing]
    return memories


def unsound_passages(ask: Ask, sql: Dialect, namespace: int, space: int) -> list[int]:
    """Rows of memories whose passages are not numbered from 0 on, or not the ones that have token vectors."""
    passage = FIELDS.index("passage")
    numbered = (
        f"SELECT memory, count(*) AS parts FROM vectors WHERE {sql.in_space} AND field = {passage} GROUP BY memory"
    )
    gaps = ask(f"{numbered} HAVING count(*) < 2 OR max(part) + 1 <> count(*)", (namespace, space))
    wrong = ask(
        f"SELECT read.memory FROM (SELECT memory, count(*) AS parts, max(part) AS last FROM {sql.token_rows} t "
        f"WHERE {sql.in_space} GROUP BY memory) AS read LEFT JOIN ({numbered}) AS numbered "
        "ON numbered.memory = read.memory WHERE read.parts <> coalesce(numbered.parts, 1) "
        "OR read.last + 1 <> read.parts",
        (namespace, space),
    )
    return sorted({row for row, *_ in (*gaps, *wrong)})


def listed(ids: list[str]) -> str:
    """The first of some ids."""
    return ", ".join(ids[:NAMED]) + (" …" if len(ids) > NAMED else "")


def check_texts(ask: Ask, sql: Dialect, namespace: int) -> Finding:
    """Each text is still the one that was stored, by the hash that was stored with it."""
    changed, after = [], 0
    while batch := ask(
        "SELECT row, id, content_hash, CASE kind WHEN 'session' THEN session_id ELSE speaker END, content "
        f"FROM memories WHERE row > ?2 AND {sql.unindexed('namespace')} = ?1 ORDER BY row LIMIT {TEXTS}",
        (namespace, after),
    ):
        changed += [str(id) for _, id, stored, first, content in batch if not is_hash_of(bytes(stored), first, content)]
        after = batch[-1][0]
    detail = (
        f"{len(changed)} texts are not what was stored: {listed(changed)}" if changed else "all are what was stored"
    )
    return Finding("texts", not changed, detail)


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


def check_times(ask: Ask, sql: Dialect, namespace: int) -> Finding:
    """Each memory has the stretches of time that were extracted from it, up to the most that are stored."""
    wrong = count_rows(
        ask,
        "(SELECT memory FROM (SELECT memory, starts_at, ends_at, max(named) AS named, max(stored) AS stored FROM ("
        f"SELECT memory, starts_at, ends_at, 1 AS named, 0 AS stored FROM {sql.extracted_times} AS extracted UNION ALL "
        "SELECT memory, starts_at, ends_at, 0, 1 FROM memory_times WHERE namespace = ?1) AS both_sides "
        "GROUP BY memory, starts_at, ends_at) AS stretches "
        f"GROUP BY memory HAVING sum(stored) <> {sql.least}({MOST_TIMES}, sum(named)) OR min(named) = 0) AS wrong",
        namespace,
    )
    return Finding("named times", wrong == 0, f"{wrong} memories differ" if wrong else "agree with the memories")


def check_labels(ask: Ask, namespace: int) -> Finding:
    """Each memory has the labels of its tags and its metadata, and nothing else has any."""
    memories = ask(
        f"SELECT namespace, row, tags, metadata FROM memories WHERE namespace = ? AND {LABELLED}", (namespace,)
    )
    stored = ask("SELECT namespace, name, value, memory FROM memory_labels WHERE namespace = ?", (namespace,))
    differing = set(label_rows(memories)) ^ set(stored)
    wrong = len({memory for *_, memory in differing})
    return Finding("labels", wrong == 0, f"{wrong} memories differ" if wrong else "agree with the memories")


def check_vectors(
    ask: Ask, sql: Dialect, namespace: int, stray: Callable[[int, int], int], stray_tokens: Callable[[], int]
) -> Iterator[Finding]:
    """`stray` counts, of a space and its dimension, the vectors that are lost; `stray_tokens` token vectors."""
    spaces = ask(f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = ? AND state = 'active'", (namespace,))
    if not spaces:
        yield Finding("vectors", count_rows(ask, "memories WHERE namespace = ?", namespace) == 0, "none pinned yet")
        return
    space = space_of(spaces[0])
    missing, lost = len(missing_vectors(ask, sql, namespace, space.key)), stray(space.key, space.dimension)
    yield Finding(
        "vectors",
        missing + lost == 0,
        f"{missing} memories have none, {lost} are lost" if missing + lost else f"complete, by {space.embedder}",
    )
    yield from _check_passages(ask, sql, namespace, space, stray_tokens())


def _check_passages(ask: Ask, sql: Dialect, namespace: int, space: VectorSpace, lost: int) -> Iterator[Finding]:
    """Nothing where there are neither long texts nor token vectors."""
    unsound = len(unsound_passages(ask, sql, namespace, space.key))
    has_passages = ask(
        f"SELECT 1 FROM vectors WHERE {sql.in_space} AND field = {FIELDS.index('passage')} LIMIT 1",
        (namespace, space.key),
    )
    if has_passages or space.tokens or unsound or lost:
        with_passages = f"{unsound} memories disagree with their passages"
        yield Finding("passages", unsound == 0, with_passages if unsound else "agree with their memories")
    if space.tokens or lost:
        missing = len(missing_vectors(ask, sql, namespace, space.key, tokens=space.tokens))
        yield Finding(
            "token vectors",
            missing + lost == 0,
            f"{missing} memories have none, {lost} belong to no memory" if missing + lost else "complete",
        )
