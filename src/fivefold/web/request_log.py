"""Every request gets an id, is timed, and is reported to the observers of the server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fivefold.service.request_observers import RequestObserver, RequestSummary
from fivefold.values.access import Caller
from fivefold.values.ids import new_id

UNMATCHED = "unmatched"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
REQUEST_ID = "X-Request-Id"
BODY_SHOWN = 4_000
"""The most bytes of a body that are logged, where contents are logged."""

_SECRET = re.compile(r"(ff_[0-9a-f]{12}_)[0-9a-f]+")
_VALID_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)


class ObservedRequests:
    """Middleware that times every request, gives it an id, and reports it to the observers."""

    def __init__(self, app: ASGIApp, observers: Sequence[RequestObserver], contents: bool = False) -> None:
        self.app = app
        self.observers = observers
        self.contents = contents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = _Request(scope, receive, send, self.contents)
        for observer in self.observers:
            observer.request_began()
        try:
            await self.app(scope, request.receive, request.send)
        except BaseException:
            request.status = request.status or 500
            raise
        finally:
            summary = request.summary()
            for observer in self.observers:
                observer.request_ended(summary)


class _Request:
    """One request on its way through."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, contents: bool) -> None:
        self._began = perf_counter()
        self._scope = scope
        self._receive = receive
        self._send = send
        self._contents = contents
        self._body = b""
        self.status = 0
        sent_id = Headers(scope=scope).get(REQUEST_ID, "")
        self.id = sent_id if _VALID_ID.fullmatch(sent_id) else new_id()
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

    def summary(self) -> RequestSummary:
        method, caller = self._scope["method"], self._scope["state"].get("caller")
        query = self._scope["query_string"].decode("latin-1")
        return RequestSummary(
            id=self.id,
            method=method if method in METHODS else "OTHER",
            operation=operation_of(self._scope),
            status=self.status,
            seconds=perf_counter() - self._began,
            key_id=caller.key_id if isinstance(caller, Caller) else None,
            path=_mask(self._scope["path"] + (f"?{query}" if query else "")) if self._contents else "",
            body=_mask(self._body[:BODY_SHOWN].decode("utf-8", "replace")),
        )


def _mask(text: str) -> str:
    """The text without the secrets of keys, which are never logged."""
    return _SECRET.sub(r"\1…", text)


def operation_of(scope: Scope) -> str:
    """The name of the operation, from a small fixed set."""
    route = scope.get("route")
    name = getattr(route, "operation_id", None) or getattr(route, "path", None)
    if name:
        return str(name)
    if "endpoint" in scope and not scope.get("path_params"):  # matched, but not by a route with a template
        return str(scope.get("root_path") or scope["path"])
    return UNMATCHED
