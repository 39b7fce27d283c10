"""Idempotency-Key: a write that is sent twice under one key is done once, and answered the same."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fivefold.errors import DiskFull
from fivefold.service.idempotency import PendingRequest, StoredResponse
from fivefold.service.problems import DoneWithoutRoom, problem
from fivefold.service.session import Action
from fivefold.web.problems import ProblemError

HEADER = "idempotency-key"
REPLAYED = "idempotent-replayed"


async def run_once(
    action: Action,
    request: Request,
    namespace: str,
    digest: bytes | None,
    do: Callable[[PendingRequest | None], Awaitable[Response]],
    keeps: bool = True,
) -> Response:
    """What `do` answers, or what it answered the first time under this key.

    Without a digest the body is hashed. Without `keeps` the answer is not stored; a second request learns only that it
    was answered.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return await do(None)
    store, scope = action.service.idempotency, f"{action.caller.key_id or 'here'} {request.method} {request.url.path}"
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
