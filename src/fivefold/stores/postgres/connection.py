"""Connections to one server, and what PostgreSQL's errors mean in plain words."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import psycopg
from psycopg import RawCursor
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from fivefold.errors import DiskFull, InvalidInput, ReadOnly, ServerAway, StoreClosed, StoreError
from fivefold.stores.postgres.dialect import Connection, Values, ask, bound
from fivefold.stores.postgres.dsn import Options, without_password
from fivefold.stores.postgres.vectors import VectorDumper

# The order of writes of one process: those of one namespace come one after another, as the database wants them.


class WriteTurns:
    """A lock for each namespace that is written to. Without it, writes that wait for the lock in the database would
    take all connections, and the writes of other namespaces would wait too."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()

    @contextmanager
    def of(self, namespace: int, patience_s: float) -> Iterator[None]:
        with self._lock:
            lock = self._locks.setdefault(namespace, threading.Lock())
        if not lock.acquire(timeout=patience_s):
            raise StoreError(
                f"other writes of this namespace took longer than {patience_s:g} s; nothing was changed, try again"
            )
        try:
            yield
        finally:
            lock.release()


Answer = TypeVar("Answer")

POSITION = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
"""The position of the server's log."""

_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 15_000}
"""By which a server that no longer answers at all is noticed in seconds; the last one in milliseconds."""

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # what goes wrong is said once, in our words


class NamespaceConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that knows which namespace it sees, and does not wait for ever for a server that hangs."""

    timeout_s: float | None = None
    namespace: int | None = None

    def rows_as(self, namespace: int, sql: str, values: Sequence[Any], binary: bool) -> list[tuple[Any, ...]]:
        """The rows of one statement as one namespace; another than last time is named in the same round trip."""
        if self.namespace == namespace:
            return self.execute(sql, values, binary=binary).fetchall()
        self.namespace = None
        with self.pipeline():
            self.execute("SELECT set_config('fivefold.namespace', $1, false)", [str(namespace)])
            cursor = self.execute(sql, values, binary=binary)
        self.namespace = namespace
        return cursor.fetchall()

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        return super().wait(gen, interval, self.timeout_s if timeout is None else timeout)


def connect(address: str, label: str, options: Options, *, as_role: bool = False) -> Connection:
    """A separate connection: as the address's own user, without a time limit, or as the role that policies bind."""
    with plain_errors(label, options):
        connection = prepared(NamespaceConnection.connect(address, **settings(address, options, as_role=as_role)))
        look_in(connection, search_path(connection, options))
        return connection


def search_path(connection: Connection, options: Options) -> str:
    """The search path: the store's schema, then the one pgvector's types lie in."""
    ((path,),) = ask(
        connection,
        "SELECT concat_ws(', ', quote_ident(?), (SELECT quote_ident(n.nspname) FROM pg_extension e "
        "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'), 'public')",
        (options.schema,),
    )
    return str(path)


def look_in(connection: Connection, path: str) -> None:
    connection.execute("SELECT set_config('search_path', $1, false)", [path])


def settings(address: str, options: Options, *, as_role: bool) -> dict[str, Any]:
    """The settings of every connection. A server without Citus takes Citus's setting as it takes any other name."""
    parameters = _parameters(address)
    session = {
        "statement_timeout": options.statement_timeout_ms if as_role else 0,
        "idle_in_transaction_session_timeout": 600_000,
        "jit": "off",
        "max_parallel_workers_per_gather": 0,
        "plan_cache_mode": "force_generic_plan",
        "citus.propagate_set_commands": "local",
        **({"role": options.role} if as_role else {}),
    }
    return {
        "autocommit": True,
        "cursor_factory": RawCursor,
        "prepare_threshold": 0,
        "connect_timeout": parameters.get("connect_timeout", options.connect_timeout_s),
        "application_name": parameters.get("application_name", "fivefold"),
        "client_encoding": "utf8",
        **{name: parameters.get(name, value) for name, value in _KEEPALIVE.items()},
        "options": " ".join(
            [str(parameters.get("options", "")), *(f"-c {name}={value}" for name, value in session.items())]
        ),
    }


def _parameters(address: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(address))
    except psycopg.ProgrammingError as error:
        why = re.sub(r'"[^"]*"', '"…"', without_password(_first_line(error)))  # it quotes parts, perhaps the password
        raise InvalidInput(f"{without_password(address)} is not a PostgreSQL address: {why}") from None


def prepared(connection: Connection) -> Connection:
    connection.adapters.register_dumper(int, Int8Dumper)  # one prepared statement for large and small numbers
    connection.adapters.register_dumper(np.ndarray, VectorDumper)
    return connection


