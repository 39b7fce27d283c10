"""The stretches of time that a memory's text names: writing them, and finding memories by time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.queries import NAMES_WINDOW, SAID_AND_NAMES_WINDOW, SAID_IN_WINDOW
from fivefold.stores.sql.dialect import Database, Dialect
from fivefold.stores.sql.kept_rows import ALL, Kept
from fivefold.stores.sql.scoped_reader import ScopedReader
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.entities import Span
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.recall_trace import RouteHit
from fivefold.values.times import DAY_MICROS, to_micros

MOST_TIMES = 16
"""How many stretches of time are stored of one memory, the first ones of its text."""

LONG = 32 * DAY_MICROS
"""A stretch of more than a month is found by an index of its own, whose condition has this number."""

_COLUMNS = ("namespace", "memory", "starts_at", "ends_at")

_OVERLAPS = "{0}starts_at < :last AND ({0}ends_at > :first OR {0}starts_at >= :first)"

Way = tuple[int, int, float, bool]
"""How a memory belongs to a window: the moment, its distance from the centre, the score, whether it was said then."""


def put_times(txn: Transaction, row: int, dates: Sequence[Span]) -> None:
    """Store the stretches that a memory names, each once."""
    if not dates:
        return
    stretches = dict.fromkeys((to_micros(date.start), to_micros(date.end)) for date in dates)
    txn.gather(_write, [(txn.key, row, *stretch) for stretch in list(stretches)[:MOST_TIMES]])


def _write(db: Database, rows: list[tuple[Any, ...]]) -> None:
    db.put("memory_times", _COLUMNS, rows)


def find_within(
    scope: ScopedReader, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING
) -> list[RouteHit]:
    """Memories that were said in the window or name a stretch that overlaps it.

    If there are too many, those nearest to the window's centre, else in time order. A stretch is as far away as the
    further of its ends, so that a year that only overlaps the window comes after a day inside of it.
    """
    first, last = to_micros(start), to_micros(end)
    if first >= last or depth < 1:
        return []
    centre = (first + last) // 2
    found: dict[int, list[Way]] = {}
    kept = scope.kept_rows(keep)
    values = {**parameters_of(first, last, depth), **kept.values("kept")}
    rows = scope.rows(statement_of(scope.sql, kept), **values)
    for row, said_at, *stretch in rows:
        ways = found.setdefault(row, [])
        if first <= said_at < last:
            ways.append((said_at, abs(said_at - centre), 1.0, True))
        if stretch[0] is not None:
            furthest = max(abs(moment - centre) for moment in stretch)
            ways.append((stretch[0], furthest, _share(last - first, *stretch), False))
    by = 1 if len(found) > depth else 0
    order = sorted(found, key=lambda row: (min(way[by] for way in found[row]), row))
    return [RouteHit(row, max(way[2] for way in found[row]), _note(found[row])) for row in order[:depth]]


def find_events(
    scope: ScopedReader, start: datetime, end: datetime, depth: int, keep: Filter, *, named: bool
) -> list[RouteHit]:
    """Events of the window; when there are too many, those nearest to its centre, else as they happened.

    After them, where wanted, those that were said at another time and name the window, the nearest to its centre first.
    """
    if keep.types and "event" not in keep.types:
        return []
    first, last, kept = to_micros(start), to_micros(end), scope.kept(keep)
    centre = (first + last) // 2
    values = {**parameters_of(first, last, depth), **kept.values("kept")}
    said: list[tuple[int, int]] = []
    dated: dict[int, tuple[int, float]] = {}
    for row, said_at, *stretch in scope.rows(_events(scope.sql, kept, named), **values):
        if stretch[0] is None:
            said.append((row, said_at))
        else:
            way = max(abs(moment - centre) for moment in stretch), _share(last - first, *stretch)
            dated[row] = min(way, dated.get(row, way))
    if len(said) <= depth:
        said.sort(key=lambda item: (item[1], item[0]))
    further = [
        RouteHit(row, dated[row][1], NAMES_WINDOW) for row in sorted(dated, key=lambda row: (dated[row][0], row))
    ]
    return [*(RouteHit(row, 1.0) for row, _ in said), *further][:depth]


def _events(sql: Dialect, kept: Kept, named: bool) -> str:
    """What happened in the window, and with `named` the stretches that other events name in it."""
    source = sql.events if kept.rows is None or not kept.rows.few else "memories"
    nothing = "CAST(NULL AS bigint)"
    said = (
        f"SELECT row, event_at, {nothing} AS starts_at, {nothing} AS ends_at FROM {source} WHERE namespace = :ns "
        f"AND type = 'event' AND event_at >= :first AND event_at < :last{kept.among('row', 'kept')} "
        "ORDER BY abs(event_at - :centre), row LIMIT :most"
    )
    if not named:
        return said
    return (
        f"WITH named AS ({_named(sql, kept)}) SELECT * FROM ({said}) AS said UNION ALL "
        "SELECT m.row, m.event_at, n.starts_at, n.ends_at FROM "
        "(SELECT * FROM named ORDER BY distance, memory LIMIT :stretches) AS n CROSS JOIN memories m "
        f"WHERE m.row = n.memory AND {sql.unindexed('m.namespace')} = :ns AND m.type = 'event' "
        "AND (m.event_at < :first OR m.event_at >= :last)"
    )


def _share(window: int, starts_at: int, ends_at: int) -> float:
    """1 for a stretch about as long as the window or shorter; of a longer one, the part that the window is."""
    length = ends_at - starts_at
    return 1.0 if length <= window + DAY_MICROS else window / length


def _note(ways: Sequence[Way]) -> str:
    kinds = {said for *_, said in ways}
    if len(kinds) == 2:
        return SAID_AND_NAMES_WINDOW
    return SAID_IN_WINDOW if True in kinds else NAMES_WINDOW


def parameters_of(first: int, last: int, depth: int) -> dict[str, int]:
    """The parameters of the statement for a window in µs."""
    return {
        "first": first,
        "last": last,
        "centre": (first + last) // 2,
        "reach": first - LONG,
        "most": depth + 1,
        "stretches": MOST_TIMES * (depth + 1),
    }


def statement_of(sql: Dialect, kept: Kept = ALL) -> str:
    """From the centre of the window outwards, so that a long window costs no more than a short one."""
    said = kept.among("row", "kept")
    memories = f"SELECT row AS memory FROM memories WHERE namespace = :ns AND kind <> 'session'{said} AND "
    return (
        f"WITH said AS (SELECT * FROM ({memories} event_at >= :centre AND event_at < :last "
        "ORDER BY event_at, row LIMIT :most) AS later UNION ALL "
        f"SELECT * FROM ({memories} event_at >= :first AND event_at < :centre "
        "ORDER BY event_at DESC, row LIMIT :most) AS earlier), "
        f"named AS ({_named(sql, kept)}), "
        "nearest AS (SELECT memory FROM named GROUP BY memory ORDER BY min(distance), memory LIMIT :most) "
        "SELECT m.row, m.event_at, t.starts_at, t.ends_at FROM "
        "(SELECT memory FROM said UNION SELECT memory FROM nearest) AS f CROSS JOIN memories m "
        f"LEFT JOIN memory_times t ON {sql.unindexed('t.namespace')} = :ns AND t.memory = m.row "
        f"AND {_OVERLAPS.format('t.')} WHERE m.row = f.memory AND {sql.unindexed('m.namespace')} = :ns"
    )


def _named(sql: Dialect, kept: Kept) -> str:
    """The stretches that overlap the window, from its centre outwards, each with its distance."""
    furthest = f"{sql.greatest}(abs(starts_at - :centre), abs(ends_at - :centre))"
    times = (
        f"SELECT memory, starts_at, ends_at, {furthest} AS distance FROM memory_times "
        f"WHERE namespace = :ns{kept.among('memory', 'kept')} AND "
    )
    return (
        f"SELECT * FROM ({times} starts_at >= :centre AND starts_at < :last "
        "ORDER BY starts_at, memory LIMIT :stretches) AS later UNION ALL "
        f"SELECT * FROM ({times} starts_at >= :reach AND starts_at < :centre "
        "AND (ends_at > :first OR starts_at >= :first) "
        "ORDER BY starts_at DESC, memory LIMIT :stretches) AS earlier UNION ALL "
        f"SELECT * FROM ({times} starts_at < :reach AND ends_at > :first AND ends_at - starts_at > {LONG} "
        "ORDER BY starts_at DESC, memory LIMIT :stretches) AS longer"
    )
