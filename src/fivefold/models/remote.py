"""Models of others: those that an installed package loads by name, and calls to servers, with time-outs and retries."""

from __future__ import annotations

import os
import random
import ssl
import time
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fivefold.errors import EmbedderError, FivefoldError, MissingExtra

TIMEOUT_S = 30.0
MAX_ATTEMPTS = 4
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class PackagedModel:
    """A model that a package loads by its name, when it is needed first."""

    package = ""
    _made_by = ""
    """The module and the class that takes the name."""
    error: type[FivefoldError] = EmbedderError

    def __init__(self, model: str) -> None:
        self._name = model
        try:
            self._version = version(self.package)
        except PackageNotFoundError:
            raise MissingExtra(f"{self.package}:{model}", self.package) from None

    @property
    def pin(self) -> str:
        return f"{self.package}:{self._name}@{self._version.split('.')[0]}"

    @cached_property
    def _model(self) -> Any:
        module, made = self._made_by.split(":")
        try:
            return getattr(import_module(module), made)(self._name)
        except Exception as error:
            raise self.error(f"{self.package} could not load {self._name!r}: {error}") from error


class RemoteError(FivefoldError):
    """The model server could not be reached or refused."""


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a service: the variable that may name another address, its usual one, the variable of its key."""

    address: str
    usual: str
    key: str


OPENAI = Server("OPENAI_BASE_URL", "https://api.openai.com/v1", "OPENAI_API_KEY")


@cache
def _certificates() -> ssl.SSLContext:
    """Read once: that takes longer than a short request."""
    import httpx

    return httpx.create_ssl_context()


def post(path: str, body: dict[str, Any], server: Server = OPENAI, patience_s: float | None = None) -> dict[str, Any]:
    """POST to the server's path; retried with growing pauses while it is busy or away and there is time."""
    try:
        import httpx
    except ImportError:
        raise MissingExtra("a remote model", "openai" if server is OPENAI else "rerank") from None

    base = os.environ.get(server.address, server.usual).rstrip("/")
    key = os.environ.get(server.key)
    end = None if patience_s is None else time.monotonic() + patience_s
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    pause, problem = 0.5, ""
    for attempt in range(MAX_ATTEMPTS):
        if attempt:
            wait = pause + random.random() * pause / 2
            if end is not None and time.monotonic() + wait >= end:
                break
            time.sleep(wait)
            pause *= 2
        left = TIMEOUT_S if end is None else min(TIMEOUT_S, max(0.001, end - time.monotonic()))
        try:
            answer = httpx.post(f"{base}{path}", json=body, headers=headers, timeout=left, verify=_certificates())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            problem = f"{type(error).__name__}: {error}"
            continue
        if answer.status_code == 200:
            return dict(answer.json())
        problem = f"HTTP {answer.status_code}: {answer.text[:200]}"
        if answer.status_code not in _AGAIN:
            break
    hint = "" if key else f" ({server.key} is not set)"
    raise RemoteError(f"{base}{path} did not answer{hint}: {problem}")
