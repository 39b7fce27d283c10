"""The schema's versions: numbered SQL files, applied in order under one lock, so that servers may start together."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import psycopg

from fivefold.errors import NewerSchema, StoreError
from fivefold.stores.postgres.connection import look_in, search_path
from fivefold.stores.postgres.dialect import Connection, ask
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.postgres.row_level_security import guard, make_role
from fivefold.stores.sql.memory_labels import LABELLED, label_rows
from fivefold.values.vectors import FIELDS

LEAST_SERVER = 15
LEAST_PGVECTOR = (0, 7)
LABELS = 6
"""The version of the schema that first has the labels of memories."""

_LOCK = 0x35464C44
"""'5FLD': the first half of the advisory lock's key; the schema's name gives the second."""


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Every migration as (version, SQL), oldest first."""
    folder = resources.files("fivefold.stores.postgres").joinpath("migrations")
    steps = [
        (int(match[1]), entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if (match := re.fullmatch(r"(\d{4})_\w+\.sql", entry.name))
    ]
    return tuple(sorted(steps))


def migrate(connection: Connection, label: str, options: Options) -> None:
    """Bring the schema to the newest version, or say why that cannot be."""
    newest = migrations()[-1][0]
    if version_of(connection, label, options) == newest:
        return
    with connection.transaction():
        lock(connection, options)
        version = version_of(connection, label, options)
        if version == newest:
            return
        if version == 0:
            _begin(connection, label, options)
        else:
            _must_own(connection, label, options, newest)
        for number, sql in migrations():
            if number > version:
                _apply(connection, sql)
                if number == LABELS:
                    _fill_labels(connection)
        guard(connection, options)
        connection.execute("UPDATE fivefold_version SET version = $1", [newest])


def lock(connection: Connection, options: Options) -> None:
    """Until the end of the transaction no one else changes the schema."""
    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext($1))", [options.schema])


def version_of(connection: Connection, label: str, options: Options) -> int:
    """The schema's version; 0 when it is not there."""
    ((ours,),) = ask(connection, "SELECT to_regclass(?) IS NOT NULL", (f"{options.schema}.fivefold_version",))
    if not ours:
        if ask(connection, "SELECT 1 FROM pg_tables WHERE schemaname = ? LIMIT 1", (options.schema,)):
            raise StoreError(
                f"schema {options.schema!r} of {label} holds another program's tables; "
                "choose another with ?schema= in the address"
            )
        return 0
    newest = migrations()[-1][0]
    ((version,),) = ask(connection, f"SELECT version FROM {options.schema}.fivefold_version")
    if version > newest:
        raise NewerSchema(
            f"{label} has schema version {version}, and this fivefold knows up to {newest}; upgrade fivefold to open it"
        )
    return int(version)


def _begin(connection: Connection, label: str, options: Options) -> None:
    """A new schema. What is common to all schemas of the database is made by one store at a time."""
    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK}, 0)")
    _check_server(connection, label)
    reserved = "SELECT 1 FROM pg_get_keywords() WHERE word IN (?, ?) AND catcode IN ('R', 'T')"
    if ask(connection, reserved, (options.schema, options.role)):
        raise StoreError(f"{options.schema!r} or {options.role!r} is a word of SQL; choose another name")
    make_role(connection, options)
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {options.schema}")
    look_in(connection, search_path(connection, options))
    connection.execute("CREATE TABLE fivefold_version (version integer NOT NULL)")
    connection.execute("INSERT INTO fivefold_version VALUES (0)")


def _must_own(connection: Connection, label: str, options: Options, newest: int) -> None:
    ((owner, may),) = ask(
        connection,
        "SELECT tableowner, pg_has_role(current_user, tableowner, 'MEMBER') FROM pg_tables "
        "WHERE schemaname = ? AND tablename = 'fivefold_version'",
        (options.schema,),
    )
    if not may:
        raise StoreError(f"{label} must be brought to schema version {newest}; open it once as its owner, {owner!r}")


def _check_server(connection: Connection, label: str) -> None:
    """PostgreSQL and pgvector are there and new enough, and the database can hold any text."""
    server = connection.info.server_version // 10_000
    if server < LEAST_SERVER:
        raise StoreError(f"{label} runs PostgreSQL {server}; {LEAST_SERVER} or newer is needed")
    ((encoding,),) = ask(connection, "SHOW server_encoding")
    if encoding != "UTF8":
        raise StoreError(f"{label} is a database of encoding {encoding}; create one with ENCODING 'UTF8'")
    there = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    try:
        if not ask(connection, there):  # Citus asks for the right to make one even where it is there
            with connection.transaction():
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
        raise StoreError(f"{label} has no pgvector; install it on the server, {_least()} or newer") from None
    except psycopg.errors.InsufficientPrivilege:
        raise StoreError(
            f"{label} does not let you add an extension; ask its administrator to run: CREATE EXTENSION vector"
        ) from None
    version = pgvector(connection)
    if version < LEAST_PGVECTOR:
        number = ".".join(map(str, version))
        raise StoreError(f"{label} has pgvector {number}; {_least()} is needed: ALTER EXTENSION vector UPDATE")


def pgvector(connection: Connection) -> tuple[int, ...]:
    """The version of pgvector in the database."""
    ((version,),) = ask(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    return tuple(int(part) for part in version.split(".")[:2])


def _least() -> str:
    return ".".join(map(str, LEAST_PGVECTOR))


def _apply(connection: Connection, sql: str) -> None:
    partitions = "\n".join(
        f"CREATE TABLE vectors_{name} PARTITION OF vectors FOR VALUES IN ({code});" for code, name in enumerate(FIELDS)
    )
    psycopg.ClientCursor(connection).execute(sql.replace("{partitions}", partitions))


def _fill_labels(connection: Connection) -> None:
    """The labels of the memories that are there, a few thousand memories at a time."""
    after: tuple[int, int] = (-(2**63), 0)
    while memories := ask(
        connection,
        f"SELECT namespace, row, tags, metadata FROM memories WHERE {LABELLED} AND (namespace, row) > (?, ?) "
        "ORDER BY namespace, row LIMIT 5000",
        after,
    ):
        after = memories[-1][:2]
        labels = list(label_rows(memories))
        if labels:
            connection.execute(
                "INSERT INTO memory_labels (namespace, name, value, memory) "
                "SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])",
                list(map(list, zip(*labels, strict=True))),
            )
