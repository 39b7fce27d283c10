"""Idempotency-Key: a write that is sent twice under one key is done once, and answered the same."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fivefold.errors import DiskFull
from fivefold.service.idempotency import IdempotencyStore, PendingRequest, StoredResponse
from fivefold.service.problems import DoneWithoutRoom, problem
from fivefold.web.problems import ProblemError

HEADER = "idempotency-key"
REPLAYED = "idempotent-replayed"


async def run_once(
    store: IdempotencyStore,
    request: Request,
    asker: str,
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
    scope = f"{asker} {request.method} {request.scope['path']}"
    body = b"" if digest else request.scope["query_string"] + b"\n" + await request.body()
    pending = await run_in_threadpool(
        lambda: store.begin(namespace, scope, key, digest or hashlib.sha256(body).digest())
    )
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
