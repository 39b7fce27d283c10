"""Connections to one server, and what PostgreSQL's errors mean in plain words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import psycopg
from psycopg import RawCursor
from psycopg.adapt import Dumper
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from fivefold.errors import DiskFull, ReadOnly, StoreClosed, StoreError
from fivefold.stores.postgres.dialect import Connection, bound
from fivefold.stores.postgres.dsn import Options
from fivefold.stores.postgres.vectors import VectorDumper
from fivefold.stores.sql.dialect import Values

Answer = TypeVar("Answer")

_GONE = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)
"""A server that went away, whether it said so or not."""


class _Whole(Dumper):
    """Every whole number as a bigint, so that one prepared statement serves large and small ones."""

    oid = Int8Dumper.oid

    def dump(self, obj: Any) -> bytes:
        return str(int(obj)).encode()


def connect(address: str, shown: str, options: Options, *, as_role: bool = False) -> Connection:
    """A connection of its own, as the address's own user or as the role that row-level security binds."""
    with plain_errors(shown, options):
        return prepared(psycopg.connect(address, **settings(options, as_role=as_role)))


def settings(options: Options, *, as_role: bool) -> dict[str, Any]:
    """How every connection is set up. A server without Citus takes Citus's setting as it takes any other name."""
    chosen = {
        "search_path": f"{options.schema},public",
        "statement_timeout": options.statement_timeout_ms,
        "idle_in_transaction_session_timeout": 600_000,
        "jit": "off",
        "citus.propagate_set_commands": "local",
        **({"role": options.role} if as_role else {}),
    }
    return {
        "autocommit": True,
        "cursor_factory": RawCursor,
        "connect_timeout": options.connect_timeout_s,
        "application_name": "fivefold",
        "options": " ".join(f"-c {name}={value}" for name, value in chosen.items()),
    }


def prepared(connection: Connection) -> Connection:
    connection.adapters.register_dumper(int, _Whole)
    connection.adapters.register_dumper(np.ndarray, VectorDumper)
    return connection


@contextmanager
def plain_errors(shown: str, options: Options) -> Iterator[None]:
    """PostgreSQL's errors as fivefold's, each saying what to do."""
    try:
        yield
    except psycopg.errors.DiskFull:
        raise DiskFull(
            f"the disk of {shown} is full. The write was undone and nothing was lost; free some space and try again"
        ) from None
    except psycopg.errors.ReadOnlySqlTransaction:
        raise ReadOnly(
            f"{shown} cannot be written: it is a read-only replica. Name the primary first, replicas behind it"
        ) from None
    except psycopg.errors.QueryCanceled:
        raise StoreError(
            f"a statement took {shown} longer than {options.statement_timeout_ms} ms and was stopped; "
            "what it wrote was undone. Raise statement_timeout_ms in the address if that is too short"
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(f"{shown} does not permit this: {_first_line(error)}") from None
    except PoolClosed:
        raise StoreClosed("this engine was closed; open the store again") from None
    except _GONE as error:
        raise StoreError(
            f"{shown} does not answer ({_first_line(error)}). What was not confirmed was undone; "
            "check that the server runs and try again"
        ) from None
    except psycopg.Error as error:
        raise StoreError(f"{shown} could not do this: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


class Server:
    """One PostgreSQL server with its pool. A connection that died while idle is replaced without anyone noticing."""

    def __init__(self, address: str, shown: str, options: Options) -> None:
        self.address = address
        self.shown = shown
        self.options = options
        self._process = os.getpid()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            address, kwargs=settings(options, as_role=True), configure=_configure, open=False, min_size=0,
            max_size=options.pool_size, timeout=options.connect_timeout_s, reconnect_timeout=1.0, name="fivefold",
            num_workers=1,
        )  # fmt: skip
        self._pool.open()

    @property
    def closed(self) -> bool:
        return self._pool.closed

    def rows(
        self, namespace: int, sql: str, values: Values, first: Sequence[str] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """One statement in one round trip, as the one namespace it may see; `first` are settings for it alone."""
        text, given = bound(sql, values)

        def once() -> list[tuple[Any, ...]]:
            with self._pool.connection() as connection, connection.pipeline():
                connection.execute("BEGIN READ ONLY")
                connection.execute(f"SET LOCAL fivefold.namespace = '{namespace}'")
                for setting in first:
                    connection.execute(setting)
                cursor = connection.execute(text, given, binary=binary)
                connection.execute("COMMIT")
            return cursor.fetchall()

        return self._tried(once)

    @contextmanager
    def transaction(self, namespace: int) -> Iterator[Connection]:
        """All or nothing, as the one namespace it may see."""

        def begin() -> Any:
            taken = self._pool.connection()
            connection = taken.__enter__()
            try:
                connection.execute("BEGIN")
            except BaseException as error:
                taken.__exit__(type(error), error, error.__traceback__)
                raise
            return taken, connection

        taken, connection = self._tried(begin)
        with plain_errors(self.shown, self.options), _given_back(taken):
            try:
                with connection.pipeline():
                    connection.execute(f"SET LOCAL fivefold.namespace = '{namespace}'")
                    yield connection
                    connection.execute("COMMIT")
            except BaseException:
                if not connection.broken and not connection.closed:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        self._pool.close(timeout=5.0)

    def _tried(self, once: Callable[[], Answer]) -> Answer:
        if self._process != os.getpid():
            raise StoreClosed("this engine was opened before the process forked; open the store again")
        with plain_errors(self.shown, self.options):
            try:
                return once()
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if isinstance(error, psycopg.errors.QueryCanceled | psycopg.errors.DiskFull):
                    raise
                self._pool.check()
                return once()


@contextmanager
def _given_back(taken: Any) -> Iterator[None]:
    with_error: tuple[Any, Any, Any] = (None, None, None)
    try:
        yield
    except BaseException as error:
        with_error = (type(error), error, error.__traceback__)
        raise
    finally:
        taken.__exit__(*with_error)


def _configure(connection: Connection) -> None:
    prepared(connection)
