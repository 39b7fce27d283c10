"""Several processes over one store: a parent that accepts connections, shares them out, and keeps the workers running.

The parent loads the models and opens nothing else. If the system can fork, workers share its memory.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import selectors
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import TYPE_CHECKING

from fivefold.errors import FivefoldError
from fivefold.models.loading import load_models
from fivefold.service import tracing
from fivefold.service.limits import Limits
from fivefold.service.service import Processes, Service, open_service
from fivefold.web import request_log as logs
from fivefold.web.app import create_app
from fivefold.web.connections import Connections, HttpConnection, ServerConfig
from fivefold.web.security import Sites
from fivefold.web.server import Server, server_config

if TYPE_CHECKING:
    from starlette.types import ASGIApp


NUMBER = struct.Struct("!I")
"""The form of a connection's number between parent and worker."""

READY = NUMBER.pack(2**32 - 1)
"""The message of a worker that is ready."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The logs and exports of the server."""

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


def spare_collector() -> None:
    """Have the collector pass over what is loaded, and look at the rest less often: a full look takes 0.1 s."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def traced(settings: ServeSettings) -> AbstractContextManager[None]:
    """Spans are exported, if they are wanted."""
    return tracing.exporting() if settings.log.otel else nullcontext()


def run_worker(settings: ServeSettings, processes: Processes, channel: socket.socket) -> None:
    """Answer what comes over the channel until told to stop, or until the parent is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs.start(settings.log.form, settings.log.level, settings.log.contents)
    load_models(settings.embedder)  # only where the parent could not
    with traced(settings):
        service = open_served(settings, processes)
        try:
            config = server_config(served_app(settings, service), settings.stop_s, Connections())
            server = WorkerServer(config, service.stopping.set, channel)
            spare_collector()
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


START_S, MAX_WAIT_S = 5.0, 30.0
"""A worker that ends sooner than that is started again later and later, at most after that."""

TRIES, TRY_S = 50, 0.01
"""Number of offers of a connection to workers that had no room, and the wait between them."""
KILL_S = 15.0
"""The seconds beyond those of the requests that a worker has to stop."""

_log = logging.getLogger("fivefold")


class WorkerFailed(FivefoldError):
    """A worker did not start, or did not stop in good order."""


@dataclass(slots=True)
class Worker:
    """A process that answers, as its parent sees it."""

    number: int
    process: BaseProcess
    channel: socket.socket
    began: float
    ready: bool = False
    connections: dict[int, str] = field(default_factory=dict)
    """The address of each connection by its number."""
    unread: bytes = b""


