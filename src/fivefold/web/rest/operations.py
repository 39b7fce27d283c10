"""Operations of the REST interface, as data: one `Operation` for each path and method, and the function that answers
it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial, wraps
from types import UnionType
from typing import Annotated, Any, ParamSpec, get_args, get_type_hints

from fastapi import Depends
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fivefold.errors import DiskFull
from fivefold.service.audit import subject_of
from fivefold.service.idempotency import PendingRequest, StoredResponse
from fivefold.service.problems import DoneWithoutRoom, problem
from fivefold.service.session import Action, Session
from fivefold.service.write_queue import QueuedWrite
from fivefold.values.access import Role
from fivefold.values.reports import Report
from fivefold.values.serialize import Value
from fivefold.web.auth import caller_of, recheck_caller, service_of
from fivefold.web.connections import BYTES, LINES, body_file
from fivefold.web.problems import ProblemError

P = ParamSpec("P")

IN = "/v1/namespaces/{namespace:name}"
"""The path prefix of a namespace."""

JSON = "application/json"

QUEUED_STATUS = 202
"""The status of a write that is accepted and stored later."""

KEY_HEADER, REPLAYED = "idempotency-key", "idempotent-replayed"

FALSE = ("false", "0", "off", "no", "f", "n")


@dataclass(frozen=True, slots=True)
class Example:
    """A request that works on the sample store: its path parameters, its query and its body."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, the role it needs, and its name in the audit log."""

    name: str
    method: str
    path: str
    role: Role
    action: str
    tag: str
    endpoint: Callable[..., Response]
    answers: Any
    """The class of the answer; None for lines of text."""
    status: int
    example: Example
    takes: str | None
    """The media type of the body."""
    gives: tuple[str, ...]
    """The media types of the answer, the usual one first."""
    queues: bool = False
    """True if it can be stored later, with `wait=false`."""
    other: Any = None
    """The class of another answer, which a request may ask for."""

    @property
    def writes(self) -> bool:
        """True if it changes something, so that it can take an idempotency key."""
        return self.method != "GET" and self.role != "reader"


OPERATIONS: dict[str, Operation] = {}


class ValueResponse(Response):
    """A value of the library as JSON, as its `to_dict()` writes it."""

    media_type = JSON

    def __init__(self, value: Value, status: int = 200) -> None:
        self.value = value
        super().__init__(json.dumps(value.to_dict(), ensure_ascii=False, allow_nan=False).encode(), status)


async def current_action(request: Request) -> Action:
    action: Action = request.state.action
    return action


Current = Annotated[Action, Depends(current_action)]
"""The action of this request, whose rights are checked; what an endpoint takes to do its work."""


async def current_once(request: Request) -> PendingRequest | None:
    once: PendingRequest | None = request.state.once
    return once


UnderKey = Annotated[PendingRequest | None, Depends(current_once)]
"""The idempotency key under which a write runs, if it has one."""


def operation(
    route: str,
    role: Role,
    action: str,
    *,
    tag: str,
    namespace: str = "default",
    id: str | None = None,
    query: Mapping[str, str] | None = None,
    body: Any = None,
    status: int = 200,
    takes: str | None = None,
    gives: tuple[str, ...] = (JSON,),
    queues: bool = False,
    answers: Any = None,
) -> Callable[[Callable[P, Value | Response]], Callable[P, Response]]:
    """Registers an endpoint under a route such as "GET /memories", inside a namespace unless it begins with /v1.

    The result of the endpoint is answered as JSON. `namespace`, `id`, `query` and `body` make its example.
    """
    method, path = route.split(" ")
    path = path if path.startswith("/v1") else IN + path
    given = {"namespace": namespace, "id": id}
    example = Example(
        {name: value for name, value in given.items() if value and f"{{{name}:" in path}, query or {}, body
    )

    def register(endpoint: Callable[P, Value | Response]) -> Callable[P, Response]:
        @wraps(endpoint)
        def respond(*args: P.args, **kwargs: P.kwargs) -> Response:
            action = kwargs.get("action")
            if isinstance(action, Action) and action.confirm is not None:
                action.confirm()
            answer = endpoint(*args, **kwargs)
            return answer if isinstance(answer, Response) else ValueResponse(answer, status)

        name = endpoint.__name__.rstrip("_")
        assert name not in OPERATIONS, name
        hints = get_type_hints(endpoint)
        returned = get_args(hints["return"]) if isinstance(hints["return"], UnionType) else (hints["return"],)
        usual, other = (*(kind for kind in returned if kind is not Response), answers, None)[:2]
        media_type = takes or (JSON if "body" in hints else None)
        OPERATIONS[name] = Operation(
            name, method, path, role, action, tag, respond, usual, status, example, media_type, gives, queues, other
        )
        return respond

    return register


