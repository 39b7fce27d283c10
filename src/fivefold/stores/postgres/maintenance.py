"""Looking after a PostgreSQL store: HNSW indexes for fields that have grown large, and fresh statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import psycopg

from fivefold.stores.postgres.dialect import Connection, ask
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.postgres.indexes import Built, built_indexes
from fivefold.stores.postgres.row_level_security import TABLES
from fivefold.stores.postgres.vectors import INDEX_LIMIT, index_name
from fivefold.values.reports import MaintenanceResult
from fivefold.values.times import to_micros, utc_now
from fivefold.values.vectors import FIELDS, VectorField

_LOCK = 0x3546_5550
"""'5FUP': the first half of the advisory lock's key; the schema's name gives the second."""

MOST_MEMORY_KB = 2_000_000
"""What building one index may take of a server's memory at most."""


@dataclass(frozen=True, slots=True)
class Large:
    """A field of which some namespace has enough vectors for an index to pay."""

    field: VectorField
    dimension: int
    most: int
    all: int

    @property
    def index(self) -> str:
        return index_name(self.field, self.dimension)


def maintain(connection: Connection, options: Options) -> Iterator[MaintenanceResult]:
    """Build the indexes that are missing, and renew the planner's statistics; one server at a time does it."""
    ((mine,),) = ask(connection, f"SELECT pg_try_advisory_lock({_LOCK}, hashtext(?))", (options.schema,))
    if not mine:
        yield MaintenanceResult("indexes", False, "another server looks after them just now")
        return
    for large in large_fields(connection, options):
        yield _index(connection, options, large)
    connection.execute("DELETE FROM answers WHERE expires_at <= $1", [to_micros(utc_now())])
    connection.execute(f"ANALYZE {', '.join(('namespaces', *TABLES))}")
    yield MaintenanceResult("statistics", True, "renewed for the planner")


def large_fields(connection: Connection, options: Options) -> list[Large]:
    """Fields by dimension with more vectors of one namespace than are read in a row."""
    rows = ask(
        connection,
        "SELECT h.field, s.dimension, max(h.count), sum(h.count) FROM spaces s JOIN (SELECT namespace, space, field, "
        "sum(count)::bigint AS count FROM held GROUP BY namespace, space, field) AS h "
        "ON h.namespace = s.namespace AND h.space = s.key GROUP BY h.field, s.dimension "
        f"HAVING max(h.count) > {options.exact_up_to:d} ORDER BY h.field, s.dimension",
    )
    return [Large(FIELDS[field], dimension, int(most), int(total)) for field, dimension, most, total in rows]


def as_asked(index: Built | None, options: Options) -> bool:
    """Whether an index is there, whole, and made with these settings."""
    expected = (True, options.hnsw_m, _ef_construction(options))
    return index is not None and (index.whole, index.m, index.ef_construction) == expected


def _index(connection: Connection, options: Options, large: Large) -> MaintenanceResult:
    """Build a field's index if it is missing, unfinished or made with other settings; the old one serves until then."""
    part = f"index of {large.field}, {large.dimension} numbers"
    if large.dimension > INDEX_LIMIT:
        return MaintenanceResult(
            part, False, f"none can be made over {INDEX_LIMIT:,} numbers; searches read all vectors"
        )
    there, spare = built_indexes(partial(ask, connection), options.schema), f"next_{large.index}"
    if as_asked(there.get(large.index), options):
        connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {spare}")
        return MaintenanceResult(part, False, f"is there, for up to {large.most:,} vectors of a namespace")
    if not as_asked(there.get(spare), options):
        connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {spare}")
        _build(connection, options, large, spare)
    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {large.index}")
    connection.execute(f"ALTER INDEX {spare} RENAME TO {large.index}")
    how = "rebuilt" if large.index in there else "built"
    settings = f"m {options.hnsw_m}, ef_construction {_ef_construction(options)}"
    return MaintenanceResult(part, True, f"{how} with {settings}, for up to {large.most:,} vectors of a namespace")


def _build(connection: Connection, options: Options, large: Large, name: str) -> None:
    _take_memory(connection, large, options)
    sql = (
        f"CREATE INDEX CONCURRENTLY {name} ON vectors_{large.field} "
        f"USING hnsw ((embedding::halfvec({large.dimension})) halfvec_ip_ops) "
        f"WITH (m = {options.hnsw_m}, ef_construction = {_ef_construction(options)}) "
        f"WHERE dimension = {large.dimension}"
    )
    try:
        connection.execute(sql)
    except psycopg.errors.DiskFull:
        # Workers share memory through /dev/shm, which a container often has little of.
        connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        connection.execute("SET max_parallel_maintenance_workers = 0")
        connection.execute(sql)


def _take_memory(connection: Connection, large: Large, options: Options) -> None:
    """Enough to hold the whole graph while it is built, as far as that is reasonable."""
    needed = large.all * (2 * large.dimension + 48 * options.hnsw_m + 200) // 1_000
    ((current,),) = ask(connection, "SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'")
    connection.execute(f"SET maintenance_work_mem = {max(current, min(needed, MOST_MEMORY_KB))}")


def _ef_construction(options: Options) -> int:
    return max(options.hnsw_ef_construction, 2 * options.hnsw_m)
