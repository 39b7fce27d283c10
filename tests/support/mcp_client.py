"""The SDK's own client on a real server: a process on standard streams, or one that listens on this machine."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, ParamSpec, TypeVar

import anyio
import httpx2
import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from fivefold.mcp.server import Handlers, StdioTransport, build

P = ParamSpec("P")
R = TypeVar("R")

MODERN = "2026-07-28"

RECORDS: list[dict[str, Any]] = [
    {"id": "badge", "content": "My badge ID is E-47821", "speaker": "user", "session_id": "monday"},
    {"id": "nod", "content": "Noted, the badge is E-47821.", "speaker": "assistant", "session_id": "monday"},
    {"id": "key", "content": "The spare key is with Mrs Okafor"},
    {"id": "home", "content": "I live in Leeds", "speaker": "user"},
    {"id": "a/b ü%2F", "content": "The bakery on the corner closes at six"},
]
HIDDEN: list[dict[str, Any]] = [
    {"id": "vault", "content": "The badge of the vault is Q-99613", "speaker": "warden", "session_id": "midnight"},
    {"id": "crypt", "content": "The spare key of the crypt hangs behind the clock", "speaker": "warden"},
]
"""What the namespace `other` holds."""


class Talk:
    """One connection, to be used from any thread."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client = client
        self._portal = portal

    def ask(self, method: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal.call(partial(method, *args, **kwargs))

    def call(self, tool: str, /, **given: Any) -> types.CallToolResult:
        return self.ask(self.client.call_tool, tool, given)

    def done(self, tool: str, /, **given: Any) -> Any:
        """The structured result of a call that must work."""
        result = self.call(tool, **given)
        assert not result.is_error, text_of(result)
        return result.structured_content

    def together(self, calls: list[tuple[str, dict[str, Any]]]) -> list[types.CallToolResult]:
        """All at once, on this one connection."""
        answers: list[types.CallToolResult | None] = [None] * len(calls)

        async def one(place: int, tool: str, given: dict[str, Any]) -> None:
            answers[place] = await self.client.call_tool(tool, given)

        async def every() -> None:
            async with anyio.create_task_group() as tasks:
                for place, (tool, given) in enumerate(calls):
                    tasks.start_soon(one, place, tool, given)

        self._portal.call(every)
        return [answer for answer in answers if answer is not None]


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@contextmanager
def connected(transport: Any, mode: str) -> Iterator[Talk]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(transport, mode=mode, cache=None)) as client,
    ):
        yield Talk(client, portal)


@contextmanager
def within(path: str, namespace: str | None = None, mode: str = "legacy", **options: Any) -> Iterator[Talk]:
    """The server of standard streams within this process, for what does not depend on the process."""
    transport = StdioTransport(path, namespace, **{"structured": True, **options})
    try:
        with connected(build(Handlers(transport)), mode) as talk:
            yield talk
    finally:
        transport.close()


def command(path: str, *options: str) -> list[str]:
    return ["-m", "fivefold", "mcp", "--store", path, *options]


@contextmanager
def over_stdio(path: str, *options: str, mode: str = "legacy", **env: str) -> Iterator[Talk]:
    args = command(path, "--structured", *options)
    started = StdioServerParameters(command=sys.executable, args=args, env=env)
    with connected(stdio_client(started), mode) as talk:
        yield talk


@contextmanager
def over_http(url: str, key: str | None = None, mode: str = "legacy") -> Iterator[Talk]:
    with connected(_transport(url, key), mode) as talk:
        yield talk


@asynccontextmanager
async def _transport(url: str, key: str | None) -> AsyncIterator[Any]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    if "?" not in url:
        url = f"{url}?structured=1"
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
