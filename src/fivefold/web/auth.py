"""Finds the caller: by the key of a request, from its header or, on pages, from its cookie."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from fivefold.service.service import Service
from fivefold.values.access import Caller, Unauthorized
from fivefold.web.problems import API_PATHS
from fivefold.web.security import host_of, is_loopback

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_OWN, _OTHER, _STATE, _OWNER = 1, 2, 3, 7
"""Columns of these tables."""
_ESTABLISHED = "01"

Address = tuple[str, int | None]


@dataclass(frozen=True)
class Peer:
    """The other end of a connection from this machine, as address and port, and our end."""

    client: Address
    server: Address

    @property
    def is_own(self) -> bool:
        """True if its process has the user of this one, or if the system does not say, as outside of Linux."""
        return sys.platform != "linux" or self.owner == os.geteuid()

    @cached_property
    def owner(self) -> int | None:
        """The user of the process that connected; None if its socket is not found."""
        wanted = (_in_table(*self.client), _in_table(*self.server), _ESTABLISHED)
        for table in TABLES:
            with suppress(OSError):
                for line in table.read_text().splitlines()[1:]:
                    row = line.split()
                    if (row[_OWN], row[_OTHER], row[_STATE]) == wanted:
                        return int(row[_OWNER])
        return None


def _in_table(host: str, port: int | None) -> str:
    """An address as the tables have it: words of four bytes in the order of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    packed = socket.inet_pton(family, host)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port or 0:04X}"


COOKIE = "fivefold_signed_in"
PROXY_HEADERS = ("forwarded", "via", "true-client-ip", "x-client-ip", "x-original-host")
PROXY_PREFIXES = ("x-forwarded", "x-real-", "x-envoy-", "cf-")
"""Headers of a proxy, and prefixes of others: what comes through a proxy does not come from this machine, whatever its
address is.
"""


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def caller_of(request: Request) -> Caller:
    """The caller, counted against their rate; raises `Unauthorized` if a key is needed or not known."""
    known: Caller | None = getattr(request.state, "caller", None)
    if known is not None:
        return known
    service, asker = service_of(request), f"address {address_of(request)}"
    try:
        caller = recheck_caller(request)
        asker = f"key {caller.key_id}" if caller.key_id else asker
    finally:
        request.state.allowance = service.rates.take(asker)
    request.state.caller = caller
    return caller


def recheck_caller(request: Request) -> Caller:
    """The caller, looked up again and not counted: the key may be revoked while a long body arrives."""
    return service_of(request).caller(secret_of(request), is_local(request))


CurrentCaller = Annotated[Caller, Depends(caller_of)]


def secret_of(request: Request) -> str | None:
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, secret = header.partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Unauthorized("the key goes into the header as: Authorization: Bearer ff_…")
        return secret.strip()
    if request.scope["path"].startswith(API_PATHS):
        return None
    return service_of(request).sign_ins.secret(request.cookies.get(COOKIE, ""))


def is_local(request: Request) -> bool:
    """True if the request comes directly from this machine, from this user, and names the machine as its host.

    A proxy that forwards plainly looks the same, but mostly has a user of its own or speaks HTTP/1.0.
    """
    if request.scope.get("http_version") == "1.0" or any(
        name in PROXY_HEADERS or name.startswith(PROXY_PREFIXES) for name in request.headers
    ):
        return False
    try:
        near = ipaddress.ip_address(address_of(request)).is_loopback
    except ValueError:
        return False
    peer: Peer | None = getattr(request.state, "peer", None)
    return near and is_loopback(host_of(request.headers.get("host", ""))) and (peer is None or peer.is_own)


def address_of(request: Request) -> str:
    return request.client.host if request.client is not None else ""
