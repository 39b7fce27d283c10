"""MCP over HTTP, mounted in the server beside REST: the same keys, limits and notes."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from fivefold.mcp.desk import only_one
from fivefold.mcp.server import Answering, build
from fivefold.mcp.source_numbers import Numbers
from fivefold.service.service import Service
from fivefold.values.access import Caller
from fivefold.web.auth import caller_of, still_the_caller
from fivefold.web.problems import problem_of


@dataclass(frozen=True, slots=True)
class Remote:
    """Each request comes with its own key."""

    opened: Service
    numbers: Numbers = field(default_factory=Numbers)

    def begin(self) -> None:
        pass

    def service(self) -> Service:
        return self.opened

    def caller(self, request: Any) -> Caller:
        return still_the_caller(request)

    def usual(self, caller: Caller) -> str:
        return only_one(caller)

    def words(self, error: Exception) -> str:
        return problem_of(error)[0].detail


class Mounted:
    """Lets in who may ask, then answers. No request needs the one before it, save that numbers of sources are those
    of the process that told them."""

    def __init__(self, service: Service) -> None:
        self._sessions = StreamableHTTPSessionManager(
            build(Answering(Remote(service))),
            json_response=True,
            stateless=True,
            max_request_body_size=service.limits.body_bytes,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.to_thread.run_sync(caller_of, Request(scope))
        await self._sessions.handle_request(scope, receive, send)


def mounted(service: Service) -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
    """The app that answers at /mcp, and the context in which it does."""
    made = Mounted(service)
    return made, made.running()
