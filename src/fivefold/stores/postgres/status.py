"""The status of a PostgreSQL store: its server, tables, indexes and replicas, and on Citus its nodes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import psycopg

from fivefold.errors import StoreError
from fivefold.stores.postgres.citus import Rows, on_nodes, planned_moves, shard_count, uses_lexical_index, version_of
from fivefold.stores.postgres.connection import connect
from fivefold.stores.postgres.dialect import Connection, ask
from fivefold.stores.postgres.dsn import Options, without_password
from fivefold.stores.postgres.maintenance import as_asked, built_indexes, large_fields
from fivefold.values.serialize import Value

if TYPE_CHECKING:
    from fivefold.stores.postgres.store import PostgresStore

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class TableSize(Value):
    """A table, or the partition of one field's vectors; rows as last analysed."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class IndexState(Value):
    """An HNSW index that is there or should be; `state` says which."""

    name: str
    state: str
    m: int | None
    ef_construction: int | None


@dataclass(frozen=True, slots=True)
class ReplicaState(Value):
    """A replica, and how far it is behind; `error` when it could not be asked."""

    address: str
    behind_bytes: int | None
    behind_s: float | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Node(Value):
    """A server of the cluster with its share."""

    address: str
    role: str
    answers: bool
    shards: int
    bytes: int
    lexical_index: bool
    """True if the lexical index serves there; `db distribute` and `db rebalance` see to it."""


@dataclass(frozen=True, slots=True)
class Cluster(Value):
    """Citus: whether the schema is distributed, over how many shards, and how many of them should move."""

    version: str
    distributed: bool
    shards: int
    planned_moves: int | None
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Value):
    """The state of the servers that hold a store."""

    server: str
    pgvector: str
    schema: str
    schema_version: int
    namespaces: int | None
    """None while a node is away."""
    bytes: int
    tables: tuple[TableSize, ...]
    indexes: tuple[IndexState, ...]
    replicas: tuple[ReplicaState, ...]
    citus: Cluster | None


def status_of(store: PostgresStore) -> Status:
    """Everything at once; tables largest first."""
    options = store.options
    with store.administration() as connection:
        rows: Rows = partial(ask, connection)
        shares = _shares(rows, options)
        tables = _tables(rows, options) if not shares else _sum(list(shares.values()))
        ((server, pgvector, version),) = rows(
            "SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
            "(SELECT version FROM fivefold_version)",
            (),
        )
        namespaces = _unless_away(lambda: int(rows("SELECT count(*) FROM namespaces", ())[0][0]))
        return Status(
            server=server,
            pgvector=pgvector,
            schema=options.schema,
            schema_version=version,
            namespaces=namespaces,
            bytes=sum(table.bytes for table in tables),
            tables=tuple(tables),
            indexes=_indexes(connection, options),
            replicas=_replicas(rows, store.replica_addresses, options),
            citus=_cluster(rows, options, shares),
        )


def _unless_away(look: Callable[[], Answer]) -> Answer | None:
    """Runs a look that needs every node of a cluster; None while one is away."""
    try:
        return look()
    except psycopg.OperationalError:
        return None


_SIZES = (
    "SELECT coalesce(json_object_agg(name, json_build_array(rows, bytes)), '{{}}') FROM (SELECT {name} AS name, "
    "sum(greatest(reltuples, 0))::bigint AS rows, sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class "
    "WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r'{only} GROUP BY 1) AS sizes"
)


def _tables(rows: Rows, options: Options) -> list[TableSize]:
    ((sizes,),) = rows(_SIZES.format(name="relname", schema=options.schema, only=""), ())
    return _sum([sizes])


def _shares(rows: Rows, options: Options) -> dict[int, dict[str, list[int]]]:
    """The contents of each node by table; empty if the schema is not distributed."""
    if not shard_count(rows, options.schema):
        return {}
    of_shards = _SIZES.format(
        name="regexp_replace(relname, '_[0-9]+$', '')", schema=options.schema, only=" AND relname ~ '_[0-9]+$'"
    )
    answers = on_nodes(rows, of_shards)
    return {node: json.loads(result) if worked else {} for node, (worked, result) in answers.items()}


def _sum(shares: Sequence[dict[str, list[int]]]) -> list[TableSize]:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for share in shares:
        for name, (count, size) in share.items():
            counts[name] += count
            sizes[name] += size
    return [
        TableSize(name, counts[name], size) for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item))
    ]


def _indexes(connection: Connection, options: Options) -> tuple[IndexState, ...]:
    """Those that are there, and those that maintenance would make."""
    built = built_indexes(partial(ask, connection), options.schema)
    expected = {large.index for large in _unless_away(lambda: large_fields(connection, options)) or ()}
    indexes = []
    for name in sorted({*built, *expected}):
        index = built.get(name)
        if index is None:
            indexes.append(IndexState(name, "missing; maintenance creates it", None, None))
            continue
        state = "serves" if index.whole else "unfinished; maintenance creates it again"
        if index.whole and name in expected and not as_asked(index, options):
            state = "serves, with other settings than requested; maintenance creates it again"
        indexes.append(IndexState(name, state, index.m, index.ef_construction))
    return tuple(indexes)


def _replicas(rows: Rows, addresses: Sequence[str], options: Options) -> tuple[ReplicaState, ...]:
    if not addresses:
        return ()
    ((position,),) = rows("SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint", ())
    return tuple(_replica(address, position, options) for address in addresses)


def _replica(address: str, primary: int, options: Options) -> ReplicaState:
    label = without_password(address)
    try:
        with connect(address, label, options) as connection:
            ((position, seconds),) = ask(
                connection,
                "SELECT (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint, CASE WHEN pg_last_wal_receive_lsn() "
                "= pg_last_wal_replay_lsn() THEN 0 ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) "
                "END::float8",
            )
    except StoreError as error:
        return ReplicaState(label, None, None, str(error))
    if position is None:
        return ReplicaState(label, None, None, "it is not a replica: it takes writes of its own")
    return ReplicaState(label, max(0, primary - position), seconds, None)


def _cluster(rows: Rows, options: Options, shares: dict[int, dict[str, list[int]]]) -> Cluster | None:
    version = version_of(rows)
    if version is None:
        return None
    shards = shard_count(rows, options.schema)
    serving = uses_lexical_index(rows)
    placements: dict[int, int] = dict(
        rows(
            "SELECT n.nodeid, count(*) FROM pg_dist_node n JOIN pg_dist_placement p ON p.groupid = n.groupid "
            "JOIN pg_dist_shard s ON s.shardid = p.shardid WHERE s.logicalrelid = to_regclass(?) GROUP BY 1",
            (f"{options.schema}.namespaces",),
        )
    )
    answering = {node for node, (worked, _) in on_nodes(rows, "SELECT 1").items() if worked}
    nodes = [
        Node(
            f"{host}:{port}",
            "coordinator" if group == 0 else "worker" if role == "primary" else role,
            node in answering,
            placements.get(node, 0),
            sum(size for _, size in shares.get(node, {}).values()),
            serving.get(node, False),
        )
        for node, host, port, group, role in rows(
            "SELECT nodeid, nodename, nodeport, groupid, noderole::text FROM pg_dist_node ORDER BY groupid, nodeid", ()
        )
    ]
    moves = _unless_away(lambda: planned_moves(rows)) if shards else 0
    return Cluster(version, shards > 0, shards, moves, tuple(nodes))
