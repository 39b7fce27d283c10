"""What the REST interface can do, as data: one `Operation` for each path and method, and how one is answered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Annotated, Any, ParamSpec

import anyio.to_thread
from fastapi import Depends
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fivefold.engine import Engine
from fivefold.service.service import Service
from fivefold.values.access import Caller, Refused, Role
from fivefold.values.reports import Report
from fivefold.values.serialize import Value
from fivefold.values.validate import MAX_NAME, checked_name
from fivefold.web.auth import caller_of, service_of, still_the_caller
from fivefold.web.idempotency import REPLAYED, Once, once
from fivefold.web.problems import Problematic, problem
from fivefold.web.streaming import spooled

P = ParamSpec("P")

IN = "/v1/namespaces/{namespace:name}"
"""Where all that belongs to one namespace lies."""

JSON = "application/json"
LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Example:
    """A request that works on the sample store: what stands in the path, behind the `?` and in the body."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked for, who may, and what the audit log calls it."""

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

    @property
    def writes(self) -> bool:
        """Whether it changes something, so that it can be told to happen once only."""
        return self.method != "GET" and self.role != "reader"


OPERATIONS: dict[str, Operation] = {}


class Answer(Response):
    """A value of the library as JSON, as its `to_dict()` writes it."""

    media_type = JSON

    def __init__(self, value: Value, status: int = 200) -> None:
        self.value = value
        super().__init__(json.dumps(value.to_dict(), ensure_ascii=False, allow_nan=False).encode(), status)


@dataclass(slots=True)
class Asking:
    """A request that may go on: who asks for what, in which namespace."""

    service: Service
    caller: Caller
    role: Role
    namespace: str | None
    once: Once | None = None

    @property
    def engine(self) -> Engine:
        assert self.namespace is not None
        return self.service.engine(self.caller, self.role, self.namespace)


async def asking_of(request: Request) -> Asking:
    asking: Asking = request.state.asking
    return asking


Asks = Annotated[Asking, Depends(asking_of)]


def operation(
    method: str,
    path: str,
    *,
    role: Role,
    action: str,
    tag: str,
    answers: Any,
    example: Example | None = None,
    status: int = 200,
    takes: str | None = None,
    gives: tuple[str, ...] = (JSON,),
) -> Callable[[Callable[P, Value | Response]], Callable[P, Response]]:
    """Registers an endpoint; what it returns is answered as JSON."""

    def register(endpoint: Callable[P, Value | Response]) -> Callable[P, Response]:
        @wraps(endpoint)
        def answering(*args: P.args, **kwargs: P.kwargs) -> Response:
            found = endpoint(*args, **kwargs)
            return found if isinstance(found, Response) else Answer(found, status)

        name = endpoint.__name__.rstrip("_")
        assert name not in OPERATIONS, name
        OPERATIONS[name] = Operation(
            name, method, path, role, action, tag, answering, answers, status, example or Example(), takes, gives
        )
        return answering

    return register


class OperationRoute(APIRoute):
    """Every operation goes the same way: who asks, may they, was it asked before, what is noted of it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()
        assert self.operation_id is not None
        asked = OPERATIONS[self.operation_id]

        async def answered(request: Request) -> Response:
            return await _answered(asked, request, inner)

        return answered


Inner = Callable[[Request], Coroutine[Any, Any, Response]]


async def _answered(asked: Operation, request: Request, inner: Inner) -> Response:
    caller = await run_in_threadpool(caller_of, request)
    service, namespace = service_of(request), request.path_params.get("namespace")
    outcome, response = "failed", None
    try:
        caller.require(asked.role, namespace)
        namespace = None if namespace is None else checked_name(namespace, "namespace")
        asking = request.state.asking = Asking(service, caller, asked.role, namespace)
        _check_type(asked, request)
        if asked.writes:
            response = await _answered_once(asked, asking, request, inner)
        else:
            await _whole(asked, request)
            response = await inner(request)
        outcome = "replayed" if REPLAYED in response.headers else "ok"
    except Refused:
        outcome = "refused"
        raise
    finally:
        note = partial(service.audit.note, caller, asked.action, namespace, _subject(request, response), outcome)
        with anyio.CancelScope(shield=True):  # also of what a stop has cut off
            await anyio.to_thread.run_sync(note, limiter=service.noting if asked.writes else None)
    return response


async def _answered_once(asked: Operation, asking: Asking, request: Request, inner: Inner) -> Response:
    """A write waits for its turn when its body is there, so that none waits for a slow sender."""

    async def do(under: Once | None) -> Response:
        asking.once = under
        return await inner(request)

    assert asking.namespace is not None
    keeps = asked.action != "forget"  # the answer is what was forgotten
    under_key = partial(once, asking.service.answers, request, asking.caller.key_id or "here", asking.namespace)
    if asked.takes != LINES:
        await _whole(asked, request)
        async with asking.service.writing:
            return await under_key(partial(_digest, request), do, keeps)
    async with spooled(request) as body:
        await run_in_threadpool(still_the_caller, request)
        request.state.lines = body.path
        async with asking.service.writing:
            return await under_key(body.digest, do)


async def _whole(asked: Operation, request: Request) -> None:
    """Wait for the body. Who sent it must still be let in when it has come."""
    if asked.takes is not None:
        await request.body()
        await run_in_threadpool(still_the_caller, request)


async def _digest(request: Request) -> bytes:
    return hashlib.sha256(request.scope["query_string"] + b"\n" + await request.body()).digest()


def _check_type(asked: Operation, request: Request) -> None:
    if asked.takes is None:
        return
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != asked.takes:
        raise Problematic(problem("unsupported-media-type", f"the body must be sent as Content-Type: {asked.takes}"))


def _subject(request: Request, response: Response | None) -> str | None:
    """The ids that were acted upon: those a write reports, or the one in the path."""
    value = response.value if isinstance(response, Answer) else None
    if isinstance(value, Report):
        ids = (*value.stored, *(merged.id for merged in value.merged))
        told = " ".join(ids)
        return (told if len(told) <= MAX_NAME else f"{ids[0]} and {len(ids) - 1} more") or None
    named = request.path_params.get("id")
    return None if named is None else str(named)
