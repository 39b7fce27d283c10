"""Problem details (RFC 9457): every error of the server, in plain words and under a stable name."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from fivefold.errors import (
    DiskFull,
    EmbedderError,
    EmbedderMismatch,
    FivefoldError,
    InvalidInput,
    MissingExtra,
    NotFound,
    ReadOnly,
    RerankerError,
    ServerAway,
    StoreClosed,
    StoreError,
    UnknownRecipe,
)
from fivefold.models.remote import RemoteError
from fivefold.service.limits import TooMuch, TooOften
from fivefold.values.access import Refused, Unauthorized
from fivefold.values.ids import new_id
from fivefold.values.serialize import Value

URN = "urn:fivefold:problem:"
MEDIA_TYPE = "application/problem+json"
AGAIN_S = 5
"""After how many seconds it is worth asking a busy or absent store again."""

KINDS: dict[str, tuple[int, str]] = {
    "malformed-body": (400, "The body is not what it says it is"),
    "unauthorized": (401, "A key is needed"),
    "refused": (403, "That is not allowed"),
    "read-only": (403, "The store cannot be written"),
    "other-site": (403, "The request comes from another site"),
    "not-found": (404, "There is no such thing"),
    "no-such-path": (404, "There is nothing at this path"),
    "wrong-method": (405, "This path does not take that method"),
    "embedder-mismatch": (409, "The namespace has another embedding model"),
    "under-way": (409, "The same request is under way"),
    "answer-forgotten": (410, "The answer is gone"),
    "body-too-slow": (408, "The body did not come"),
    "body-too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The body is of another type"),
    "unknown-host": (421, "This server does not answer under that name"),
    "invalid-input": (422, "A value cannot be used"),
    "unknown-recipe": (422, "There is no such recipe"),
    "text-too-long": (422, "A text is too long"),
    "k-too-large": (422, "Too many memories were asked for"),
    "batch-too-large": (422, "The batch is too large"),
    "page-too-large": (422, "The page is too large"),
    "key-used-otherwise": (422, "The idempotency key was used for another request"),
    "too-many-requests": (429, "Too many requests"),
    "internal": (500, "Something went wrong inside"),
    "missing-extra": (501, "An optional part is not installed"),
    "model-failed": (503, "A model did not answer"),
    "store-away": (503, "The store does not answer"),
    "stopping": (503, "The server is stopping"),
    "disk-full": (507, "There is no room left"),
}
"""Every kind of problem: its status, and what it is called in a few words."""

INSIDE = {
    "internal": "something went wrong",
    "read-only": "the store can be read but not written",
    "model-failed": "a model could not be loaded or did not answer",
    "store-away": "the store does not answer; try again",
    "stopping": "the server is stopping; try again",
    "disk-full": "there is no room left; the write was undone",
}
"""Kinds whose own words tell of files, servers and the like, which are not for everyone who asks."""

_ERRORS: tuple[tuple[type[FivefoldError], str], ...] = (
    (Unauthorized, "unauthorized"),
    (Refused, "refused"),
    (UnknownRecipe, "unknown-recipe"),
    (InvalidInput, "invalid-input"),
    (NotFound, "not-found"),
    (TooOften, "too-many-requests"),
    (EmbedderMismatch, "embedder-mismatch"),
    (MissingExtra, "missing-extra"),
    (EmbedderError, "model-failed"),
    (RerankerError, "model-failed"),
    (RemoteError, "model-failed"),
    (ReadOnly, "read-only"),
    (DiskFull, "disk-full"),
    (StoreClosed, "stopping"),
    (ServerAway, "store-away"),
    (StoreError, "store-away"),
)

_log = logging.getLogger("fivefold")


@dataclass(frozen=True, slots=True)
class Fault(Value):
    """One value of a request that cannot be used, and where it stands."""

    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class Problem(Value):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""
    """The path that was asked for."""
    errors: tuple[Fault, ...] = ()
    """Each value that cannot be used."""
    limit: int | None = None
    """What the server allows, where a limit was passed."""
    error_id: str | None = None
    """Under which id the server's log tells more."""

    @property
    def kind(self) -> str:
        return self.type.removeprefix(URN)


