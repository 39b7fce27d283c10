"""Every failed request is answered by a problem (RFC 9457), or for a person by a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from fivefold.errors import Call
from fivefold.service.idempotency import RequestInProgress
from fivefold.service.limits import RateExceeded
from fivefold.service.problems import Problem, problem, problem_of
from fivefold.values.access import Unauthorized

MEDIA_TYPE = "application/problem+json"
RETRY_S = 5
"""After how many seconds it is worth asking a busy or absent store again."""

_RETRY_KINDS = ("store-away", "stopping", "model-failed")


class ProblemError(Exception):
    """A problem of a request that is not an error of the library."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers: dict[str, str] = dict(headers or {})


def problem_and_headers(error: Exception) -> tuple[Problem, dict[str, str]]:
    """The problem an error is, and the headers that go with it."""
    if isinstance(error, ProblemError):
        return error.problem, error.headers
    if isinstance(error, HTTPException):
        return _of_http(error)
    if isinstance(error, ClientDisconnect):
        return problem("malformed-body", "the body broke off, or a chunk of it is malformed; send all of it"), {}
    failure = problem_of(error)
    if isinstance(error, RateExceeded | RequestInProgress):
        return failure, {"Retry-After": str(error.retry_after_s)}
    if isinstance(error, Unauthorized):

        def header(call: Call) -> str:
            return "Authorization: Bearer ff_…" if "key" in call.arguments else str(call)

        return replace(failure, detail=error.message(call=header)), {"WWW-Authenticate": 'Bearer realm="fivefold"'}
    return failure, {"Retry-After": str(RETRY_S)} if failure.kind in _RETRY_KINDS else {}


def _of_http(error: HTTPException) -> tuple[Problem, dict[str, str]]:
    headers = dict(error.headers or {})
    if error.status_code == 404:
        return problem("no-such-path", "there is nothing at this path; /openapi.json lists what there is"), headers
    if error.status_code == 405:
        return problem("wrong-method", f"this path takes {headers.get('Allow') or headers.get('allow')}"), headers
    if error.status_code == 400:
        return problem("malformed-body", str(error.detail)), headers
    return Problem("about:blank", str(error.detail), error.status_code, str(error.detail)), headers


def answer(request: Request, error: Exception) -> Response:
    """The answer to a request that failed: a problem, or a page for a browser."""
    failure, headers = problem_and_headers(error)
    render = getattr(getattr(request.scope.get("app"), "state", None), "problem_page", None)  # set by `create_app`
    if is_page(request):
        if failure.kind == "unauthorized":
            return _to_login(request)
        if render is not None:
            page: Response = render(request, failure)
            page.headers.update(headers)
            return page
    body = json.dumps(replace(failure, instance=request.scope["path"]).to_dict(), ensure_ascii=False)
    return Response(body.encode("utf-8", "replace"), failure.status, headers, MEDIA_TYPE)


API_PATHS = ("/v1/", "/mcp", "/metrics", "/health", "/ready", "/openapi.json")


def is_page(request: Request) -> bool:
    """True if a person with a browser asks, for whom an answer is a page."""
    path: str = request.scope["path"]
    return not path.startswith(API_PATHS) and "text/html" in request.headers.get("accept", "text/html")


def _to_login(request: Request) -> Response:
    query = request.scope["query_string"].decode("latin-1")
    here = request.scope["path"] + (f"?{query}" if query else "")
    login = f"/login?next={quote(here if request.method == 'GET' else '/', safe='')}"
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": login})
    return RedirectResponse(login, status_code=303)
