"""Citus: the same schema over several servers, all rows of a namespace on one shard, so that each recall asks one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

import psycopg

from fivefold.errors import Call, StoreError
from fivefold.stores.postgres.dialect import Connection, Values, ask
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.postgres.schema import TABLES, guard, lock
from fivefold.values.serialize import Value

MIN_CITUS = 13
ARRAY_FUNCTIONS = ("pg_catalog.arrayoverlap(anyarray, anyarray)", "pg_catalog.arraycontains(anyarray, anyarray)")
LEAKPROOF = "; ".join(f"ALTER FUNCTION {name} LEAKPROOF" for name in ARRAY_FUNCTIONS)
"""On a shard the role is bound by the policy alone, behind which GIN serves only what is known to reveal nothing."""

POLL_S = 1.0
END_STATES = ("finished", "cancelled", "failed")

Advance = Callable[[int], None]
Rows = Callable[[str, Values], list[tuple[Any, ...]]]
"""Runs one statement and gives its rows."""


@dataclass(frozen=True, slots=True)
class Distribution(Value):
    """The result of distributing: the number of shards, and the tables that were not yet on them."""

    shards: int
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RebalanceRun(Value):
    """A run of the rebalancer: its number, None when there was nothing to move, and how far it has come."""

    job: int | None
    state: str
    moves: int
    done: int


def is_sharded(rows: Rows, schema: str) -> bool:
    """True if the schema's tables are distributed; false on a server without Citus."""
    return shard_count(rows, schema) > 0


def shard_count(rows: Rows, schema: str) -> int:
    if version_of(rows) is None:
        return 0
    sql = "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = to_regclass(?)"
    return int(rows(sql, (f"{schema}.namespaces",))[0][0])


def version_of(rows: Rows) -> str | None:
    versions = rows("SELECT extversion FROM pg_extension WHERE extname = 'citus'", ())
    return str(versions[0][0]) if versions else None


def on_nodes(rows: Rows, command: str) -> dict[int, tuple[bool, str]]:
    """Runs a command on each node: True if it worked, and its answer or the error."""
    results = rows("SELECT nodeid, success, result FROM run_command_on_all_nodes(?)", (command,))
    return {node: (worked, result) for node, worked, result in results}


def largest_shards(rows: Rows, schema: str) -> dict[str, int]:
    """Of each table the rows of its largest shard, as last analysed."""
    command = (
        "SELECT json_object_agg(name, most) FROM (SELECT regexp_replace(relname, '_[0-9]+$', '') AS name, "
        "max(reltuples)::bigint AS most FROM pg_class WHERE relkind = 'r' AND relname ~ '_[0-9]+$' "
        f"AND relnamespace = '{schema}'::regnamespace GROUP BY 1) AS shards"
    )
    most: dict[str, int] = {}
    for worked, result in on_nodes(rows, command).values():
        for name, count in json.loads(result if worked and result else "{}").items():
            most[name] = max(0, count, most.get(name, 0))
    return most


def distribute(connection: Connection, label: str, options: Options, shards: int, advance: Advance) -> Distribution:
    """Shard all tables by namespace, in one transaction; what is distributed already stays as it is."""
    rows: Rows = partial(ask, connection)
    _check_cluster(rows, label)
    _let_in(connection, rows, options)
    tables = []
    with connection.transaction():
        lock(connection, options)
        for table in ("namespaces", *TABLES):
            if not rows("SELECT 1 FROM pg_dist_partition WHERE logicalrelid = ?::regclass", (table,)):
                how = "'namespace', colocate_with => 'namespaces'"
                if table == "namespaces":
                    how = f"'key', colocate_with => 'none', shard_count => {shards:d}"
                connection.execute(f"SELECT create_distributed_table('{table}', {how})")
                tables.append(table)
            advance(1)
        for table in tables:
            connection.execute("SELECT truncate_local_data_after_distributing_table($1::regclass)", [table])
        if tables:
            guard(connection, options)
    return Distribution(shard_count(rows, options.schema), tuple(tables))


