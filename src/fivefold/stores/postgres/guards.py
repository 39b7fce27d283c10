"""Row-level security: a role that sees one namespace at a time, whatever a statement asks for (R12)."""

from __future__ import annotations

import psycopg

from fivefold.errors import StoreError
from fivefold.stores.postgres.dialect import Connection, ask
from fivefold.stores.postgres.dsn import Options

TABLES = (
    "memories", "memory_links", "slots", "entities", "entity_aliases", "links", "edges", "edge_memories", "sessions",
    "spaces", "vectors", "held", "documents", "terms", "corpora", "recalls", "feedback", "learned",
)  # fmt: skip
"""All tables with a column `namespace`, parents before what refers to them; `namespaces` itself goes before all."""

OWN = "nullif(current_setting('fivefold.namespace', true), '')::bigint"
"""The namespace a transaction has named; none, and it sees nothing."""


def make_role(connection: Connection, options: Options) -> None:
    """The role that row-level security binds, if it is not there, and the right to act as it."""
    try:
        if not ask(connection, "SELECT 1 FROM pg_roles WHERE rolname = ?", (options.role,)):
            with connection.transaction():
                connection.execute(f"CREATE ROLE {options.role} NOLOGIN")
    except psycopg.errors.DuplicateObject:
        pass  # another store on this server made it at the same moment
    except psycopg.errors.InsufficientPrivilege:
        raise StoreError(
            f"the role {options.role!r} is needed and you may not create it; ask an administrator to run: "
            f"CREATE ROLE {options.role} NOLOGIN; GRANT {options.role} TO {connection.info.user}"
        ) from None
    if not ask(connection, "SELECT pg_has_role(current_user, ?, 'MEMBER')", (options.role,))[0][0]:
        connection.execute(f"GRANT {options.role} TO CURRENT_USER")


def guard(connection: Connection, options: Options) -> None:
    """Policies and rights on all tables, made anew after each migration.

    A policy is a barrier: behind it only operators may use an index that are known to reveal nothing, and those of
    GIN are not among them. So the role reads `documents` through a view that holds the same condition and no barrier.
    """
    role = options.role
    connection.execute(f"GRANT USAGE ON SCHEMA {options.schema} TO {role}")
    connection.execute(f"GRANT SELECT ON schema_version TO {role}")
    for table in ("namespaces", *TABLES):
        column = "key" if table == "namespaces" else "namespace"
        connection.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        connection.execute(f"DROP POLICY IF EXISTS own_namespace ON {table}")
        connection.execute(f"CREATE POLICY own_namespace ON {table} USING ({column} = {OWN})")
        connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}")
    connection.execute(f"CREATE OR REPLACE VIEW lexicon AS SELECT * FROM documents WHERE namespace = {OWN}")
    connection.execute(f"GRANT SELECT ON lexicon TO {role}")
