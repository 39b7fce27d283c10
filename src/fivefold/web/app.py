"""The server's application: REST, MCP and the inspector around one `Service`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from fivefold.errors import FivefoldError, MissingExtra
from fivefold.mcp.transport import MAX_RECALLS, SourceNumbers, single_namespace
from fivefold.service.live import MAX_EVENTS, LiveFeed
from fivefold.service.metrics import MEDIA_TYPE, Metrics
from fivefold.service.problems import Fault, Problem, problem, problem_of
from fivefold.service.service import Service
from fivefold.service.session import Session
from fivefold.values.access import Refused
from fivefold.version import VERSION
from fivefold.web import problems
from fivefold.web.auth import caller_of, recheck_caller, service_of
from fivefold.web.openapi import describe
from fivefold.web.problems import ProblemError
from fivefold.web.request_log import METHODS, ObservedRequests, RequestLogger, TracedRequests
from fivefold.web.rest import install
from fivefold.web.security import Guard, RawPaths, Sites

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

MAX_FAULTS = 20
"""Faults that one problem lists."""


def create_app(
    service: Service,
    *,
    pages: bool = True,
    mcp: bool = True,
    sites: Sites | None = None,
    metrics_open: bool = False,
    log_contents: bool = False,
    traced: bool = False,
) -> FastAPI:
    """The application; `pages` is the inspector, `mcp` the tools at /mcp.

    `metrics_open` shows figures to anyone, `log_contents` logs questions and answers, `traced` makes spans.
    """
    sites = sites or Sites()
    metrics = Metrics(service.engines.store, service.processes.figures, service.processes.number)
    app = FastAPI(
        title="fivefold",
        version=VERSION,
        summary="Long-term memory for AI agents: remember, recall, and see why each memory came back.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        middleware=[
            Middleware(RawPaths),
            *([Middleware(TracedRequests)] if traced else ()),
            Middleware(ObservedRequests, observers=(RequestLogger(), metrics), contents=log_contents),
            *_cors(sites),
            Middleware(Guard, sites=sites, limits=service.limits),
        ],
    )
    app.state.service = service
    app.state.metrics = metrics
    app.state.lifespans = []
    app.state.problem_page = _problem_page()
    for kind in (FivefoldError, ProblemError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _answer_error)
    install(app)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]

    def show_metrics(request: Request) -> Response:
        """Figures for Prometheus, for an admin of the whole store unless anyone may see them."""
        if not metrics_open:
            caller = caller_of(request)
            caller.require("admin")
            if not caller.sees_all:
                raise Refused("figures cover the whole store; they need an admin's key for all namespaces")
        return Response(metrics.text(), headers={"Content-Type": MEDIA_TYPE})

    app.router.add_api_route("/metrics", show_metrics, methods=["GET"], include_in_schema=False)
    if mcp and find_spec("mcp") is not None:
        endpoint = McpEndpoint(service)
        app.state.lifespans.append(endpoint.running())
        app.router.routes.append(Route("/mcp", endpoint=endpoint, methods=["POST"]))
    if pages:
        from fivefold.web.inspector import router

        events = service.tables.table("events", MAX_EVENTS)
        app.state.live, app.state.live_streams = LiveFeed(service.engines.store, table=events), 0
        app.include_router(router, dependencies=[Depends(_in_turn)])
    return app


def _problem_page() -> Callable[[Request, Problem], Response] | None:
    """The function that shows a problem as a page; None if the packages of the pages are not installed."""
    try:
        from fivefold.web.inspector.rendering import problem_page
    except ImportError:
        return None
    return problem_page


async def _in_turn(request: Request) -> AsyncIterator[None]:
    """A change from a page waits for its turn among the writes; signing in or out is not a write."""
    writes = request.method == "POST" and request.scope["path"] not in ("/login", "/logout")
    async with service_of(request).writers if writes else nullcontext():
        yield


def _cors(sites: Sites) -> list[Middleware]:
    """Off unless a site is named; keys go in a header, so no cookies are allowed."""
    if not sites.origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=sites.origins,
            allow_methods=("GET", "POST", "PATCH", "DELETE"),
            allow_headers=("Authorization", "Content-Type", "Idempotency-Key"),
            expose_headers=("Idempotent-Replayed", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"),
        )
    ]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        stack.callback(app.state.metrics.close)
        if hasattr(app.state, "live"):
            stack.callback(app.state.live.close)
        for lifespan in app.state.lifespans:
            await stack.enter_async_context(lifespan)
        yield


def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.status_code == 405:
        allowed = {
            method
            for method in METHODS
            for route in request.app.routes
            if route.matches({**request.scope, "method": method})[0] is Match.FULL
        }
        error = HTTPException(405, headers={"Allow": ", ".join(sorted(allowed))})
    elif isinstance(error, RequestValidationError):
        error = _invalid(error)
    return problems.answer(request, error)


def _invalid(error: RequestValidationError) -> ProblemError:
    """The first value that cannot be used, in a sentence; all of them in a list."""
    errors = error.errors()
    if errors[0]["type"] == "json_invalid":
        detail = f"the body is not JSON: {errors[0]['ctx']['error']} at character {errors[0]['loc'][-1]}"
        return ProblemError(problem("malformed-body", detail))
    faults = tuple(Fault(".".join(map(str, item["loc"])), str(item["msg"])) for item in errors[:MAX_FAULTS])
    return ProblemError(problem("invalid-input", f"{faults[0].field}: {faults[0].detail}", errors=faults))


@dataclass(frozen=True, slots=True)
class HttpTransport:
    """Each request comes with its own key."""

    opened: Service
    source_numbers: SourceNumbers

    def preload(self) -> None:
        """The server has loaded everything."""

    def service(self) -> Service:
        return self.opened

    def session(self, request: Any, namespace: str | None) -> Session:
        caller = recheck_caller(request)
        return Session(self.opened, caller, single_namespace(caller) if namespace is None else namespace)

    def is_structured(self, request: Any) -> bool:
        """The address asks for it, as in /mcp?structured=1."""
        return bool(request.query_params.get("structured"))

    def message(self, error: Exception) -> str:
        return problem_of(error).detail


class McpEndpoint:
    """Checks the key, then answers. Requests are independent, but only this server knows its numbers of sources.

    The first request loads the SDK, which takes as long as all else; if that fails, the next request tries again.
    """

    def __init__(self, service: Service) -> None:
        self._transport = HttpTransport(service, SourceNumbers(service.tables.table("sources", MAX_RECALLS)))
        self._starting = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.to_thread.run_sync(caller_of, Request(scope))
        async with self._starting:
            self._sessions = sessions = self._sessions or await self._start()
        await sessions.handle_request(scope, receive, send)

    async def _start(self) -> StreamableHTTPSessionManager:
        if self._tasks is None:
            raise RuntimeError("MCP needs the app's lifespan; run the app in a server that has it switched on")
        try:
            sessions = await anyio.to_thread.run_sync(mcp_sessions, self._transport)
        except ImportError as error:
            raise MissingExtra("MCP", "mcp") from error
        await self._tasks.start(_run, sessions)
        return sessions


async def _run(sessions: StreamableHTTPSessionManager, *, task_status: TaskStatus[None]) -> None:
    async with sessions.run():
        task_status.started()
        await anyio.sleep_forever()


def mcp_sessions(transport: HttpTransport) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from fivefold.mcp.server import Handlers, build

    built, size = build(Handlers(transport)), transport.opened.limits.body_bytes
    return StreamableHTTPSessionManager(built, json_response=True, stateless=True, max_request_body_size=size)
