"""How often a client waits for its server: a relay between the two that counts, and can make the way long."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from urllib.parse import urlsplit, urlunsplit

CHUNK = 1 << 16


@dataclass(slots=True)
class Counted:
    """Round trips that happened inside a block."""

    count: int = 0


class RoundTrips:
    """Listens on 127.0.0.1 and passes everything on. What a client sends until an answer comes is one round trip.

    `latency_s` is what each way takes. A little of it tells statements sent in one go from statements that wait for
    each other: the former are all on their way before the first answer is back.
    """

    def __init__(self, dsn: str, latency_s: float = 0.0) -> None:
        parts = urlsplit(dsn)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._closed = False
        self.latency_s = latency_s
        self.count = 0
        user = f"{parts.username}@" if parts.username else ""
        address = f"{user}127.0.0.1:{self._listening.getsockname()[1]}"
        self.dsn = urlunsplit((parts.scheme, address, parts.path, parts.query, ""))
        self._begin(self._accept)

    @contextmanager
    def counted(self) -> Iterator[Counted]:
        """Counts what happens inside the block; the figure stands when it ends."""
        seen, before = Counted(), self.count
        try:
            yield seen
        finally:
            seen.count = self.count - before

    def answered(self) -> None:
        """Count one more."""
        with self._lock:
            self.count += 1

    def close(self) -> None:
        """End every connection and stop listening."""
        with self._lock:
            self._closed = True
            ending = [self._listening, *self._open]
        for each in ending:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> RoundTrips:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, work: Callable[..., None], *given: socket.socket) -> None:
        thread = threading.Thread(target=work, args=given, name="round-trips", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._server)
            except OSError:
                client.close()
                continue
            with self._lock:
                if self._closed:
                    client.close()
                    server.close()
                    return
                self._open += [client, server]
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = Link(self)
            self._begin(link.ask, client, server)
            self._begin(link.answer, server, client)


class Link:
    """One connection through the relay. The first bytes of a flight wait; what follows them is on its way already."""

    def __init__(self, trips: RoundTrips) -> None:
        self._trips = trips
        self._lock = threading.Lock()
        self._waiting = False

    def ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(CHUNK):
                with self._lock:
                    first, self._waiting = not self._waiting, True
                if first:
                    time.sleep(self._trips.latency_s)
                server.sendall(data)
        _ended(server)

    def answer(self, server: socket.socket, client: socket.socket) -> None:
        """Counted before it is passed on, so that the figure is right once the client has its answer."""
        with suppress(OSError):
            while data := server.recv(CHUNK):
                if self._waiting:
                    time.sleep(self._trips.latency_s)
                    with self._lock:
                        self._waiting = False
                    self._trips.answered()
                client.sendall(data)
        _ended(client)


def _ended(target: socket.socket) -> None:
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
