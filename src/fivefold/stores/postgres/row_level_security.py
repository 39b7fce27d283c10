"""Row-level security: a role that sees one namespace at a time, whatever a statement asks for (R12)."""

from __future__ import annotations

import psycopg

from fivefold.errors import StoreError
from fivefold.stores.postgres.dialect import Connection, ask
from fivefold.stores.postgres.dsn import Options

TABLES = (
    "memories",
    "memory_links",
    "memory_times",
    "memory_labels",
    "slots",
    "entities",
    "entity_aliases",
    "links",
    "edges",
    "edge_memories",
    "sessions",
    "spaces",
    "vectors",
    "held",
    "tokens",
    "documents",
    "terms",
    "corpora",
    "recalls",
    "feedback",
    "learned",
    "forgotten",
    "rerankers",
    "answers",
    "queue",
    "queue_lengths",
)
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