class OperationRoute(APIRoute):
    """Every operation has the same steps: find the caller, check the rights, look for a stored answer, log it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()
        assert self.operation_id is not None
        operation = OPERATIONS[self.operation_id]

        async def respond(request: Request) -> Response:
            return await _respond(operation, request, inner)

        return respond


Inner = Callable[[Request], Coroutine[Any, Any, Response]]


async def _respond(operation: Operation, request: Request, inner: Inner) -> Response:
    caller = await run_in_threadpool(caller_of, request)
    session = Session(service_of(request), caller, request.path_params.get("namespace"))
    id = request.path_params.get("id")
    async with session.act(operation.action, operation.role, None if id is None else str(id)) as action:
        request.state.action, request.state.once = action, None
        sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if operation.takes not in (None, LINES if sent == BYTES else sent):
            message = f"the body must be sent as Content-Type: {operation.takes}"
            raise ProblemError(problem("unsupported-media-type", message))
        if operation.takes is not None:
            action.confirm = partial(recheck_caller, request)
            if operation.takes != LINES:
                await request.body()
        response = await (_respond_once(operation, action, request, inner) if operation.writes else inner(request))
        value = response.value if isinstance(response, ValueResponse) else None
        if isinstance(value, Report):
            action.subject = subject_of((*value.stored, *(merge.id for merge in value.merged)))
        elif response.status_code == QUEUED_STATUS and isinstance(value, QueuedWrite):
            action.subject, action.outcome = subject_of(value.waiting), "queued"
        elif REPLAYED in response.headers:
            action.outcome = "replayed"
            report = json.loads(bytes(response.body))
            if isinstance(report, dict) and {"stored", "merged"} <= report.keys():
                ids = (*report["stored"], *(merge["id"] for merge in report["merged"]))
                action.subject = subject_of(ids) or action.subject
    return response


async def _respond_once(operation: Operation, action: Action, request: Request, inner: Inner) -> Response:
    """A write waits for its turn once its body is complete, so that none waits for a slow sender."""

    async def do(under: PendingRequest | None) -> Response:
        request.state.once = under
        return await inner(request)

    service, namespace = action.service, action.session.namespace
    assert namespace is not None
    keeps = operation.action != "forget"  # the answer is what was forgotten
    under_key = partial(_run_once, action, request, namespace)
    if operation.takes != LINES:
        # A write that is stored later takes no turn among those that are stored now.
        queued = operation.queues and request.query_params.get("wait", "").lower() in FALSE
        async with service.note_writers if queued else service.writers:
            return await under_key(None, do, keeps)
    async with body_file(request) as (path, digest):
        await run_in_threadpool(recheck_caller, request)
        request.state.lines = path
        async with service.writers:
            return await under_key(digest, do)


async def _run_once(
    action: Action,
    request: Request,
    namespace: str,
    digest: bytes | None,
    do: Callable[[PendingRequest | None], Awaitable[Response]],
    keeps: bool = True,
) -> Response:
    """The response of `do`, or its first response under this key.

    Without a digest the body is hashed. Without `keeps` the answer is not stored; a second request learns only that it
    was answered.
    """
    key = request.headers.get(KEY_HEADER)
    if key is None:
        return await do(None)
    store = action.service.idempotency
    scope = f"{action.caller.key_id or 'here'} {request.method} {request.scope['path']}"
    body = b"" if digest else request.scope["query_string"] + b"\n" + await request.body()

    def begin() -> StoredResponse | PendingRequest:
        if action.confirm is not None:
            action.confirm()
        return store.begin(namespace, scope, key, digest or hashlib.sha256(body).digest())

    pending = await run_in_threadpool(begin)
    if isinstance(pending, StoredResponse):
        if pending.body is None:
            message = (
                "this was done before; a memory in its response has been forgotten since, and the response with it"
            )
            raise ProblemError(problem("answer-forgotten", message))
        return Response(pending.body, pending.status, {REPLAYED: "true"}, "application/json")
    try:
        response = await do(pending)
    except Exception:
        await run_in_threadpool(store.abandon, pending)
        raise
    answer = StoredResponse(response.status_code, bytes(response.body).decode() if keeps else None)
    try:
        await run_in_threadpool(store.finish, pending, answer)
    except DiskFull:
        raise DoneWithoutRoom("the answer under its Idempotency-Key") from None
    return response
