"""The schema's versions: numbered SQL files, applied in order under one lock, so that servers may start together."""

from __future__ import annotations

from functools import cache

import psycopg

from fivefold.errors import NewerSchema, StoreError
from fivefold.stores.postgres.connection import look_in, search_path
from fivefold.stores.postgres.dialect import Connection, ask
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.sql.scope import LABELLED, label_rows
from fivefold.stores.tables import migrations_of
from fivefold.values.vectors import FIELDS

# Row-level security: a role that sees one namespace at a time, whatever a statement asks for (R12).

TABLES = (
    "memories memory_links memory_times memory_labels slots facts entities entity_aliases links edges "
    "edge_memories sessions spaces vectors held tokens documents terms corpora recalls feedback "
    "learned forgotten quarantine rerankers answers queue queue_lengths"
).split()
"""All tables with a column `namespace`, parents before what refers to them; `namespaces` itself goes before all."""

SHARED_TABLES = ("api_keys", "audit")
"""Tables for all namespaces at once. A connection that named a namespace sees nothing of them."""

OWN = "nullif(current_setting('fivefold.namespace', true), '')::bigint"
"""The namespace a transaction has named; none, and it sees nothing."""


def make_role(connection: Connection, options: Options) -> None:
    """The role that row-level security binds, if it is not there, and the right to act as it."""
    try:
        if not ask(connection, "SELECT 1 FROM pg_roles WHERE rolname = ?", (options.role,)):
            with connection.transaction():
                connection.execute(f"CREATE ROLE {options.role} NOLOGIN")
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        pass  # a store in another database of this server made it at the same moment
    except psycopg.errors.InsufficientPrivilege:
        raise StoreError(_grant_hint(connection, options, f"CREATE ROLE {options.role} NOLOGIN; ")) from None
    if not _may_act(connection, options):
        try:
            with connection.transaction():
                connection.execute(f"GRANT {options.role} TO CURRENT_USER")
        except psycopg.errors.InsufficientPrivilege:
            raise StoreError(_grant_hint(connection, options)) from None


def check_role(connection: Connection, options: Options) -> None:
    """The role is one that policies bind, and one this user may act as."""
    roles = ask(
        connection,
        "SELECT r.rolsuper OR r.rolbypassrls OR EXISTS (SELECT 1 FROM pg_tables t WHERE t.schemaname = ?2 "
        "AND pg_has_role(r.rolname, t.tableowner, 'MEMBER')) FROM pg_roles r WHERE r.rolname = ?1",
        (options.role, options.schema),
    )
    if roles and roles[0][0]:
        raise StoreError(
            f"the role {options.role!r} can see every namespace, so it protects none; name another with ?role="
        )
    if not roles or not _may_act(connection, options):
        raise StoreError(_grant_hint(connection, options))


def _may_act(connection: Connection, options: Options) -> bool:
    """Since PostgreSQL 16 who made a role may grant it, but need not be allowed to act as it."""
    right = "SET" if connection.info.server_version >= 160_000 else "MEMBER"
    return bool(ask(connection, "SELECT pg_has_role(current_user, ?, ?)", (options.role, right))[0][0])


def _grant_hint(connection: Connection, options: Options, first: str = "") -> str:
    return (
        f"everything runs as the role {options.role!r}, and {connection.info.user!r} may not act as it; "
        f"ask an administrator to run: {first}GRANT {options.role} TO {connection.info.user}"
    )


def _let_use_vectors(connection: Connection, role: str) -> None:
    """Let the role use the schema of pgvector's types; PostgreSQL silently skips a schema it may not use."""
    schemas = ask(
        connection,
        "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector' AND NOT has_schema_privilege(?, n.oid, 'USAGE')",
        (role,),
    )
    for (schema,) in schemas:
        try:
            with connection.transaction():
                connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        except psycopg.errors.InsufficientPrivilege:
            raise StoreError(
                f"the role {role!r} may not use pgvector; ask an administrator to run: "
                f"GRANT USAGE ON SCHEMA {schema} TO {role}"
            ) from None


def guard(connection: Connection, options: Options) -> None:
    """Policies and rights on all tables, made again after each migration.

    A policy is a barrier: behind it only operators may use an index that are known to reveal nothing, and those of
    GIN are not among them. So the role reads `documents` through a view that holds the same condition and no barrier.
    """
    role = options.role
    connection.execute(f"GRANT USAGE ON SCHEMA {options.schema} TO {role}")
    connection.execute(f"GRANT SELECT ON fivefold_version TO {role}")
    _let_use_vectors(connection, role)
    for table in ("namespaces", *TABLES):
        column = "key" if table == "namespaces" else "namespace"
        connection.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        connection.execute(f"DROP POLICY IF EXISTS own_namespace ON {table}")
        connection.execute(f"CREATE POLICY own_namespace ON {table} USING ({column} = {OWN})")
        connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}")
    connection.execute("DROP POLICY IF EXISTS of_all_namespaces ON queue_lengths")
    connection.execute(f"CREATE POLICY of_all_namespaces ON queue_lengths FOR SELECT USING ({OWN} = 0)")
    for table in SHARED_TABLES:
        connection.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        connection.execute(f"DROP POLICY IF EXISTS of_no_namespace ON {table}")
        connection.execute(f"CREATE POLICY of_no_namespace ON {table} USING ({OWN} = 0)")
    connection.execute(f"GRANT SELECT, INSERT, UPDATE ON api_keys TO {role}")
    connection.execute(f"GRANT SELECT, INSERT, DELETE ON audit TO {role}")
    connection.execute(f"CREATE OR REPLACE VIEW lexicon AS SELECT * FROM documents WHERE namespace = {OWN}")
    connection.execute(f"GRANT SELECT ON lexicon TO {role}")


MIN_SERVER = 15
MIN_PGVECTOR = (0, 7)
LABELS_VERSION = 6
"""The version of the schema that first has the labels of memories."""

_LOCK_KEY = 0x35464C44
"""'5FLD': the first half of the advisory lock's key; the schema's name gives the second."""


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Every migration as (version, SQL), oldest first."""
    return migrations_of("fivefold.stores.postgres")


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
                if number == LABELS_VERSION:
                    _fill_labels(connection)
        guard(connection, options)
        connection.execute("UPDATE fivefold_version SET version = $1", [newest])


def lock(connection: Connection, options: Options) -> None:
    """Until the end of the transaction no one else changes the schema."""
    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK_KEY}, hashtext($1))", [options.schema])


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
    """A new schema. One store at a time makes the parts that all schemas of the database share."""
    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK_KEY}, 0)")
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
    if server < MIN_SERVER:
        raise StoreError(f"{label} runs PostgreSQL {server}; {MIN_SERVER} or newer is needed")
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
    if version < MIN_PGVECTOR:
        number = ".".join(map(str, version))
        raise StoreError(f"{label} has pgvector {number}; {_least()} is needed: ALTER EXTENSION vector UPDATE")


def pgvector(connection: Connection) -> tuple[int, ...]:
    """The version of pgvector in the database."""
    ((version,),) = ask(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    return tuple(int(part) for part in version.split(".")[:2])


def _least() -> str:
    return ".".join(map(str, MIN_PGVECTOR))


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
