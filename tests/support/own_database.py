"""A database of its own for tests that change what is common to all schemas: roles, extensions, rights."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import fivefold
from fivefold.engine import Engine
from tests.conformance.vectors import WordVectors
from tests.support.postgres import Server


class OwnDatabase:
    """A new, empty database, and users made for it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._users: list[str] = []
        self.database = server.new_database()

    def run(self, *statements: str) -> None:
        with self._server.connect(self.database) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def value(self, statement: str) -> Any:
        with self._server.connect(self.database) as connection:
            row = connection.execute(statement.encode()).fetchone()
            return row and row[0]

    def new_user(self, rights: str = "") -> str:
        name = f"test_{secrets.token_hex(6)}"
        self.run(f"CREATE ROLE {name} LOGIN PASSWORD '{name}' {rights}")
        self._users.append(name)
        return name

    def new_role(self) -> str:
        """A name that no role has yet; whoever opens a store with it makes it."""
        self._users.append(f"test_{secrets.token_hex(6)}")
        return self._users[-1]

    def dsn(self, user: str | None = None, **options: str) -> str:
        parts = urlsplit(self._server.dsn(self.database))
        host = parts.netloc.rpartition("@")[2]
        netloc = parts.netloc if user is None else f"{user}:{user}@{host}"
        return urlunsplit(parts._replace(netloc=netloc, query=urlencode(options)))

    def close(self) -> None:
        with self._server.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {self.database} WITH (FORCE)".encode())
            for name in self._users:
                connection.execute(f"DROP ROLE IF EXISTS {name}".encode())


def opened(location: str, namespace: str = "default") -> Engine:
    """An engine with vectors that cost nothing."""
    return fivefold.open(location, namespace=namespace, embedder=WordVectors())
