"""MCP over standard streams: one client, which has started this process and ends it by closing its input."""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server

from fivefold.errors import FivefoldError
from fivefold.mcp.server import Handlers, build
from fivefold.mcp.source_numbers import SourceNumbers
from fivefold.mcp.transport import single_namespace
from fivefold.values.access import HERE, Caller, NamespaceRefused

if TYPE_CHECKING:
    from fivefold.service.service import Service
    from fivefold.service.session import Session


@dataclass(slots=True)
class StdioTransport:
    """Opens a store when it is first needed. The user who starts the process owns its file, or passes a key."""

    location: str
    namespace: str | None
    everywhere: bool = False
    """Whether namespaces other than the usual one can be named."""
    secret: str | None = None
    embedder: str | None = None
    structured: bool = False
    source_numbers: SourceNumbers = field(default_factory=SourceNumbers)
    _service: Service | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _warming: threading.Thread | None = field(default=None, init=False)
    _ended: bool = field(default=False, init=False)

    def preload(self) -> None:
        if self._warming is None:
            self._warming = threading.Thread(target=self._warm_up, name="fivefold-warm-up")
            self._warming.start()

    def service(self) -> Service:
        """The service, opened by the first call; if that fails, the next call tries again."""
        from fivefold.service.service import open_service

        with self._lock:
            if self._service is None:
                self._service = open_service(self.location, embedder=self.embedder)
            return self._service

    def session(self, request: Any, namespace: str | None) -> Session:
        from fivefold.service.session import Session

        caller = self._caller()
        name = (self.namespace or single_namespace(caller)) if namespace is None else namespace
        return Session(self.service(), caller, name)

    def _caller(self) -> Caller:
        if self.secret is not None:
            return self.service().caller(self.secret, local=True)
        return HERE if self.everywhere else Caller(HERE.role, (self.namespace or "default",))

    def is_structured(self, request: Any) -> bool:
        return self.structured

    def message(self, error: Exception) -> str:
        """A library error is shown as it is: the reader has the store."""
        from fivefold.service.problems import problem_of

        if isinstance(error, NamespaceRefused) and self.secret is None:
            return "only the namespace this was started for can be used; start it for all namespaces to use others"
        return str(error) if isinstance(error, FivefoldError) else problem_of(error).detail

    def close(self) -> None:
        self._ended = True
        if self._warming is not None:
            self._warming.join()
        with self._lock:
            if self._service is not None:
                self._service.close()
                self._service = None

    def _warm_up(self) -> None:
        """Load the model that the first question will need. A failure here is raised again when it is needed."""
        from fivefold.models.embedders import DEFAULT, choice_of, embedder, is_remote

        try:
            service = self.service()
            pin = service.engines.namespace(str(self.session(None, None).namespace)).embedder_pin()
            choice = self.embedder or (DEFAULT if pin is None else choice_of(pin))
            if not is_remote(choice) and not self._ended:
                embedder(choice).embed(["warm"])
        except FivefoldError as error:
            sys.stderr.write(f"fivefold: {error}\n")


def serve(transport: StdioTransport) -> None:
    """Answer until the client closes the input or a signal arrives; accepted writes are finished first."""
    try:
        anyio.run(_serve, transport)
    finally:
        transport.close()


async def _serve(transport: StdioTransport) -> None:
    handlers = Handlers(transport)
    server = build(handlers)
    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":
            tasks.start_soon(_end_on_signal, handlers, transport)
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_on_signal(handlers: Handlers, transport: StdioTransport) -> None:
    """The thread that waits for input cannot be woken, so the process ends from here."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            while handlers.running:
                await anyio.sleep(0.01)
            await anyio.to_thread.run_sync(transport.close)
            os._exit(0)
