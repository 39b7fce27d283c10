"""The schema's versions: numbered SQL files, applied in order under one lock, so that servers may start together."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import psycopg

from fivefold.errors import NewerSchema, StoreError
from fivefold.stores.base import FIELDS
from fivefold.stores.postgres.dialect import Connection, ask
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.postgres.guards import guard, make_role

LEAST_SERVER = 15
LEAST_PGVECTOR = (0, 7)
_LOCK = 0x35464C44
"""'5FLD': the first half of the advisory lock's key; the schema's name gives the second."""


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Every migration as (version, SQL), oldest first."""
    folder = resources.files("fivefold.stores.postgres").joinpath("migrations")
    found = [
        (int(match[1]), entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if (match := re.fullmatch(r"(\d{4})_\w+\.sql", entry.name))
    ]
    return tuple(sorted(found))


def migrate(connection: Connection, shown: str, options: Options) -> None:
    """Bring the schema to the newest version, or say why that cannot be."""
    newest = migrations()[-1][0]
    if version_of(connection, shown, options) == newest:
        return
    with connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext($1))", [options.schema])
        version = version_of(connection, shown, options)
        if version == newest:
            return
        _check_server(connection, shown)
        if version == 0:
            make_role(connection, options)
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {options.schema}")
            connection.execute("CREATE TABLE schema_version (version integer NOT NULL)")
            connection.execute("INSERT INTO schema_version VALUES (0)")
        for number, sql in migrations():
            if number > version:
                _apply(connection, sql)
        guard(connection, options)
        connection.execute("UPDATE schema_version SET version = $1", [newest])


def version_of(connection: Connection, shown: str, options: Options) -> int:
    """The schema's version; 0 when it is not there."""
    ((there,),) = ask(connection, "SELECT to_regclass(?) IS NOT NULL", (f"{options.schema}.schema_version",))
    if not there:
        taken = ask(connection, "SELECT 1 FROM pg_tables WHERE schemaname = ? LIMIT 1", (options.schema,))
        if taken:
            raise StoreError(
                f"schema {options.schema!r} of {shown} holds another program's tables; "
                "choose another with ?schema= in the address"
            )
        return 0
    newest = migrations()[-1][0]
    ((version,),) = ask(connection, f"SELECT version FROM {options.schema}.schema_version")
    if version > newest:
        raise NewerSchema(
            f"{shown} has schema version {version}, and this fivefold knows up to {newest}; upgrade fivefold to open it"
        )
    return int(version)


def _check_server(connection: Connection, shown: str) -> None:
    """PostgreSQL and pgvector are there and new enough."""
    server = connection.info.server_version // 10_000
    if server < LEAST_SERVER:
        raise StoreError(f"{shown} runs PostgreSQL {server}; {LEAST_SERVER} or newer is needed")
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.FeatureNotSupported:
        raise StoreError(f"{shown} has no pgvector; install it on the server, {_least()} or newer") from None
    except psycopg.errors.InsufficientPrivilege:
        raise StoreError(
            f"{shown} does not let you add an extension; ask its administrator to run: CREATE EXTENSION vector"
        ) from None
    ((version,),) = ask(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_PGVECTOR:
        raise StoreError(f"{shown} has pgvector {version}; {_least()} is needed: ALTER EXTENSION vector UPDATE")


def _least() -> str:
    return ".".join(map(str, LEAST_PGVECTOR))


def _apply(connection: Connection, sql: str) -> None:
    partitions = "\n".join(
        f"CREATE TABLE vectors_{name} PARTITION OF vectors FOR VALUES IN ({code});" for code, name in enumerate(FIELDS)
    )
    # A statement of several commands takes no parameters, and PostgreSQL runs it as one.
    connection.pgconn.exec_(sql.replace("{partitions}", partitions).encode())
