"""Looking after a PostgreSQL store: HNSW indexes for fields that have grown large, and fresh statistics."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import cast

import psycopg

from fivefold.errors import StoreError
from fivefold.stores.postgres.citus import Rows, is_sharded, largest_shards
from fivefold.stores.postgres.dialect import Connection, ask
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.postgres.schema import TABLES
from fivefold.stores.postgres.vectors import INDEX_LIMIT, WITHOUT_VECTOR, index_name
from fivefold.stores.records import VectorSpace
from fivefold.stores.sql.index import DERIVED, check_texts, check_vectors
from fivefold.stores.sql.scope import Scope
from fivefold.values.reports import Finding, MaintenanceResult
from fivefold.values.times import to_micros, utc_now
from fivefold.values.vectors import FIELDS, VectorField

# Which HNSW indexes there are: made by maintenance, in any process, and noticed by all.

AGAIN_S = 60.0
"""After so long the indexes are looked at again."""

Known = dict[tuple[VectorField, int], int]
"""Of each field and dimension with an index, how many vectors are in it, or in its largest shard."""

_NAME = re.compile(rf"vectors_({'|'.join(FIELDS)})_hnsw_(\d+)")
_log = logging.getLogger("fivefold")


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An HNSW index as it is; one whose making was cut short serves nothing."""

    name: str
    whole: bool
    m: int
    ef_construction: int
    table: str
    vectors: int

    @property
    def place(self) -> tuple[VectorField, int] | None:
        """The field and dimension it serves."""
        match = _NAME.fullmatch(self.name)
        return (cast(VectorField, match[1]), int(match[2])) if match else None


def built_indexes(rows: Rows, schema: str) -> dict[str, BuiltIndex]:
    records = rows(
        "SELECT c.relname, i.indisvalid, c.reloptions, t.relname, t.reltuples::bigint FROM pg_index i "
        "JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid "
        "JOIN pg_am a ON a.oid = c.relam WHERE c.relnamespace = ?::regnamespace AND a.amname = 'hnsw'",
        (schema,),
    )
    counts = largest_shards(rows, schema) if records and is_sharded(rows, schema) else {}
    built: dict[str, BuiltIndex] = {}
    for name, whole, options, table, rough in records:
        settings = {"m": "16", "ef_construction": "64"} | dict(item.split("=") for item in options or ())
        m, ef_construction = int(settings["m"]), int(settings["ef_construction"])
        built[name] = BuiltIndex(name, whole, m, ef_construction, table, max(0, counts.get(table, int(rough))))
    return built


def known_indexes(rows: Rows, schema: str) -> Known:
    """The indexes that serve."""
    built = built_indexes(rows, schema).values()
    return {index.place: index.vectors for index in built if index.whole and index.place}


class Indexes:
    """The known indexes. A search never waits for a new look at them."""

    def __init__(self, known: Known, look: Callable[[], Known]) -> None:
        self._known = known
        self._look = look
        self._again = monotonic() + AGAIN_S
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._known)

    def get(self, place: tuple[VectorField, int]) -> int | None:
        """Number of vectors in the index of a field and dimension; None if there is no index."""
        with self._lock:
            due = monotonic() >= self._again
            if due:
                self._again = monotonic() + AGAIN_S
        if due:
            threading.Thread(target=self.renew, name="fivefold-indexes", daemon=True).start()
        return self._known.get(place)

    def renew(self) -> None:
        """Look again; while the server is away, what was known stays."""
        try:
            self._known = self._look()
        except StoreError as error:
            _log.info("the indexes could not be looked at: %s", error)


_LOCK_KEY = 0x3546_5550
"""'5FUP': the first half of the advisory lock's key; the schema's name gives the second."""

MAX_INDEX_MEMORY_KB = 2_000_000
"""Maximum memory of a server that building one index may take."""


@dataclass(frozen=True, slots=True)
class LargeField:
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
    ((mine,),) = ask(connection, f"SELECT pg_try_advisory_lock({_LOCK_KEY}, hashtext(?))", (options.schema,))
    if not mine:
        yield MaintenanceResult("indexes", False, "another server looks after them just now")
        return
    for large in large_fields(connection, options):
        yield _index(connection, options, large)
    connection.execute("DELETE FROM answers WHERE expires_at <= $1", [to_micros(utc_now())])
    connection.execute(f"ANALYZE {', '.join(('namespaces', *TABLES))}")
    yield MaintenanceResult("statistics", True, "renewed for the planner")


