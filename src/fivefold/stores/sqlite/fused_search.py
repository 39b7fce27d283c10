"""Searching and fusing in one statement: reciprocal ranks (M3) and the composite score (D1, D2, D9).

The statement calls the dense search as a table, `nearest`, so that it uses the cached vectors as any other
search does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import apsw
import apsw.ext
import numpy as np

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.queries import Arm, Composite, FusedHit
from fivefold.stores.sql.exchanges import SIDES, best_of_side, sessions_of, texts_for, turns_near
from fivefold.stores.sql.kept_rows import ALL, Kept, KeptRows
from fivefold.stores.sqlite import lexical_search
from fivefold.stores.sqlite.connection import one_snapshot
from fivefold.stores.sqlite.dialect import SQLITE
from fivefold.values.decay import Curve
from fivefold.values.recall_trace import RouteHit
from fivefold.values.times import DAY_MICROS, to_micros
from fivefold.values.vectors import FIELDS, Vector, VectorField

if TYPE_CHECKING:
    from fivefold.stores.sqlite.lexical_search import PostingCache
    from fivefold.stores.sqlite.vector_cache import VectorCache

LEFT: dict[Curve, str] = {
    "none": "1.0",
    "linear": "max(0.0, 1.0 - lives / 2)",
    "exponential": "exp(-ln(2) * lives)",
    "gaussian": "exp(-ln(2) * lives * lives)",
    "step": "iif(lives < 1, 1.0, 0.0)",
}
"""The curves of `fivefold.values.decay` in SQL."""


def offer_nearest(connection: apsw.Connection, cache: VectorCache) -> None:
    """Give the connection the table `nearest(space, dimension, field, vector, depth, kept)` of row, score and rank.

    `kept` is the bytes of the rows that a filter leaves, or NULL for all.
    """

    def nearest(
        space: int, dimension: int, field: int, vector: bytes, depth: int, kept: bytes | None
    ) -> Iterator[tuple[int, float, int]]:
        query = np.frombuffer(vector, dtype=np.float32)
        keep = ALL if kept is None else Kept(rows=KeptRows(np.frombuffer(kept, dtype=np.int64), SQLITE))
        hits = cache.search(connection, VectorSpace(space, "", dimension), FIELDS[field], query, depth, keep)
        best = {hit.row: hit.score for hit in reversed(hits)}  # the nearest passage of a memory counts
        memories = dict.fromkeys(hit.row for hit in hits)
        return ((row, best[row], rank) for rank, row in enumerate(memories, 1))

    nearest.columns = ("row", "score", "rank")  # type: ignore[attr-defined]
    nearest.column_access = apsw.ext.VTColumnAccess.By_Index  # type: ignore[attr-defined]
    apsw.ext.make_virtual_module(connection, "nearest", cast(Any, nearest))


def rrf(
    connection: apsw.Connection,
    postings: PostingCache,
    namespace: int,
    space: VectorSpace | None,
    vector: Vector | None,
    lexemes: Sequence[str],
    arms: Sequence[Arm],
    k: float,
    keep: Kept = ALL,
) -> list[FusedHit]:
    """weight / (k + rank) summed over the routes, best first."""
    hits = _hits_by_words(connection, postings, namespace, lexemes, arms, keep)
    parts: list[str] = []
    values: dict[str, Any] = {"k": k, **_values(namespace, keep)}
    for i, arm in enumerate(arms):
        values |= {f"weight{i}": arm.weight}
        if arm.field is not None and space is not None and vector is not None:
            values["vector"] = vector.tobytes()
            source = _source(space, arm, arm.field, keep)
        elif arm.field is None and i in hits:
            values[f"hits{i}"] = json.dumps(list(hits[i]))
            source = f"(SELECT value AS row, NULL AS score, key + 1 AS rank FROM json_each(:hits{i}))"
        else:
            continue
        parts.append(f"SELECT {i} AS arm, row, rank, score, :weight{i} / (:k + rank) AS share FROM {source}")
    if not parts:
        return []
    deepest = max((arm.depth for arm in arms if arm.field in SIDES), default=0)
    turns = f"{_turns(space, deepest, keep)}, " if space is not None and vector is not None and deepest else ""
    rows = connection.execute(
        f"WITH {turns}shares AS MATERIALIZED ({' UNION ALL '.join(parts)}) "
        "SELECT arm, row, rank, score, share, sum(share) OVER (PARTITION BY row) AS total FROM shares "
        "ORDER BY total DESC, row, arm",
        values,
    )
    return [
        FusedHit(arms[arm].route, row, rank, hits[arm][row] if arm in hits else score, share, total)
        for arm, row, rank, score, share, total in rows
    ]


def _hits_by_words(
    connection: apsw.Connection,
    postings: PostingCache,
    namespace: int,
    lexemes: Sequence[str],
    arms: Sequence[Arm],
    keep: Kept,
) -> dict[int, dict[int, float]]:
    """By the place of an arm, the rows with their scores, best first."""
    if not lexemes:
        return {}
    with one_snapshot(connection):
        found = {
            i: lexical_search.search(connection, postings, namespace, lexemes, arm.depth, keep, arm.sessions)
            for i, arm in enumerate(arms)
            if arm.field is None
        }
    return {i: {hit.row: hit.score for hit in hits} for i, hits in found.items()}


def dense_side(
    connection: apsw.Connection,
    namespace: int,
    space: VectorSpace,
    side: VectorField,
    vector: Vector,
    depth: int,
    keep: Kept,
) -> list[RouteHit]:
    """The memories nearest by one side of their exchange (M1)."""
    best = best_of_side(SQLITE, side, "turns", _nearest(space, side, depth), depth, keep)
    rows = connection.execute(
        f"WITH {_turns(space, depth, keep)} {best}", {**_values(namespace, keep), "vector": vector.tobytes()}
    )
    return [RouteHit(row, score) for row, score in rows]


def _values(namespace: int, keep: Kept) -> dict[str, Any]:
    return {"ns": namespace, "kept": _bytes_of(keep), **keep.values("paired")}


def _nearest(space: VectorSpace, where: VectorField, depth: int, kept: str = ":kept") -> str:
    """The vectors of a field as a table of row, score and rank."""
    return f"nearest({space.key}, {space.dimension}, {FIELDS.index(where)}, :vector, {depth}, {kept})"


def _turns(space: VectorSpace, depth: int, keep: Kept) -> str:
    """The table `turns`. A turn may stand for one next to it, so that a filter does not narrow it; it adds its own."""
    near = f"SELECT row, score FROM {_nearest(space, 'full', texts_for(depth), 'NULL')}"
    if keep.rows is not None:
        near += f" UNION SELECT row, score FROM {_nearest(space, 'full', texts_for(depth))}"
    return f"turns AS MATERIALIZED ({turns_near(SQLITE, near)})"


def _source(space: VectorSpace, arm: Arm, where: VectorField, keep: Kept) -> str:
    """What an arm finds, as a table of row, score and rank; sessions are found by turns that no filter narrows."""
    depth, among, kept = (texts_for(arm.depth), ALL, "NULL") if arm.sessions else (arm.depth, keep, ":kept")
    best = _nearest(space, where, depth, kept)
    if where in SIDES:
        best = best_of_side(SQLITE, where, "turns", best, depth, among)
    elif not arm.sessions:
        return best
    if arm.sessions:
        best = sessions_of(SQLITE, f"({best})" if where in SIDES else best, arm.depth, keep)
    return f"(SELECT row, score, row_number() OVER (ORDER BY score DESC, row) AS rank FROM ({best}) AS best)"


def _bytes_of(keep: Kept) -> bytes | None:
    return None if keep.rows is None else keep.rows.rows.tobytes()


def composite(
    connection: apsw.Connection, space: VectorSpace, vector: Vector, how: Composite, keep: Kept = ALL
) -> list[FusedHit]:
    """Candidates, subject counts, recency over the candidate set, weighted sum: one statement (D9)."""
    newness = "iif(oldest < newest, (at - oldest) * 1.0 / (newest - oldest), 1.0)"
    if how.decay.half_life_days is not None:
        newness = f"max(:floor, {LEFT[how.decay.curve]})"
    values: dict[str, Any] = {
        "field": FIELDS.index("full"),
        "vector": vector.tobytes(),
        "depth": how.depth,
        "kept": _bytes_of(keep),
        "now": to_micros(how.now),
        "life": (how.decay.half_life_days or 1.0) * DAY_MICROS,
        "floor": how.decay.floor,
    }
    signals = [("similarity", how.similarity), ("recency", how.recency), ("frequency", how.frequency)]
    used = [(column, *named) for column, named in signals if named is not None]
    parts = []
    for i, (column, _, weight) in enumerate(used):
        values[f"weight{i}"] = weight
        parts.append(
            f"SELECT {i} AS arm, row, row_number() OVER (ORDER BY {column} DESC, row) AS rank, {column} AS score, "
            f":weight{i} * {column} AS share FROM signals"
        )
    rows = connection.execute(
        f"WITH found AS MATERIALIZED (SELECT n.row, min(1.0, max(0.0, n.score)) AS similarity, m.event_at AS at, "
        "coalesce((SELECT sum(e.links) FROM links l CROSS JOIN entities e ON e.key = l.entity WHERE l.memory = n.row),"
        f" 0) AS spoken FROM nearest({space.key}, {space.dimension}, :field, :vector, :depth, :kept) n "
        "CROSS JOIN memories m ON m.row = n.row), "
        "spread AS (SELECT *, min(at) OVER () AS oldest, max(at) OVER () AS newest, max(spoken) OVER () AS most, "
        "max(0, :now - at) / :life AS lives FROM found), "
        f"signals AS MATERIALIZED (SELECT row, similarity, {newness} AS recency, "
        "iif(most > 0, spoken * 1.0 / most, 0.0) AS frequency FROM spread), "
        f"shares AS ({' UNION ALL '.join(parts)}) "
        "SELECT arm, row, rank, score, share, sum(share) OVER (PARTITION BY row) AS total FROM shares "
        "ORDER BY total DESC, row, arm",
        values,
    )
    return [FusedHit(used[arm][1], *rest) for arm, *rest in rows]
