"""A server that runs until a signal stops it, and then finishes the requests it has accepted."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from fivefold.errors import Call, FivefoldError, InvalidInput
from fivefold.web.connections import ConnectionLimits, Connections, HttpConnection, ServerConfig, room_for
from fivefold.web.security import is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from fivefold.service.service import Service

BACKLOG = 2048


class CannotListen(FivefoldError):
    """The server cannot listen at this address."""


class KeysRequired(InvalidInput):
    """Other machines could reach a store that has no keys."""

    def __init__(self, host: str, location: str) -> None:
        self.location = location
        super().__init__(
            f"host {host!r} can be reached from other machines, and this store has no keys",
            advice="create one first with {call}",
            call=Call("Keyring.create"),
        )


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that a port in use is an error before anything else starts."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except BaseException:
            listener.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotListen(
            f"port {port} of {host!r} cannot be opened: {reason}",
            advice="choose another, or any free one with {call}",
            call=Call(arguments={"port": 0}),
        ) from None
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_reach(service: Service, host: str) -> None:
    """Refuses an address at which other machines could connect without a key."""
    if not is_loopback(host) and not service.keyring.any():
        raise KeysRequired(host, _public_location(service.engines.store.location))


def until_stopped(
    service: Service,
    app: ASGIApp,
    host: str,
    port: int,
    stop_s: int,
    ready: Callable[[str], None],
    limits: ConnectionLimits | None = None,
) -> None:
    """Serves until stopped; `ready` gets the address. Refuses an address at which other machines could connect without
    a key."""
    check_reach(service, host)
    listener = listen(host, port)
    connections = Connections(room_for(limits or ConnectionLimits()))
    server = Server(server_config(app, stop_s, connections), service.stopping.set, lambda: ready(url_of(listener)))
    server.run(sockets=[listener])


def _public_location(location: str) -> str:
    """The location of a store as it may be shown; an address may contain a password."""
    return "…" if "://" in location else location


def server_config(app: ASGIApp, stop_s: int, connections: Connections) -> ServerConfig:
    """Uvicorn's settings; open requests have `stop_s` seconds to finish when it is stopped."""
    config = ServerConfig(
        app,
        http=HttpConnection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=stop_s,
        timeout_keep_alive=30,
    )
    config.connections = connections
    return config


class Server(uvicorn.Server):
    """Serves until SIGTERM or SIGINT; `stopping` is called then, `ready` once it answers."""

    def __init__(self, config: ServerConfig, stopping: Callable[[], None], ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal that stopped the server is not raised again: that is not a failure."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)
