"""The checks of every request: the host name it is sent to, the site it comes from, the size of its body."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fivefold.service.limits import Allowance, LimitExceeded, Limits
from fivefold.service.problems import problem
from fivefold.web import problems
from fivefold.web.problems import ProblemError

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW_HEADERS = [
    (name.lower().encode(), value.encode()) for name, value in {**HEADERS, "Cache-Control": "no-store"}.items()
]
"""The headers of each answer that does not bring its own."""

READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
STALL_S = 30
"""The seconds without a byte after which the server stops waiting for a body."""

MAX_BODY_VALUES = 500_000
"""Values in one body, about. Reading JSON stops all other requests, and takes long for very many small values."""

MAX_QUERY_VALUES = 100
"""Values in the query of an address; no path takes as many, and listing all unknown ones would take long."""

_HOST = re.compile(r"(\[[0-9a-f:.%]+\]|[^\s:@/\[\]]+)(?::\d*)?")
_IMPORT = re.compile(r"/v1/namespaces/[^/]+/import")


@dataclass(frozen=True, slots=True)
class Sites:
    """The names this server answers under, and the other sites that may call it."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def knows_host(self, header: str) -> bool:
        """A name must be known, since anyone can make a name lead here; an address is always accepted."""
        name = host_of(header)
        if name in {"localhost", *(host.lower() for host in self.hosts)}:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def may_read(self, headers: Headers) -> bool:
        """True if the request may read: a page of another site may only link here, not make the server work."""
        if headers.get("sec-fetch-site", "none") in {"none", "same-origin"} or headers.get("origin") in self.origins:
            return True
        return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"

    def is_own(self, headers: Headers) -> bool:
        """True if a request that changes something comes from this site, from one that is allowed, or from no site."""
        origin = headers.get("origin")
        if origin is not None:
            return origin in self.origins or origin.partition("://")[2].lower() == headers.get("host", "").lower()
        return headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


def host_of(header: str) -> str:
    """The name or address in a Host header, without its port; empty if it is neither."""
    match = _HOST.fullmatch(header.strip().lower())
    return "" if match is None else match[1].strip("[]")


def is_loopback(host: str) -> bool:
    """True if only this machine can reach a server there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Refuses what must not reach the application, answers every failure, and sets the security headers."""

    def __init__(self, app: ASGIApp, sites: Sites, limits: Limits) -> None:
        self.app = app
        self.sites = sites
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})
        out = _Out(scope, send)
        is_import = _IMPORT.fullmatch(scope["path"]) is not None  # read line by line
        most = self.limits.import_bytes if is_import else self.limits.body_bytes
        body = _Body(receive, most, None if is_import else MAX_BODY_VALUES)
        try:
            self._check(Headers(scope=scope), scope, body)
            await self.app(scope, body.receive, out.send_unless(body))
        except Exception as error:
            if out.started:
                raise
            await problems.answer(Request(scope), error)(scope, receive, out.send)
            return
        if body.error is not None and not out.started:
            await problems.answer(Request(scope), body.error)(scope, receive, out.send)

    def _check(self, headers: Headers, scope: Scope, body: _Body) -> None:
        if not self.sites.knows_host(headers.get("host", "")):
            message = "this server does not answer under that name; its operator can allow it"
            raise ProblemError(problem("unknown-host", message))
        reads = scope["method"] in READ_METHODS
        if not (self.sites.may_read(headers) if reads else self.sites.is_own(headers)):
            message = f"a page of another site may not {'ask for' if reads else 'change'} anything here"
            raise ProblemError(problem("other-site", f"{message}; the operator of the server can allow it"))
        if scope["query_string"].count(b"&") >= MAX_QUERY_VALUES:
            raise ProblemError(problem("invalid-input", f"too many query parameters (max {MAX_QUERY_VALUES})"))
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > body.most:
            raise too_large(body.most)


def too_large(most: int) -> LimitExceeded:
    return LimitExceeded("body-too-large", most, f"the body has more than {most:,} bytes, the most this server takes")


class _Body:
    """Counts a body while it is read, and stops at one that is too large or does not arrive."""

    def __init__(self, receive: Receive, most: int, most_values: int | None) -> None:
        self._receive = receive
        self._read = 0
        self._values = 0
        self._most_values = most_values
        self._ended = False
        self.most = most
        self.error: LimitExceeded | ProblemError | None = None

    async def receive(self) -> Message:
        if self._ended:  # now only a disconnect can come
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), STALL_S)
        except TimeoutError:
            detail = f"nothing of the body came for {STALL_S} s; send it at once"
            self.error = ProblemError(problem("body-too-slow", detail))
            raise self.error from None
        self._ended = not message.get("more_body", False)
        self._count(message.get("body", b""))
        if self.error is not None:
            raise self.error
        return message

    def _count(self, chunk: bytes) -> None:
        self._read += len(chunk)
        if self._read > self.most:
            self.error = too_large(self.most)
        elif self._most_values is not None:
            self._values += sum(map(chunk.count, (b",", b"[", b"{")))
            if self._values > (most := self._most_values):
                message = f"the body has more than {most:,} values; send them in several"
                self.error = LimitExceeded("body-too-large", most, message)


class _Out:
    """The answer, with the headers that every answer gets."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = message["headers"]
            sent = {name for name, _ in headers}
            headers += [header for header in _RAW_HEADERS if header[0] not in sent]
            allowance: Allowance | None = self._scope["state"].get("allowance")
            if allowance is not None:
                left = f'"requests";r={allowance.left};t={allowance.full_in_s}'
                headers.append((b"ratelimit-policy", f'"requests";q={allowance.limit};w=60'.encode()))
                headers.append((b"ratelimit", left.encode()))
        await self._send(message)

    def send_unless(self, body: _Body) -> Send:
        """Sends nothing once the body has failed; the guard answers instead."""

        async def send(message: Message) -> None:
            if body.error is None or self.started:
                await self.send(message)

        return send


class NameConvertor(Convertor[str]):
    """One segment of the path, decoded: `{id:name}`. Bytes that are not UTF-8 stay, and are refused later."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value, errors="surrogateescape")

    def to_string(self, value: str) -> str:
        return quoted(value)


register_url_convertor("name", NameConvertor())


class RawPaths:
    """Routes match the path before it is decoded, so that an encoded slash does not end a segment."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (raw := scope.get("raw_path")):
            scope = {**scope, "path": raw.decode("latin-1").partition("?")[0]}
        await self.app(scope, receive, send)


def quoted(name: str) -> str:
    """A name as one segment of a path."""
    dots = name.replace(".", "%2E") if name.strip(".") == "" else None
    return dots or quote(name, safe="", errors="surrogateescape")
