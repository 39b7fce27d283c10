"""The graph search: one bounded recursive statement from the question's entities to memories (R6).

Of all ways to an entity in the same number of hops only the best is followed further: a way that begins worse and goes
on the same ends worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fivefold.stores.queries import CONSIDERED_PER_HIT, Walk
from fivefold.values.times import to_micros

_REACHED = """
WITH RECURSIVE walk(entity, hop, factor, path, seen) AS (
  SELECT e.key, 0, root.factor, e.name::text, ARRAY[e.key]
  FROM unnest(:roots::bigint[], :factors::float8[]) AS root(entity, factor)
  JOIN entities e ON e.namespace = :ns AND e.key = root.entity
  UNION ALL
  SELECT entity, hop, factor, path, seen FROM (
    SELECT *, row_number() OVER (PARTITION BY entity ORDER BY factor DESC, path COLLATE "C") AS nth FROM (
      SELECT o.key AS entity, walk.hop + 1 AS hop,
             walk.factor * d.confidence * CASE WHEN d.valid_to < :now::bigint THEN :expired::float8 ELSE 1.0 END
               * CASE d.kind WHEN 'structural' THEN :structural::float8 WHEN 'semantic' THEN :semantic::float8
                 ELSE :lifecycle::float8 END AS factor,
             walk.path || CASE WHEN d.source = walk.entity THEN ' —' || d.relation || '→ '
                          ELSE ' ←' || d.relation || '— ' END || o.name AS path,
             walk.seen || o.key AS seen
      FROM walk
      CROSS JOIN LATERAL (
        (SELECT * FROM edges WHERE namespace = :ns AND source = walk.entity
         ORDER BY confidence DESC, key DESC LIMIT :fan)
        UNION ALL
        (SELECT * FROM edges WHERE namespace = :ns AND target = walk.entity
         ORDER BY confidence DESC, key DESC LIMIT :fan)) d
      JOIN entities o ON o.namespace = :ns AND o.key = CASE WHEN d.source = walk.entity THEN d.target ELSE d.source END
      WHERE walk.hop < :hops AND NOT o.key = ANY(walk.seen)) step) best
  WHERE nth = 1
),
scored AS (
  SELECT entity, hop, path, factor * (:hop_scores::float8[])[hop + 1] AS score FROM walk
),
reached AS MATERIALIZED (
  SELECT entity, hop, path, score, row_number() OVER (ORDER BY score DESC, hop, path COLLATE "C", entity) AS place
  FROM (SELECT DISTINCT ON (entity) * FROM scored ORDER BY entity, score DESC, hop, path COLLATE "C") best
),
"""

WALK = f"""{_REACHED}
taken AS MATERIALIZED (
  SELECT r.*, sum(least(e.links, :each)) OVER (ORDER BY r.place) - least(e.links, :each) AS before
  FROM reached r JOIN entities e ON e.namespace = :ns AND e.key = r.entity
),
mentioned AS (
  SELECT l.memory, min(r.place) AS place, round(sum(r.score)::numeric, 9) AS support,
         bool_or(EXISTS (SELECT 1 FROM edge_memories s JOIN edges d ON d.namespace = :ns AND d.key = s.edge
                         WHERE s.namespace = :ns AND s.memory = l.memory
                         AND (d.source = r.entity OR d.target = r.entity))) AS states
  FROM taken r CROSS JOIN LATERAL (
    SELECT memory FROM links WHERE namespace = :ns AND entity = r.entity ORDER BY memory DESC LIMIT :each) l
  WHERE r.before < :enough GROUP BY l.memory
)
SELECT m.memory, r.score, r.hop, r.path FROM mentioned m JOIN reached r ON r.place = m.place
ORDER BY r.score DESC, m.states DESC, m.support DESC, m.memory DESC LIMIT :depth
"""

KEPT_WALK = f"""{_REACHED}
linked AS MATERIALIZED (
  SELECT r.place, r.entity, r.score, l.memory,
         row_number() OVER (PARTITION BY r.place ORDER BY l.memory DESC) AS nth
  FROM reached r JOIN links l ON l.namespace = :ns AND l.entity = r.entity
  WHERE l.memory = ANY(:kept::bigint[])
),
shown AS MATERIALIZED (
  SELECT place, entity, score, memory, count(*) OVER (ORDER BY place) - count(*) OVER (PARTITION BY place) AS before
  FROM linked WHERE nth <= :each
),
mentioned AS (
  SELECT l.memory, min(l.place) AS place, round(sum(l.score)::numeric, 9) AS support,
         bool_or(EXISTS (SELECT 1 FROM edge_memories s JOIN edges d ON d.namespace = :ns AND d.key = s.edge
                         WHERE s.namespace = :ns AND s.memory = l.memory
                         AND (d.source = l.entity OR d.target = l.entity))) AS states
  FROM shown l WHERE l.before < :enough GROUP BY l.memory
)
SELECT m.memory, r.score, r.hop, r.path FROM mentioned m JOIN reached r ON r.place = m.place
ORDER BY r.score DESC, m.states DESC, m.support DESC, m.memory DESC LIMIT :depth
"""
"""The same among the memories that a filter leaves: each entity gives its latest ones of these."""


def values_of(namespace: int, roots: Sequence[tuple[int, float]], how: Walk, depth: int) -> dict[str, Any]:
    return {
        "ns": namespace,
        "roots": [entity for entity, _ in roots],
        "factors": [float(factor) for _, factor in roots],
        "now": to_micros(how.now),
        "expired": float(how.expired),
        "structural": float(how.priors["structural"]),
        "semantic": float(how.priors["semantic"]),
        "lifecycle": float(how.priors["lifecycle"]),
        "fan": how.fan_out,
        "hops": how.hops,
        "hop_scores": [float(score) for score in how.hop_scores],
        "each": how.per_entity,
        "depth": depth,
        "enough": CONSIDERED_PER_HIT * depth,
    }
