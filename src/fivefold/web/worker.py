"""One worker of a server: a process that answers the connections which its parent accepts and passes on."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from fivefold.models.loading import split_nothing
from fivefold.service.limits import Limits
from fivefold.service.service import Processes, Service, open_service
from fivefold.web import logs
from fivefold.web.app import create_app
from fivefold.web.connections import Connections, HttpConnection, ServerConfig
from fivefold.web.security import Sites
from fivefold.web.server import Server, server_config

if TYPE_CHECKING:
    from starlette.types import ASGIApp

NUMBER = struct.Struct("!I")
"""How a connection is named between parent and worker."""

READY = NUMBER.pack(2**32 - 1)
"""What a worker sends once it answers."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What the server logs and exports."""

    form: logs.Form = "auto"
    level: logs.Level = "warning"
    contents: bool = False
    metrics_open: bool = False
    otel: bool = False


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """All a worker needs to know; it may go to a new process."""

    location: str
    embedder: str | None
    extractor: str
    limits: Limits
    maintain_s: float
    sites: Sites
    log: LogSettings
    stop_s: int


def open_served(settings: ServeSettings, processes: Processes) -> Service:
    """The service of a server; the first of its processes looks after the store and stores what waits."""
    first = processes.number == 0
    maintain_s = settings.maintain_s if first else 0
    return open_service(
        settings.location, settings.embedder, settings.extractor, settings.limits, maintain_s, processes, first
    )


def served_app(settings: ServeSettings, service: Service) -> ASGIApp:
    """The application of a server."""
    log = settings.log
    return create_app(
        service, sites=settings.sites, metrics_open=log.metrics_open, log_contents=log.contents, traced=log.otel
    )


def traced(settings: ServeSettings) -> AbstractContextManager[None]:
    """Spans are exported, if they are wanted."""
    if not settings.log.otel:
        return nullcontext()
    from fivefold.service import tracing

    return tracing.exporting()


def run_worker(settings: ServeSettings, processes: Processes, channel: socket.socket) -> None:
    """Answer what comes over the channel until told to stop, or until the parent is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs.start(settings.log.form, settings.log.level, settings.log.contents)
    split_nothing()
    with traced(settings):
        service = open_served(settings, processes)
        try:
            config = server_config(served_app(settings, service), settings.stop_s, Connections())
            server = WorkerServer(config, service.stopping.set, channel)
            server.run(sockets=[])
        finally:
            service.close()
    if server.orphaned and processes.folder is not None:
        shutil.rmtree(processes.folder, ignore_errors=True)


class WorkerServer(Server):
    """Takes connections from a channel, and reports there which have ended."""

    def __init__(self, config: ServerConfig, stopping: Callable[[], None], channel: socket.socket) -> None:
        super().__init__(config, stopping, lambda: self._report(READY))
        self.orphaned = False
        self._channel = channel
        self._unsent = bytearray()
        self._starts: set[asyncio.Task[object]] = set()
        self._config = config
        config.closed = lambda number: self._report(NUMBER.pack(number))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._channel.setblocking(False)
        await super().startup(sockets)
        asyncio.get_running_loop().add_reader(self._channel, self._receive)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().remove_reader(self._channel)
        self._receive()  # what was passed on before the parent heard of the stop
        await asyncio.gather(*self._starts, return_exceptions=True)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl+C reaches all processes: the parent stops the workers, and a second one ends the wait."""
        if sig != signal.SIGINT or self.should_exit:
            super().handle_exit(sig, frame)

    def _receive(self) -> None:
        while not self.orphaned:
            try:
                message, files, _, _ = socket.recv_fds(self._channel, NUMBER.size, 1)
            except BlockingIOError:
                return
            except OSError:
                message, files = b"", []
            if not message:
                self.orphaned = self.should_exit = True
                asyncio.get_running_loop().remove_reader(self._channel)
            elif files:
                self._begin(NUMBER.unpack(message)[0], socket.socket(fileno=files[0]))

    def _begin(self, number: int, connection: socket.socket) -> None:
        connection.setblocking(False)
        loop = asyncio.get_running_loop()

        def protocol() -> HttpConnection:
            made = HttpConnection(
                config=self._config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
            )
            made.number = number
            return made

        start: asyncio.Task[object] = loop.create_task(loop.connect_accepted_socket(protocol, connection))
        self._starts.add(start)
        start.add_done_callback(self._starts.discard)

    def _report(self, message: bytes) -> None:
        self._unsent += message
        self._send()

    def _send(self) -> None:
        """Send what the parent has room for, the rest when it has; a parent that is gone hears nothing."""
        loop = asyncio.get_running_loop()
        try:
            del self._unsent[: self._channel.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()
        if self._unsent:
            loop.add_writer(self._channel, self._send)
        else:
            loop.remove_writer(self._channel)