class Workers:
    """Starts the workers, gives each new connection to the one with the fewest, and replaces one that ends."""

    def __init__(
        self,
        settings: ServeSettings,
        processes: Processes,
        listener: socket.socket,
        connections: Connections,
        ready: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._processes = processes
        self._listener = listener
        self._open = connections
        self._ready: Callable[[], None] | None = ready
        self._workers: dict[int, Worker] = {}
        self._starts: dict[int, float] = {}
        """Start time of each worker, by its number."""
        self._failures = 0
        self._connection = 0
        self._signals: list[int] = []
        self._kill_at: float | None = None
        self._failed: list[str] = []
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._forks = sys.platform == "linux"

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then let the workers finish; raises `WorkerFailed` if one did not."""
        self._listener.setblocking(False)
        for end in (self._woken, self._wake):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._note_signals)

        def note(number: int, _: object) -> None:
            self._signals.append(number)

        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        gc.collect()
        gc.freeze()  # else the collector of each worker would write to every page it shares
        try:
            self._starts = dict.fromkeys(range(self._processes.count), 0.0)
            while not self._stopping or self._workers:
                self._turn()
        finally:
            signal.set_wakeup_fd(-1)
            for number, action in before.items():
                signal.signal(number, action)
            self._close()
        if self._failed:
            raise WorkerFailed("; ".join(self._failed), advice="see the log for the reason")

    @property
    def _stopping(self) -> bool:
        return self._kill_at is not None

    def _turn(self) -> None:
        """Start what is due, then wait for what comes next."""
        now = time.monotonic()
        for number, due in sorted(self._starts.items()):
            if due <= now and not self._stopping:
                del self._starts[number]
                self._start(number)
        if self._kill_at is not None and now > self._kill_at:
            for worker in self._workers.values():
                _log.error("worker %d did not stop in time and is killed", worker.number)
                worker.process.kill()
            self._kill_at = now + KILL_S
        due_next = [*self._starts.values(), *([] if self._kill_at is None else [self._kill_at])]
        wait = max(0.0, min(due_next) - time.monotonic()) + 0.01 if due_next else None
        for key, _ in self._selector.select(wait):
            key.data()

    def _start(self, number: int) -> None:
        own, given = socket.socketpair()
        target: Callable[..., None] = run_worker
        if self._forks:

            def target(settings: ServeSettings, processes: Processes, channel: socket.socket) -> None:
                own.close()
                self._close()
                signal.set_wakeup_fd(-1)
                run_worker(settings, processes, channel)

        processes = replace(self._processes, number=number)
        context = multiprocessing.get_context("fork") if self._forks else multiprocessing.get_context("spawn")
        process = context.Process(target=target, args=(self._settings, processes, given))
        process.start()
        given.close()
        own.setblocking(False)
        worker = Worker(number, process, own, time.monotonic())
        self._workers[number] = worker
        self._selector.register(own, selectors.EVENT_READ, lambda: self._read(worker))

    def _close(self) -> None:
        """Close what belongs to the parent; a forked worker does it too, with its own copies."""
        self._selector.close()
        for end in (self._listener, self._woken, self._wake, *(worker.channel for worker in self._workers.values())):
            end.close()

    def _read(self, worker: Worker) -> None:
        try:
            received = worker.channel.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self._replace(worker)
            return
        data = worker.unread + received
        whole = len(data) - len(data) % NUMBER.size
        worker.unread = data[whole:]
        for at in range(0, whole, NUMBER.size):
            message = data[at : at + NUMBER.size]
            if message == READY:
                self._begin(worker)
            else:
                self._open.release(worker.connections.pop(NUMBER.unpack(message)[0]))

    def _begin(self, worker: Worker) -> None:
        """A worker answers: from now on connections are accepted."""
        worker.ready = True
        self._failures = 0
        if self._listener not in (key.fileobj for key in self._selector.get_map().values()) and not self._stopping:
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        if self._ready is not None and sum(one.ready for one in self._workers.values()) == self._processes.count:
            self._ready()
            self._ready = None

    def _accept(self) -> None:
        try:
            connection, address = self._listener.accept()
        except OSError as error:
            self._open.report(f"connections not accepted ({type(error).__name__})")
            time.sleep(0.01)
            return
        with connection:
            if self._open.admit(address[0]) and not self._pass_on(connection, address[0]):
                self._open.release(address[0])
                self._open.report("connections closed, since no worker took them")

    def _pass_on(self, connection: socket.socket, address: str) -> bool:
        """Give it to the worker with the fewest connections that takes it."""
        self._connection = (self._connection + 1) % (2**32 - 1)
        able = [worker for worker in self._workers.values() if worker.ready]
        for _ in range(TRIES):
            for worker in sorted(able, key=lambda one: len(one.connections)):
                try:
                    socket.send_fds(worker.channel, [NUMBER.pack(self._connection)], [connection.fileno()])
                except OSError:  # it has enough to read, or has just ended
                    continue
                worker.connections[self._connection] = address
                return True
            time.sleep(TRY_S)
        return False

    def _replace(self, worker: Worker) -> None:
        """A worker has ended. Unless the server stops, another takes its place; in vain at the start, all stop."""
        self._selector.unregister(worker.channel)
        worker.channel.close()
        worker.process.join(KILL_S)
        if worker.process.exitcode is None:
            worker.process.kill()
            worker.process.join()
        del self._workers[worker.number]
        for address in worker.connections.values():
            self._open.release(address)
        code = worker.process.exitcode
        how = f"was ended by {signal.Signals(-code).name}" if code and code < 0 else f"ended with code {code}"
        if self._stopping:
            expected = (0,) if worker.ready else (0, -signal.SIGTERM)
            self._failed += [] if code in expected else [f"worker {worker.number} {how}"]
        elif self._ready is not None and not worker.ready:
            self._failed.append(f"worker {worker.number} did not start: it {how}")
            self._stop()
        else:
            self._restart(worker, how)

    def _restart(self, worker: Worker, how: str) -> None:
        soon = time.monotonic() - worker.began < START_S
        self._failures = self._failures + 1 if soon else 0
        wait = min(MAX_WAIT_S, 2.0 ** (self._failures - 2)) if self._failures > 1 else 0.0
        _log.warning("worker %d (process %d) %s; another starts", worker.number, worker.process.pid, how)
        self._starts[worker.number] = time.monotonic() + wait
        if not any(one.ready for one in self._workers.values()):  # until there is one, connections wait
            self._selector.unregister(self._listener)

    def _note_signals(self) -> None:
        try:
            self._woken.recv(4096)
        except BlockingIOError:
            return
        again = self._stopping
        if self._signals and not again:
            self._stop()
        elif signal.SIGINT in self._signals:
            self._tell(signal.SIGINT)
        self._signals.clear()

    def _stop(self) -> None:
        """Accept nothing more, and let the workers finish what they have."""
        if self._listener in (key.fileobj for key in self._selector.get_map().values()):
            self._selector.unregister(self._listener)
        self._listener.close()
        self._kill_at = time.monotonic() + self._settings.stop_s + KILL_S
        self._starts.clear()
        self._tell(signal.SIGTERM)

    def _tell(self, sig: signal.Signals) -> None:
        for worker in self._workers.values():
            if worker.process.pid is not None and worker.process.is_alive():
                os.kill(worker.process.pid, sig)
