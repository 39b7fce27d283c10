"""The graph search: one bounded statement from the question's entities to memories, hop by hop (R6)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache

import apsw

from fivefold.stores.queries import CONSIDERED_PER_HIT, Walk
from fivefold.stores.sql.kept_rows import ALL, Kept
from fivefold.values.recall_trace import RouteHit
from fivefold.values.times import to_micros

_ROOTS = """
WITH level0 AS MATERIALIZED (
  SELECT root.value ->> 0 AS entity, 0 AS hop, root.value ->> 1 AS factor, e.name AS path,
         ',' || e.key || ',' AS seen, min(e.links, :each) AS given
  FROM json_each(:roots) root CROSS JOIN entities e ON e.key = root.value ->> 0 AND e.namespace = :ns
),
"""

_LEVEL = """
least{n} AS MATERIALIZED (
  SELECT iif(sum(given) >= :bound, min(score) FILTER (WHERE before < :bound), 0.0) AS score FROM (
    SELECT *, sum(given) OVER (ORDER BY score DESC, entity) - given AS before FROM (
      SELECT entity, given, max(score) AS score FROM ({scored}) GROUP BY entity))
),
level{next} AS MATERIALIZED (
  SELECT entity, {next} AS hop, factor, path, seen, given FROM (
    SELECT *, row_number() OVER (PARTITION BY entity ORDER BY factor DESC, path) AS nth FROM (
      SELECT o.key AS entity, min(o.links, :each) AS given, walk.seen || o.key || ',' AS seen,
             walk.factor * d.confidence * iif(d.valid_to < :now, :expired, 1.0)
               * CASE d.kind WHEN 'structural' THEN :structural WHEN 'semantic' THEN :semantic ELSE :lifecycle END
               AS factor,
             walk.path || iif(d.source = walk.entity, ' —' || d.relation || '→ ', ' ←' || d.relation || '— ') || o.name
               AS path
      FROM level{n} walk
      CROSS JOIN edges d ON d.key IN (
        SELECT key FROM (SELECT key, confidence FROM edges WHERE source = walk.entity
                         ORDER BY confidence DESC, key DESC LIMIT :fan)
        UNION ALL
        SELECT key FROM (SELECT key, confidence FROM edges WHERE target = walk.entity
                         ORDER BY confidence DESC, key DESC LIMIT :fan))
      CROSS JOIN entities o ON o.key = iif(d.source = walk.entity, d.target, d.source)
      WHERE walk.factor * :further{n} >= (SELECT score FROM least{n})
        AND instr(walk.seen, ',' || o.key || ',') = 0))
  WHERE nth = 1
),
"""
"""The entities one hop further, each by its best way: one that begins worse and goes on the same ends worse.

`least` is the score of the last entity whose memories are still wanted, by what was reached so far. An entity from
which every way on ends below it is not followed further; no edge is worth more than 1.
"""

_BEST = """
reached AS MATERIALIZED (
  SELECT entity, hop, path, score, row_number() OVER (ORDER BY score DESC, hop, path, entity) AS place FROM (
    SELECT *, row_number() OVER (PARTITION BY entity ORDER BY score DESC, hop, path) AS nth FROM ({scored}))
  WHERE nth = 1
),
"""

_WALK = """
taken AS MATERIALIZED (
  SELECT r.*, sum(min(e.links, :each)) OVER (ORDER BY r.place) - min(e.links, :each) AS before
  FROM reached r CROSS JOIN entities e ON e.key = r.entity
)
SELECT l.memory, r.score, r.hop, r.path, min(r.place) AS place, round(sum(r.score), 9) AS support,
       sum(EXISTS (SELECT 1 FROM edge_memories s JOIN edges d ON d.key = s.edge WHERE s.memory = l.memory
                   AND (d.source = r.entity OR d.target = r.entity))) > 0 AS states
FROM taken r CROSS JOIN links l ON l.entity = r.entity AND l.memory IN (
  SELECT memory FROM links WHERE entity = r.entity ORDER BY memory DESC LIMIT :each)
WHERE r.before < :enough GROUP BY l.memory ORDER BY r.score DESC, states DESC, support DESC, l.memory DESC LIMIT :depth
"""

_KEPT_WALK = """
linked AS MATERIALIZED (
  SELECT r.place, r.entity, l.memory, row_number() OVER (PARTITION BY r.place ORDER BY l.memory DESC) AS nth
  FROM reached r CROSS JOIN links l ON l.entity = r.entity
  WHERE {kept}
),
shown AS MATERIALIZED (
  SELECT place, entity, memory, count(*) OVER (ORDER BY place) - count(*) OVER (PARTITION BY place) AS before
  FROM linked WHERE nth <= :each
)
SELECT l.memory, r.score, r.hop, r.path, min(r.place) AS place, round(sum(r.score), 9) AS support,
       sum(EXISTS (SELECT 1 FROM edge_memories s JOIN edges d ON d.key = s.edge WHERE s.memory = l.memory
                   AND (d.source = r.entity OR d.target = r.entity))) > 0 AS states
FROM shown l CROSS JOIN reached r ON r.place = l.place
WHERE l.before < :enough GROUP BY l.memory ORDER BY r.score DESC, states DESC, support DESC, l.memory DESC LIMIT :depth
"""
"""The same among the memories that a filter leaves, by the condition {kept}: each entity gives its latest ones."""


@cache
def _reached(hops: int) -> str:
    """Common table expressions of which the last, `reached`, has every entity in reach with its best way."""
    scored = [f"SELECT entity, hop, path, given, factor * :hop{n} AS score FROM level{n}" for n in range(hops + 1)]
    levels = [_LEVEL.format(n=n, next=n + 1, scored=" UNION ALL ".join(scored[: n + 1])) for n in range(hops)]
    return "".join([_ROOTS, *levels, _BEST.format(scored=" UNION ALL ".join(scored))])


def walk(
    connection: apsw.Connection,
    namespace: int,
    roots: Sequence[tuple[int, float]],
    how: Walk,
    depth: int,
    keep: Kept = ALL,
) -> list[RouteHit]:
    """Memories that mention an entity in reach, by their best path; the path is the hit's note.

    Of equal scores, a memory that states a relation of the entity comes first, then one that mentions more of
    those in reach. Every entity is followed along its surest edges only, and gives its latest memories only, so that
    a hub costs no more than any other; entities further down are left out once those before have given enough.
    """
    values = {
        "roots": json.dumps([list(root) for root in roots]),
        "ns": namespace,
        "now": to_micros(how.now),
        "expired": how.expired,
        "structural": how.priors["structural"],
        "semantic": how.priors["semantic"],
        "lifecycle": how.priors["lifecycle"],
        "fan": how.fan_out,
        "each": how.per_entity,
        "depth": depth,
        "enough": CONSIDERED_PER_HIT * depth,
        "bound": CONSIDERED_PER_HIT * depth if keep.rows is None else math.inf,
        **{f"hop{n}": score for n, score in enumerate(how.hop_scores)},
        **{f"further{n}": max(how.hop_scores[n + 1 : how.hops + 1]) for n in range(how.hops)},
        **keep.values("kept"),
    }
    shown = _WALK if keep.rows is None else _KEPT_WALK.format(kept=keep.rows.among("+l.memory", "kept"))
    return [
        RouteHit(memory, score, path if hop else f"mentions {path}", how.far if hop else 1.0)
        for memory, score, hop, path, *_ in connection.execute(_reached(how.hops) + shown, values)
    ]