class Problematic(Exception):
    """A problem that no library error stands for."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers = dict(headers or {})


def problem(kind: str, detail: str, *, errors: tuple[Fault, ...] = (), limit: int | None = None) -> Problem:
    status, title = KINDS[kind]
    return Problem(URN + kind, title, status, detail, errors=errors, limit=limit)


def problem_of(error: Exception) -> tuple[Problem, dict[str, str]]:
    """The problem an error is, and the headers that go with it."""
    if isinstance(error, Problematic):
        return error.problem, error.headers
    if isinstance(error, HTTPException):
        return _of_http(error)
    if isinstance(error, TooMuch):
        return problem(error.kind, str(error), limit=error.limit), {}
    if isinstance(error, TooOften):
        return problem("too-many-requests", str(error), limit=error.limit), {"Retry-After": str(error.wait_s)}
    for kind, name in _ERRORS:
        if isinstance(error, kind):
            return (_inside(name, error) if name in INSIDE else problem(name, str(error))), _headers(name)
    return _inside("internal", error), {}


def _headers(name: str) -> dict[str, str]:
    if name == "unauthorized":
        return {"WWW-Authenticate": 'Bearer realm="fivefold"'}
    return {"Retry-After": str(AGAIN_S)} if name in {"store-away", "stopping", "model-failed"} else {}


def _of_http(error: HTTPException) -> tuple[Problem, dict[str, str]]:
    headers = dict(error.headers or {})
    if error.status_code == 404:
        return problem("no-such-path", "there is nothing at this path; /openapi.json lists what there is"), headers
    if error.status_code == 405:
        return problem("wrong-method", f"this path takes {headers.get('Allow') or headers.get('allow')}"), headers
    if error.status_code == 400:
        return problem("malformed-body", str(error.detail)), headers
    told = Problem("about:blank", str(error.detail), error.status_code, str(error.detail))
    return told, headers


def _inside(name: str, error: Exception) -> Problem:
    """Nothing of the inside is told; the id leads to it in the log."""
    id = new_id()
    level = logging.ERROR if name == "internal" else logging.WARNING
    _log.log(level, "problem %s, error %s", name, id, exc_info=error, extra={"error_id": id})
    return replace(problem(name, f"{INSIDE[name]}; the server's log tells more under {id}"), error_id=id)


def answer(request: Request, error: Exception) -> Response:
    """The answer to a request that failed: a problem, or for a page a way to go on."""
    found, headers = problem_of(error)
    if is_page(request):
        if found.kind == "unauthorized":
            return _to_login(request)
        if (shown := _page(request, found)) is not None:
            shown.headers.update(headers)
            return shown
    return response(replace(found, instance=request.scope["path"]), headers)


def response(found: Problem, headers: Mapping[str, str] | None = None) -> Response:
    body = json.dumps(found.to_dict(), ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, found.status, headers, MEDIA_TYPE)


API_PATHS = ("/v1/", "/mcp", "/metrics", "/health", "/ready", "/openapi.json")


def is_page(request: Request) -> bool:
    """Whether a person with a browser asks, for whom an answer is a page."""
    path: str = request.scope["path"]
    return not path.startswith(API_PATHS) and "text/html" in request.headers.get("accept", "text/html")


def _to_login(request: Request) -> Response:
    query = request.scope["query_string"].decode("latin-1")
    here = request.scope["path"] + (f"?{query}" if query else "")
    login = f"/login?next={quote(here if request.method == 'GET' else '/', safe='')}"
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": login})
    return RedirectResponse(login, status_code=303)


def _page(request: Request, found: Problem) -> Response | None:
    try:
        from fivefold.web.inspector.rendering import problem_page
    except ImportError:
        return None
    shown: Response = problem_page(request, found)
    return shown
