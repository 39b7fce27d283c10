"""Every request as those who run the server see it: what was asked for, what came of it, how long it took.

A request is told by its route, never by its path, which may hold ids, nor by its body or its questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fivefold.values.access import Caller
from fivefold.values.ids import new_id

UNMATCHED = "unmatched"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
REQUEST_ID = "X-Request-Id"
BODY_SHOWN = 4_000
"""Bytes of a body that are kept where contents are asked for."""

_SECRET = re.compile(r"(ff_[0-9a-f]{12}_)[0-9a-f]+")
_GIVEN_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that has ended."""

    id: str
    method: str
    operation: str
    """The operation's name, or the template of its path."""
    status: int
    """0 where the client went away before there was an answer."""
    seconds: float
    key_id: str | None
    path: str = ""
    body: str = ""
    """Path and body are kept only where contents are asked for."""


class Watcher(Protocol):
    """Is told when a request begins and when it has ended."""

    def began(self) -> None: ...

    def answered(self, answered: Answered) -> None: ...


class Watched:
    """Times every request, gives it an id, and tells the watchers."""

    def __init__(self, app: ASGIApp, watchers: Sequence[Watcher], contents: bool = False) -> None:
        self.app = app
        self.watchers = watchers
        self.contents = contents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        seen = _Seen(scope, receive, send, self.contents)
        for watcher in self.watchers:
            watcher.began()
        try:
            await self.app(scope, seen.receive, seen.send)
        except BaseException:
            seen.status = seen.status or 500
            raise
        finally:
            answered = seen.answered()
            for watcher in self.watchers:
                watcher.answered(answered)


class _Seen:
    """One request on its way through."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, contents: bool) -> None:
        self._began = perf_counter()
        self._scope = scope
        self._receive = receive
        self._send = send
        self._contents = contents
        self._body = b""
        self.status = 0
        given = Headers(scope=scope).get(REQUEST_ID, "")
        self.id = given if _GIVEN_ID.fullmatch(given) else new_id()
        scope.setdefault("state", {})["request_id"] = self.id

    async def receive(self) -> Message:
        message = await self._receive()
        if self._contents and len(self._body) < BODY_SHOWN:
            self._body += message.get("body", b"")[:BODY_SHOWN]
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)[REQUEST_ID] = self.id
        await self._send(message)

    def answered(self) -> Answered:
        method, caller = self._scope["method"], self._scope["state"].get("caller")
        query = self._scope["query_string"].decode("latin-1")
        return Answered(
            id=self.id,
            method=method if method in METHODS else "OTHER",
            operation=operation_of(self._scope),
            status=self.status,
            seconds=perf_counter() - self._began,
            key_id=caller.key_id if isinstance(caller, Caller) else None,
            path=_masked(self._scope["path"] + (f"?{query}" if query else "")) if self._contents else "",
            body=_masked(self._body[:BODY_SHOWN].decode("utf-8", "replace")),
        )


def _masked(text: str) -> str:
    """Without the secret of a key: contents may have been asked for, those never are."""
    return _SECRET.sub(r"\1…", text)


def operation_of(scope: Scope) -> str:
    """The name of what was asked for, of which there are only so many."""
    route = scope.get("route")
    named = getattr(route, "operation_id", None) or getattr(route, "path", None)
    if named:
        return str(named)
    if "endpoint" in scope and not scope.get("path_params"):  # found, but not by a route with a template
        return str(scope.get("root_path") or scope["path"])
    return UNMATCHED