def _check_cluster(rows: Rows, label: str) -> None:
    version = version_of(rows)
    if version is None:
        raise StoreError(
            f"{label} has no Citus. Install it on every server, put it into shared_preload_libraries, and run on each: "
            "CREATE EXTENSION citus"
        )
    if int(version.split(".", maxsplit=1)[0]) < MIN_CITUS:
        raise StoreError(f"{label} has Citus {version}; {MIN_CITUS} or newer is needed")
    if rows("SELECT 1 FROM pg_dist_local_group WHERE groupid <> 0", ()):
        raise StoreError(f"{label} is a worker; name the coordinator")
    if not rows("SELECT 1 FROM pg_dist_node WHERE isactive AND shouldhaveshards", ()):
        raise StoreError(f"{label} has no worker; add each with: SELECT citus_add_node('its host', 5432)")


def _let_in(connection: Connection, rows: Rows, options: Options) -> None:
    """Lets the role log in on the workers, where the coordinator goes as it; and the lexical index serves it there."""
    may = "SELECT rolcanlogin FROM pg_roles WHERE rolname = ?"
    if not rows(may, (options.role,))[0][0]:
        try:
            connection.execute(f"ALTER ROLE {options.role} LOGIN")
        except psycopg.errors.InsufficientPrivilege:
            raise StoreError(
                f"workers let in only roles that may log in; ask an administrator to run: "
                f"ALTER ROLE {options.role} LOGIN"
            ) from None
    mark_leakproof(rows)


def mark_leakproof(rows: Rows) -> None:
    """Let the index over lexemes serve behind a policy on every node; what it could reveal, it reveals to no role."""
    if all(uses_lexical_index(rows).values()):
        return
    ((superuser,),) = rows("SELECT rolsuper FROM pg_roles WHERE rolname = current_user", ())
    if not superuser:
        raise StoreError(
            "the lexical index serves on the workers only once an administrator has run on the coordinator: "
            f"SELECT run_command_on_all_nodes('{LEAKPROOF}')"
        )
    failed = [result for worked, result in on_nodes(rows, LEAKPROOF).values() if not worked]
    if failed:
        raise StoreError(f"a node of the cluster does not answer: {failed[0]}")


def uses_lexical_index(rows: Rows) -> dict[int, bool]:
    """Of each node, whether its lexical index serves."""
    functions = ", ".join(f"'{name}'::regprocedure" for name in ARRAY_FUNCTIONS)
    command = f"SELECT bool_and(proleakproof) FROM pg_proc WHERE oid IN ({functions})"
    return {node: worked and result == "t" for node, (worked, result) in on_nodes(rows, command).items()}


def planned_moves(rows: Rows) -> int:
    """Number of shards that Citus would move to give all nodes an equal share."""
    return int(rows("SELECT count(*) FROM get_rebalance_table_shards_plan()", ())[0][0])


def start_rebalance(connection: Connection, label: str, options: Options) -> RebalanceRun:
    """Let Citus move shards until all nodes have an equal share; gives the new run, or one already running."""
    rows: Rows = partial(ask, connection)
    _check_cluster(rows, label)
    if not is_sharded(rows, options.schema):
        raise StoreError(f"{label} is not distributed yet", advice="distribute it with {call}", call=Call("distribute"))
    mark_leakproof(rows)
    job = _start(connection)
    return RebalanceRun(None, "balanced", 0, 0) if job is None else _progress(rows, job)


def watch_rebalance(connection: Connection, run: RebalanceRun) -> Iterator[RebalanceRun]:
    """Yields the progress of a run, again and again until it has ended."""
    while run.job is not None and run.state not in END_STATES:
        sleep(POLL_S)
        run = _progress(partial(ask, connection), run.job)
        yield run


def _start(connection: Connection) -> int | None:
    try:
        ((job,),) = ask(connection, "SELECT citus_rebalance_start()")
    except psycopg.errors.InternalError as error:
        running = re.search(r"already running as job (\d+)", str(error))
        if running is None:
            raise
        return int(running[1])
    return None if job is None else int(job)


def _progress(rows: Rows, job: int) -> RebalanceRun:
    states = rows("SELECT state, details FROM citus_rebalance_status() WHERE job_id = ?", (job,))
    if not states:
        return RebalanceRun(job, "finished", 0, 0)
    state, details = states[0]
    counts = details.get("task_state_counts", {})
    return RebalanceRun(job, str(state), sum(counts.values()), counts.get("done", 0))
