"""MCP at /mcp: the same keys, limits and audit log as REST."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from fivefold.mcp.server import Handlers, build
from fivefold.mcp.source_numbers import MAX_RECALLS, SourceNumbers
from fivefold.mcp.transport import single_namespace
from fivefold.service.problems import problem_of
from fivefold.service.service import Service
from fivefold.service.session import Session
from fivefold.web.auth import caller_of, recheck_caller


@dataclass(frozen=True, slots=True)
class HttpTransport:
    """Each request comes with its own key."""

    opened: Service
    source_numbers: SourceNumbers

    def preload(self) -> None:
        """The server has loaded everything."""

    def service(self) -> Service:
        return self.opened

    def session(self, request: Any, namespace: str | None) -> Session:
        caller = recheck_caller(request)
        return Session(self.opened, caller, single_namespace(caller) if namespace is None else namespace)

    def is_structured(self, request: Any) -> bool:
        """The address asks for it, as in /mcp?structured=1."""
        return bool(request.query_params.get("structured"))

    def message(self, error: Exception) -> str:
        return problem_of(error).detail


class McpEndpoint:
    """Checks the key, then answers. No request depends on the one before it, except that numbers of sources are known
    only to the server that gave them."""

    def __init__(self, service: Service) -> None:
        numbers = SourceNumbers(service.tables.table("sources", MAX_RECALLS))
        self._sessions = StreamableHTTPSessionManager(
            build(Handlers(HttpTransport(service, numbers))),
            json_response=True,
            stateless=True,
            max_request_body_size=service.limits.body_bytes,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.to_thread.run_sync(caller_of, Request(scope))
        await self._sessions.handle_request(scope, receive, send)


def mcp_endpoint(service: Service) -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
    """The app that answers at /mcp, and the context in which it does."""
    endpoint = McpEndpoint(service)
    return endpoint, endpoint.running()
