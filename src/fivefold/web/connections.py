"""Connections of clients: how many may be open, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import re
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from fivefold.engine import Engine
from fivefold.engine.async_engine import stream, threads_of
from fivefold.web.auth import Peer

HEADER_S = 10.0
"""The seconds a client has to send the head of a request."""

FILES_APART = 200
"""Files of a process that are not connections: the store, models, pipes."""

REPORT_S = 60.0
"""Interval at which the log says that connections were refused or closed."""

MAX_HEAD_BYTES = 65_536
"""The most bytes of a request's head."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_FOLD = re.compile(rb"\n[ \t]")
_NETWORK = 64
"""The bits of an IPv6 address that one customer has; the rest can be chosen at will."""

_log = logging.getLogger("fivefold")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on open connections. A proxy is one address."""

    in_all: int = 1_000
    of_address: int = 250


class Connections:
    """Counts the open connections. Refusals are reported once a minute, however many there are."""

    def __init__(self, limits: ConnectionLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits: ConnectionLimits = limits or ConnectionLimits()
        self._clock = clock
        self._open: Counter[str] = Counter()
        self._reports: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return self._open.total()

    def admit(self, address: str) -> bool:
        """Counts one more connection; False if there are enough."""
        network = network_of(address)
        if self._open[network] >= self.limits.of_address or len(self) >= self.limits.in_all:
            self.report("connections refused, since there were enough")
            return False
        self._open[network] += 1
        return True

    def release(self, address: str) -> None:
        """One connection of this address has ended."""
        network = network_of(address)
        self._open[network] -= 1
        if self._open[network] <= 0:
            del self._open[network]

    def report(self, what: str) -> None:
        """Log it at once, and then once a minute how often it was."""
        now = self._clock()
        since, count = self._reports.get(what, (float("-inf"), 0))
        count += 1
        if now - since >= REPORT_S:
            _log.warning("%s: %d", what, count)
            since, count = now, 0
        self._reports[what] = since, count


def network_of(address: str) -> str:
    """The network that counts as one address: of an IPv6 address the part that cannot be chosen at will."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if known.version == 4:
        return address
    return str(ipaddress.ip_network((known, _NETWORK), strict=False))


class ServerConfig(uvicorn.Config):
    """Uvicorn's settings, with the count of connections that all of them share."""

    connections: Connections
    closed: Callable[[int], None] | None = None
    """Called when a connection ends; set if another process admits and numbers them."""


class StrictParser(h11.Connection):
    """Refuses what a proxy before this server may read in another way: two lengths of a body, and folded headers."""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            head = _HEAD_END.split(self.trailing_data[0].lstrip(b"\r\n"), maxsplit=1)[0]
            if _FOLD.search(head):
                raise h11.RemoteProtocolError("a header is folded over several lines")
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if b"content-length" in names and b"transfer-encoding" in names:
                raise h11.RemoteProtocolError("a request has both Content-Length and Transfer-Encoding")
        return event


class HttpConnection(H11Protocol):
    """A connection that is admitted or closed at once, and closed when a request does not arrive in time."""

    config: ServerConfig

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn: StrictParser = StrictParser(h11.SERVER, MAX_HEAD_BYTES)
        self.number: int | None = None
        self._admitted = False
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.client is not None and self.server is not None:
            self.app_state = {**self.app_state, "peer": Peer(self.client, self.server)}
        self._admitted = self.number is not None or self.config.connections.admit(self._address)
        if self._admitted:
            self._await_head()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        if self.number is not None and self.config.closed is not None:
            self.config.closed(self.number)
        elif self._admitted:
            self.config.connections.release(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._end_wait()
        elif self.conn.trailing_data[0]:  # the beginning of a head
            self._await_head()

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _await_head(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEADER_S, self._close_late)

    def _end_wait(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close_late(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.config.connections.report(f"connections closed, since no request arrived within {HEADER_S:g} s")
            self.transport.close()


def room_for(wanted: ConnectionLimits) -> ConnectionLimits:
    """As many connections as the system gives this process files for; asks the system for as many as it may."""
    try:
        import resource
    except ImportError:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted.in_all + FILES_APART
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < needed:
            _log.warning("the system allows %d open files, which leaves room for fewer connections", soft)
    if soft == resource.RLIM_INFINITY:
        return wanted
    return ConnectionLimits(max(1, min(wanted.in_all, soft - FILES_APART)), wanted.of_address)


LINES = "application/x-ndjson"
"""The media type of an export or an import: a JSON object on each line."""

BYTES = "application/octet-stream"
"""A media type of an import, for clients that are generated: many leave out a body of a type that they do not know."""

WRITE_BYTES = 1 << 20
"""The bytes that are written at once."""

SEND_BYTES = 1 << 16
"""The bytes of an export that are sent at once, about."""

FIRST_MEMORIES = 100
"""The memories of an export that are read before its answer begins."""


@asynccontextmanager
async def body_file(request: Request) -> AsyncIterator[tuple[Path, bytes]]:
    """The body of a request as a file, and a hash of it."""
    digest = hashlib.sha256(request.scope["query_string"] + b"\n")
    with tempfile.TemporaryDirectory(prefix="fivefold-") as folder:
        path = Path(folder) / "body"
        buffer = bytearray()
        with path.open("wb") as file:
            async for chunk in request.stream():
                digest.update(chunk)
                buffer += chunk
                if len(buffer) >= WRITE_BYTES:
                    await run_in_threadpool(file.write, bytes(buffer))
                    buffer.clear()
            await run_in_threadpool(file.write, bytes(buffer))
        yield path, digest.digest()


def export_of(engine: Engine, headers: Mapping[str, str] | None = None) -> Response:
    """Every memory as a line, read a few at a time as fast as they are taken.

    The first ones are read at once, so that an error is still answered as one.
    """
    lines = engine.export_lines()
    first = list(islice(lines, FIRST_MEMORIES))
    rest = stream(chain(first, lines), threads_of(engine.store))
    return StreamingResponse(_chunks(rest), media_type=LINES, headers=headers)


async def _chunks(lines: AsyncIterator[str]) -> AsyncIterator[bytes]:
    buffer = bytearray()
    async for line in lines:
        buffer += line.encode() + b"\n"
        if len(buffer) >= SEND_BYTES:
            yield bytes(buffer)
            buffer.clear()
    yield bytes(buffer)