@contextmanager
def plain_errors(label: str, options: Options) -> Iterator[None]:
    """PostgreSQL's errors as fivefold's, each saying what to do."""
    try:
        yield
    except psycopg.errors.DiskFull:
        raise DiskFull(
            f"the disk of {label} is full. The write was undone and nothing was lost; free some space and try again"
        ) from None
    except psycopg.errors.ReadOnlySqlTransaction:
        raise ReadOnly(
            f"{label} cannot be written: it is a read-only replica. Name the primary first, replicas behind it"
        ) from None
    except psycopg.errors.QueryCanceled:
        raise StoreError(
            f"a statement took {label} longer than {options.statement_timeout_ms} ms and was stopped; "
            "what it wrote was undone. Raise statement_timeout_ms in the address if that is too short"
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(f"{label} does not permit this: {_first_line(error)}") from None
    except PoolTimeout:
        raise StoreError(
            f"all connections to {label} were in use for too long, {options.pool_size} at most; "
            "raise pool_size in the address, or ask less at once"
        ) from None
    except PoolClosed:
        raise StoreClosed("this engine was closed; open the store again") from None
    except psycopg.Error as error:
        if _is_away(error):
            raise ServerAway(
                f"{label} does not answer ({_first_line(error)}); check that the server runs and try again"
            ) from None
        if "FATAL:" in str(error):
            raise StoreError(
                f"{label} does not let you in: {_first_line(error).rpartition('FATAL:')[2].strip()}"
            ) from None
        raise StoreError(f"{label} could not do this: {_first_line(error)}") from None


_WAIT = ("starting up", "shutting down", "recovery", "not yet accepting", "too many", "connection slots", "terminating")
"""Why a server refuses for now, in its own words."""


def _is_away(error: BaseException) -> bool:
    """True if the server went away, rather than refuse one statement; 40001 is a replica that is catching up."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    if "FATAL:" in str(error) and not any(reason in str(error) for reason in _WAIT):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("08", "40001", "53300", "57P"))


def _first_line(error: BaseException) -> str:
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return "the connection was lost" if "pipeline mode" in first else first


class Server:
    """One PostgreSQL server with its pools: reads wait for no write. A connection that died while idle is replaced
    without an error."""

    def __init__(
        self, address: str, label: str, options: Options, path: str, writing: Sequence[str] | None = None
    ) -> None:
        """`path` is the search path, `writing` the settings of every writing transaction, None for reads."""
        self.address = address
        self.label = label
        self.options = options
        self._writing = writing or ()
        self._process = os.getpid()
        self._turns = WriteTurns()
        writers = 0 if writing is None else options.writers
        self._pool = self._opened_pool(path, max(1, options.pool_size - writers))
        self._writers = self._pool if writing is None else self._opened_pool(path, writers)

    def _opened_pool(self, path: str, size: int) -> ConnectionPool[NamespaceConnection]:
        pool: ConnectionPool[NamespaceConnection] = ConnectionPool(
            self.address,
            connection_class=NamespaceConnection,
            kwargs=settings(self.address, self.options, as_role=True),
            configure=partial(_configure, path=path, options=self.options),
            open=False,
            min_size=0,
            max_size=size,
            timeout=self.options.connect_timeout_s,
            reconnect_timeout=self.options.connect_timeout_s,
            name="fivefold",
        )
        pool.open()
        return pool

    def turn(self, namespace: int) -> AbstractContextManager[None]:
        """The turn of a write of this namespace. Those behind it wait without a connection, which others can use."""
        return self._turns.of(namespace, self.options.patience_s)

    @property
    def own(self) -> bool:
        """True if this process made the connections."""
        return self._process == os.getpid()

    @property
    def closed(self) -> bool:
        return self._pool.closed

    def rows(
        self, namespace: int, sql: str, values: Values, first: Sequence[str] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """One statement in one round trip, as the one namespace it may see; `first` are settings for it alone."""
        text, parameters = bound(sql, values)

        def once() -> list[tuple[Any, ...]]:
            if not first:
                with self._pool.connection() as connection:
                    return connection.rows_as(namespace, text, parameters, binary)
            with self._pool.connection() as connection, connection.pipeline():
                connection.execute("BEGIN READ ONLY", prepare=False)
                connection.execute(f"SET LOCAL fivefold.namespace = '{namespace}'", prepare=False)
                for setting in first:
                    connection.execute(setting, prepare=False)
                cursor = connection.execute(text, parameters, binary=binary)
                connection.execute("COMMIT", prepare=False)
            return cursor.fetchall()

        return self._try(once)

    @contextmanager
    def transaction(self, namespace: int, stored: Callable[[int], None] | None = None) -> Iterator[Connection]:
        """All or nothing, as the one namespace it may see; `stored` is called with the position of the server's log."""

        def begin() -> NamespaceConnection:
            connection = self._writers.getconn()
            try:
                connection.execute("BEGIN", prepare=False)
            except BaseException:
                self._writers.putconn(connection)
                raise
            return connection

        connection = self._try(begin, self.options.patience_s)
        with plain_errors(self.label, self.options):
            committing = False
            try:
                with connection.pipeline():
                    connection.execute(f"SET LOCAL fivefold.namespace = '{namespace}'", prepare=False)
                    for setting in self._writing:
                        connection.execute(setting, prepare=False)
                    yield connection
                    committing = True
                    connection.execute("COMMIT", prepare=False)
                    position = None if stored is None else connection.execute(POSITION)
                if stored is not None and position is not None:
                    stored(position.fetchall()[0][0])
            except BaseException as error:
                if not connection.broken and not connection.closed:
                    connection.execute("ROLLBACK")
                elif committing and _is_away(error):
                    raise ServerAway(
                        f"{self.label} went away while the write was being stored ({_first_line(error)}); "
                        "whether it was stored is not known, so look before you write it again"
                    ) from None
                raise
            finally:
                self._writers.putconn(connection)

    def close(self) -> None:
        """End all connections; those a forked process inherited belong to its parent."""
        if self.own:
            for pool in {self._pool, self._writers}:
                pool.close(timeout=5.0)

    def _try(self, once: Callable[[], Answer], patience_s: float = 0.0) -> Answer:
        if not self.own:
            raise StoreClosed("this engine was opened before the process forked; open the store again")
        with plain_errors(self.label, self.options):
            try:
                return self._patiently(once, patience_s)
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if isinstance(error, PoolTimeout | PoolClosed) or not _is_away(error):
                    raise
                self._ask_why()
                for pool in {self._pool, self._writers}:
                    pool.check()
                return self._patiently(once, patience_s)

    def _patiently(self, once: Callable[[], Answer], patience_s: float) -> Answer:
        """Wait for a free connection as long as the server answers and the patience lasts."""
        end = monotonic() + patience_s
        while True:
            try:
                return once()
            except PoolTimeout:
                self._ask_why()
                if monotonic() >= end:
                    raise

    def _ask_why(self) -> None:
        """A server that is away says so at once when it is asked directly; the pool would only wait."""
        connect(self.address, self.label, self.options, as_role=True).close()


def _configure(connection: Connection, path: str, options: Options) -> None:
    look_in(prepared(connection), path)
    if options.statement_timeout_ms and isinstance(connection, NamespaceConnection):
        connection.timeout_s = options.statement_timeout_ms / 1000 + options.connect_timeout_s


# Read replicas: recalls may be answered by any that has seen what this client wrote; a dead one is passed over.

AGAIN_S = 15.0
"""Interval at which a replica that is away is looked for."""

_log = logging.getLogger("fivefold")


class Replica:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.away = False
        self.ask_again: float = 0.0
        self.seen = 0


class Replicas:
    def __init__(self, given: tuple[str, ...], options: Options, path: str) -> None:
        self._all = [Replica(Server(address, without_password(address), options, path)) for address in given]
        self._turn = 0
        self._written = 0
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._all)

    def written(self, position: int) -> None:
        """Note how far the primary's log had come when this client last wrote."""
        with self._lock:
            self._written = max(self._written, position)

    def ready(self) -> Iterator[Server]:
        """Replicas that have seen all this client wrote, each once, beginning with another every time."""
        with self._lock:
            self._turn += 1
            first = self._turn % len(self._all) if self._all else 0
        for replica in self._all[first:] + self._all[:first]:
            if replica.away:
                self._look_again(replica)
            elif self._has_seen(replica):
                yield replica.server

    def skip(self, server: Server, error: StoreError) -> None:
        """Pass a replica over, since it is away; from time to time it is looked for, and no recall waits for that."""
        for replica in self._all:
            if replica.server is server:
                with self._lock:
                    known, replica.away, replica.ask_again = replica.away, True, monotonic() + AGAIN_S
                if not known:
                    _log.warning("a replica is passed over until it is back: %s", error)

    def close(self) -> None:
        for replica in self._all:
            replica.server.close()

    def _look_again(self, replica: Replica) -> None:
        with self._lock:
            if not replica.away or monotonic() < replica.ask_again:
                return
            replica.ask_again = monotonic() + AGAIN_S
        threading.Thread(target=self._probe, args=(replica,), name="fivefold-replica", daemon=True).start()

    def _probe(self, replica: Replica) -> None:
        try:
            self._position(replica)
        except StoreError:
            return
        with self._lock:
            replica.away = False

    def _has_seen(self, replica: Replica) -> bool:
        """True if the replica has followed up to this client's last write; asked only until it has."""
        written = self._written
        if replica.seen >= written:
            return True
        try:
            return self._position(replica) >= written
        except ServerAway as error:
            self.skip(replica.server, error)
            return False

    def _position(self, replica: Replica) -> int:
        sql = "SELECT (coalesce(pg_last_wal_replay_lsn(), '0/0') - '0/0'::pg_lsn)::bigint"
        ((position,),) = replica.server.rows(0, sql, ())
        replica.seen = max(replica.seen, int(position))
        return replica.seen