def large_fields(connection: Connection, options: Options) -> list[LargeField]:
    """Fields by dimension with more vectors of one namespace than are read in a row."""
    rows = ask(
        connection,
        "SELECT h.field, s.dimension, max(h.count), sum(h.count) FROM spaces s JOIN (SELECT namespace, space, field, "
        "sum(count)::bigint AS count FROM held GROUP BY namespace, space, field) AS h "
        "ON h.namespace = s.namespace AND h.space = s.key GROUP BY h.field, s.dimension "
        f"HAVING max(h.count) > {options.exact_up_to:d} ORDER BY h.field, s.dimension",
    )
    return [LargeField(FIELDS[field], dimension, int(most), int(total)) for field, dimension, most, total in rows]


def as_asked(index: BuiltIndex | None, options: Options) -> bool:
    """True if an index is there, whole, and made with these settings."""
    expected = (True, options.hnsw_m, _ef_construction(options))
    return index is not None and (index.whole, index.m, index.ef_construction) == expected


def _index(connection: Connection, options: Options, large: LargeField) -> MaintenanceResult:
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


def _build(connection: Connection, options: Options, large: LargeField, name: str) -> None:
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


def _take_memory(connection: Connection, large: LargeField, options: Options) -> None:
    """Enough to hold the whole graph while it is built, as far as that is reasonable."""
    needed = large.all * (2 * large.dimension + 48 * options.hnsw_m + 200) // 1_000
    ((current,),) = ask(connection, "SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'")
    connection.execute(f"SET maintenance_work_mem = {max(current, min(needed, MAX_INDEX_MEMORY_KB))}")


def _ef_construction(options: Options) -> int:
    return max(options.hnsw_ef_construction, 2 * options.hnsw_m)


def check(scope: Scope) -> Iterator[Finding]:
    """Everything derived agrees with the memories."""

    def stray(space: VectorSpace) -> int:
        """Vectors whose memory is gone, and counts of vectors that are wrong."""
        lost = scope.count(
            "vectors v WHERE namespace = :ns AND space = :space AND NOT EXISTS "
            "(SELECT 1 FROM memories m WHERE m.namespace = v.namespace AND m.row = v.memory)",
            space=space.key,
        )
        return lost + scope.count(
            "held h WHERE namespace = :ns AND space = :space AND count <> (SELECT count(*) FROM vectors v WHERE "
            "v.namespace = :ns AND v.space = h.space AND v.field = h.field AND v.type = h.type)",
            space=space.key,
        )

    yield Finding("server", True, "answers, and enforces all references")
    if not scope.rows("SELECT 1 FROM namespaces WHERE key = :ns"):
        yield Finding("namespace", True, "nothing stored yet")
        return
    yield from check_texts(scope)
    wrong = scope.count(
        "(SELECT row, kind FROM memories WHERE namespace = :ns) AS m FULL JOIN "
        "(SELECT memory, sessions FROM documents WHERE namespace = :ns) AS d "
        "ON d.memory = m.row AND d.sessions = (m.kind = 'session') WHERE m.row IS NULL OR d.memory IS NULL"
    )
    yield Finding("lexical index", wrong == 0, f"{wrong} memories differ" if wrong else "agrees with the memories")
    wrong = scope.count(
        "(SELECT k.key, count(*) AS documents FROM documents d CROSS JOIN unnest(d.keys) AS k(key) "
        "WHERE d.namespace = :ns GROUP BY k.key) AS used "
        "FULL JOIN (SELECT key, documents FROM terms WHERE namespace = :ns) AS kept USING (key) "
        "WHERE used.documents IS DISTINCT FROM kept.documents"
    )
    wrong += scope.count(
        "(SELECT sessions, count(*) AS documents, sum(length) AS tokens FROM documents WHERE namespace = :ns "
        "GROUP BY sessions) AS used FULL JOIN (SELECT sessions, documents, tokens FROM corpora "
        "WHERE namespace = :ns AND documents > 0) AS kept USING (sessions) WHERE (used.documents, used.tokens) "
        "IS DISTINCT FROM (kept.documents, kept.tokens)"
    )
    counts = f"{wrong} lexemes count wrongly" if wrong else "agree with the index"
    yield Finding("lexical statistics", wrong == 0, counts)
    lost_tokens = f"tokens t WHERE namespace = :ns AND {WITHOUT_VECTOR}"
    yield from check_vectors(scope, stray, lambda: scope.count(lost_tokens))
    for look in DERIVED.values():
        yield from look(scope)
