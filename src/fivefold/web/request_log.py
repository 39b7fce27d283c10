"""Every request gets an id, is timed, and is reported to the observers of the server."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Literal, TextIO

from opentelemetry import propagate
from opentelemetry.trace import SpanKind, Status, StatusCode
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fivefold.service.metrics import RequestObserver, RequestSummary
from fivefold.service.tracing import current_tracer
from fivefold.text.display import escaped, visible
from fivefold.values.access import Caller
from fivefold.values.times import iso, new_id

UNMATCHED = "unmatched"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
REQUEST_ID = "X-Request-Id"
BODY_SHOWN = 4_000
"""Maximum bytes of a body that are logged, if contents are logged."""

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


Form = Literal["auto", "json", "plain"]
Level = Literal["debug", "info", "warning", "error"]

REQUESTS = "fivefold.requests"
MAX_REPEATS, WINDOW_S = 20, 60.0
"""Maximum number of messages of one kind that are logged in that time."""

_OWN = ("request_id", "method", "operation", "status", "ms", "key", "path", "body", "error_id")
"""Fields a line may have besides its message."""

_KNOWN = ("fivefold", "uvicorn", "opentelemetry", "psycopg")
"""Loggers whose messages contain no contents, except in the errors among their values."""


def start(form: Form = "auto", level: Level = "info", contents: bool = False, stream: TextIO | None = None) -> None:
    """Log to `stream`, or to standard error; `auto` is plain on a terminal."""
    target = stream or sys.stderr
    plain = form == "plain" or (form == "auto" and target.isatty())
    handler = logging.StreamHandler(target)
    handler.setFormatter(Plain(contents) if plain else Lines(contents))
    handler.addFilter(RepeatLimit())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("fivefold").setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


class RepeatLimit(logging.Filter):
    """Lets a few messages of one kind through in a minute; the first of the next minute says how many were left out.

    So nobody fills the disk by sending what is logged. Lines of requests pass: the operator asked for each of them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, int, str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == REQUESTS and record.levelno < logging.ERROR:
            return True
        kind, now = (record.name, record.levelno, record.pathname, record.lineno), self._clock()
        since, count = self._seen.get(kind, (now, 0))
        if now - since >= WINDOW_S:
            if count > MAX_REPEATS:
                record.msg = f"{record.msg} (and {count - MAX_REPEATS} more like it before)"
            since, count = now, 0
        self._seen[kind] = since, count + 1
        return count < MAX_REPEATS


class RequestLogger:
    """Writes a line for every request that has ended."""

    def __init__(self) -> None:
        self._log = logging.getLogger(REQUESTS)

    def request_began(self) -> None:
        """A request that has begun is not logged; it will end."""

    def request_ended(self, request: RequestSummary) -> None:
        level = logging.ERROR if request.status >= 500 else logging.INFO
        if not self._log.isEnabledFor(level):
            return
        fields = {
            "request_id": request.id,
            "method": request.method,
            "operation": request.operation,
            "status": request.status,
            "ms": round(request.seconds * 1000, 2),
            "key": request.key_id,
        }
        if request.path:
            fields |= {"path": request.path, "body": request.body}
        self._log.log(level, "request", extra=fields)


class Lines(logging.Formatter):
    """One JSON object a line."""

    def __init__(self, contents: bool = False) -> None:
        super().__init__()
        self._contents = contents

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": iso(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message_of(record, self._contents),
            **fields_of(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = failure(record.exc_info[1], self._contents)
        return escaped(json.dumps(line, ensure_ascii=False, default=str))


class Plain(Lines):
    """A line that a person reads."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        fields = fields_of(record)
        if record.name == REQUESTS:
            summary = f"{fields['status']} {fields['method']} {fields['operation']} {fields['ms']:.1f} ms"
            key = f" key {fields['key']}" if fields["key"] else ""
            contents = f" {fields['path']} {fields['body']}" if "path" in fields else ""
            line = f"{at} {summary}{key} ({fields['request_id']}){contents}"
        else:
            line = f"{at} {record.levelname.lower()}: {message_of(record, self._contents)}"
        if record.exc_info and record.exc_info[1] is not None:
            error = failure(record.exc_info[1], self._contents)
            line += f": {error['type']} {error.get('message', '')}\n" + "\n".join(error["trace"])
        return visible(line)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _OWN if hasattr(record, name)}


def message_of(record: logging.LogRecord, contents: bool) -> str:
    """The message. Without contents, an error in it is replaced by its type, one of other packages by its location."""
    if contents:
        return record.getMessage()
    if record.name.partition(".")[0] not in _KNOWN:
        return f"{record.pathname}:{record.lineno} in {record.funcName}"
    if not record.args:
        return record.getMessage()

    def kind(value: object) -> object:
        return type(value).__name__ if isinstance(value, BaseException) else value

    if isinstance(record.args, Mapping):
        return str(record.msg) % {name: kind(value) for name, value in record.args.items()}
    return str(record.msg) % tuple(map(kind, record.args))


def failure(error: BaseException, contents: bool) -> dict[str, Any]:
    """An error: its type and its trace, with its message only if contents are logged."""
    frames = traceback.extract_tb(error.__traceback__)
    trace = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
    description: dict[str, Any] = {"type": type(error).__name__}
    if contents:
        description["message"] = str(error)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        description["cause"] = failure(cause, contents)
    return {**description, "trace": trace}


class TracedRequests:
    """Middleware with a span around every request, within the caller's trace if the request names one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tracer = current_tracer()
        if scope["type"] != "http" or tracer is None:
            await self.app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        parent = propagate.extract(headers)
        with tracer.start_as_current_span(
            method, parent, SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:

            async def send_observed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            try:
                await self.app(scope, receive, send_observed)
            finally:
                operation = operation_of(scope)
                span.update_name(f"{method} {operation}")
                span.set_attributes({"http.request.method": method, "fivefold.operation": operation})
