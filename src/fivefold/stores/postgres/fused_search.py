"""Searching and fusing in one statement: reciprocal ranks (M3) and the composite score (D1, D2, D9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fivefold.stores.postgres import lexical, vectors
from fivefold.stores.postgres.dialect import POSTGRES
from fivefold.stores.protocol import VectorSpace
from fivefold.stores.queries import Arm, Composite
from fivefold.stores.sql.exchanges import SIDES, best_of_side, sessions_of, texts_for, turns_near
from fivefold.stores.sql.kept_rows import ALL, Kept
from fivefold.values.decay import Curve
from fivefold.values.times import DAY_MICROS, to_micros
from fivefold.values.vectors import Vector, VectorField

LEFT: dict[Curve, str] = {
    "none": "1.0",
    "linear": "greatest(0.0, 1.0 - lives / 2)",
    "exponential": "exp(-ln(2.0::float8) * lives)",
    "gaussian": "exp(-ln(2.0::float8) * lives * lives)",
    "step": "CASE WHEN lives < 1 THEN 1.0 ELSE 0.0 END",
}
"""The curves of `fivefold.values.decay` in SQL."""

Statement = tuple[str, dict[str, Any]]


def rrf(
    namespace: int,
    space: VectorSpace | None,
    vector: Vector | None,
    lexemes: Sequence[str],
    arms: Sequence[Arm],
    k: float,
    indexed: Sequence[bool],
    has_vectors: Sequence[bool],
    keep: Kept = ALL,
    texts_indexed: bool = False,
) -> Statement | None:
    """weight / (k + rank) summed over the routes, best first; of each arm, whether HNSW serves it, and it holds any.

    `texts_indexed` is whether HNSW serves the search of whole texts by which sides of exchanges are found.
    """
    tables, parts = [], []
    values: dict[str, Any] = {"ns": namespace, "k": float(k), "vector": vector}
    deepest = max((arm.depth for arm in arms if arm.field in SIDES), default=0)
    if deepest and space is not None and vector is not None:
        sql, more = _turns(space, deepest, keep, texts_indexed)
        tables.append(sql)
        values |= more
    for i, arm in enumerate(arms):
        if arm.field is None:
            found = lexical.search(f"arm{i}", lexemes, namespace, arm.depth, keep, arm.sessions) if lexemes else None
        elif space is None or vector is None:
            found = None
        elif arm.sessions:
            found = _sessions(f"arm{i}", arm.field, space, arm.depth, keep, indexed[i], has_vectors[i])
        else:
            found = _arm(f"arm{i}", arm.field, space, arm.depth, keep, indexed[i], has_vectors[i])
        if found is None:
            continue
        tables.append(found[0])
        values |= {**found[1], f"weight{i}": float(arm.weight)}
        parts.append(
            f"SELECT {i} AS arm, memory, rank, score, :weight{i}::float8 / (:k::float8 + rank) AS share FROM "
            f"(SELECT *, row_number() OVER (ORDER BY score DESC, memory) AS rank FROM {_memories(arm, i)}) ranked"
        )
    if not parts:
        return None
    return f"WITH {','.join(tables)}, shares AS MATERIALIZED ({' UNION ALL '.join(parts)}) {_TOTAL}", values


def _arm(
    name: str, where: VectorField, space: VectorSpace, depth: int, keep: Kept, indexed: bool, has_vectors: bool
) -> Statement | None:
    """The search of one field; None where no memory has a vector of it. Sides are also found by whole texts."""
    if where in SIDES:
        return _side(name, space, where, depth, keep, indexed, has_vectors)
    return vectors.search(name, space, where, depth, keep, indexed) if has_vectors else None


def _sessions(
    name: str, where: VectorField, space: VectorSpace, depth: int, keep: Kept, indexed: bool, has_vectors: bool
) -> Statement | None:
    """Sessions by the best of their turns, which no filter narrows."""
    turns = _arm(f"{name}_turns", where, space, texts_for(depth), ALL, indexed, has_vectors)
    if turns is None:
        return None
    best = sessions_of(POSTGRES, f"(SELECT memory AS row, score FROM {name}_turns)", depth, keep)
    sql = f"{turns[0]}, {name} AS MATERIALIZED (SELECT row AS memory, score FROM ({best}) AS sessions)"
    return sql, {**turns[1], **keep.values("paired")}


def dense_side(
    space: VectorSpace, side: VectorField, depth: int, keep: Kept, indexed: bool, has_vectors: bool, texts_indexed: bool
) -> Statement:
    """The memories nearest by one side of their exchange (M1); the vector is the parameter `vector`."""
    turns, values = _turns(space, depth, keep, texts_indexed)
    best, more = _side("best", space, side, depth, keep, indexed, has_vectors)
    return f"WITH {turns}, {best} SELECT memory, score FROM best ORDER BY score DESC, memory", {**values, **more}


def _turns(space: VectorSpace, depth: int, keep: Kept, indexed: bool) -> Statement:
    """The table `turns`. A turn may stand for one next to it, so that a filter does not narrow it; it adds its own."""
    sql, values = vectors.search("texts", space, "full", texts_for(depth), ALL, indexed)
    near = "SELECT memory AS row, score FROM texts"
    if keep.rows is not None:
        kept, more = vectors.search("kept_texts", space, "full", texts_for(depth), keep, False)
        sql, near = f"{sql}, {kept}", f"{near} UNION SELECT memory, score FROM kept_texts"
        values = {**values, **more, **keep.values("paired")}
    return f"{sql}, turns AS MATERIALIZED ({turns_near(POSTGRES, near)})", values


def _side(
    name: str, space: VectorSpace, side: VectorField, depth: int, keep: Kept, indexed: bool, has_vectors: bool
) -> Statement:
    """A common table expression with the best of a side as memory and score."""
    own, sql = "(SELECT row, score FROM turns WHERE FALSE) AS own", ""
    values: dict[str, Any] = {}
    if has_vectors:
        sql, values = vectors.search(f"{name}_own", space, side, depth, keep, indexed)
        own, sql = f"(SELECT memory AS row, score FROM {name}_own) AS own", f"{sql}, "
    best = best_of_side(POSTGRES, side, "turns", own, depth, keep)
    return f"{sql}{name} AS MATERIALIZED (SELECT row AS memory, score FROM ({best}) AS found)", values


def _memories(arm: Arm, i: int) -> str:
    """What an arm has found, each memory once: of a long text the nearest passage counts."""
    if arm.field != "passage":
        return f"arm{i}"
    return f"(SELECT memory, max(score) AS score FROM arm{i} GROUP BY memory) best{i}"


_TOTAL = (
    "SELECT arm, memory, rank, score, share, sum(share) OVER (PARTITION BY memory) AS total FROM shares "
    "ORDER BY total DESC, memory, arm"
)


def composite(
    namespace: int, space: VectorSpace, vector: Vector, how: Composite, indexed: bool, keep: Kept = ALL
) -> Statement:
    """Candidates, subject counts, recency over the candidate set, weighted sum: one statement (D9)."""
    newness = "CASE WHEN oldest < newest THEN (at - oldest)::float8 / (newest - oldest) ELSE 1.0 END"
    if how.decay.half_life_days is not None:
        newness = f"greatest(:floor::float8, {LEFT[how.decay.curve]})"
    search, values = vectors.search("nearest", space, "full", how.depth, keep, indexed)
    values |= {"ns": namespace, "vector": vector, "now": to_micros(how.now)}
    values |= {"life": (how.decay.half_life_days or 1.0) * DAY_MICROS, "floor": float(how.decay.floor)}
    signals = [("similarity", how.similarity), ("recency", how.recency), ("frequency", how.frequency)]
    parts = []
    for i, (column, named) in enumerate((column, named) for column, named in signals if named is not None):
        values[f"weight{i}"] = float(named[1])
        parts.append(
            f"SELECT {i} AS arm, memory, row_number() OVER (ORDER BY {column} DESC, memory) AS rank, "
            f"{column} AS score, :weight{i}::float8 * {column} AS share FROM signals"
        )
    if how.decay.half_life_days is None:
        values.pop("floor")
    return (
        f"WITH {search}, "
        "found AS MATERIALIZED (SELECT n.memory, least(1.0, greatest(0.0, n.score)) AS similarity, m.event_at AS at, "
        "coalesce((SELECT sum(e.links) FROM links l JOIN entities e ON e.namespace = l.namespace AND e.key = l.entity "
        "WHERE l.namespace = :ns AND l.memory = n.memory), 0) AS spoken FROM nearest n "
        "JOIN memories m ON m.namespace = :ns AND m.row = n.memory), "
        "spread AS (SELECT *, min(at) OVER () AS oldest, max(at) OVER () AS newest, max(spoken) OVER () AS most, "
        "greatest(0, :now::bigint - at) / :life::float8 AS lives FROM found), "
        f"signals AS MATERIALIZED (SELECT memory, similarity, {newness} AS recency, "
        "CASE WHEN most > 0 THEN spoken::float8 / most ELSE 0.0 END AS frequency FROM spread), "
        f"shares AS ({' UNION ALL '.join(parts)}) {_TOTAL}",
        values,
    )


def routes_of(how: Composite) -> list[str]:
    """The routes of a composite search by their number in its answer."""
    return [named[0] for named in (how.similarity, how.recency, how.frequency) if named is not None]
