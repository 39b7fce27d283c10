"""Idempotency-Key: a write that is sent twice under one key is done once, and answered the same."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fivefold.errors import DiskFull
from fivefold.service.idempotency import IdempotencyStore, KeyReused, PendingRequest, RequestInProgress, StoredResponse
from fivefold.service.problems import DoneWithoutRoom, problem
from fivefold.web.problems import ProblemError

HEADER = "idempotency-key"
REPLAYED = "idempotent-replayed"


@dataclass(frozen=True, slots=True)
class KeyedWrite:
    """A write under a key. A record without an id gets one made from the key, by which a second try finds it.

    The body counts too: after its retention, a key with another body means another write.
    """

    pending: PendingRequest

    def id(self, number: int) -> str:
        parts = (*self.pending.request, self.pending.digest.hex(), str(number))
        return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


async def run_once(
    store: IdempotencyStore,
    request: Request,
    asker: str,
    namespace: str,
    digest: Callable[[], Awaitable[bytes]],
    do: Callable[[KeyedWrite | None], Awaitable[Response]],
    keeps: bool = True,
) -> Response:
    """What `do` answers, or what it answered the first time under this key.

    Without `keeps` the answer is not stored; a second request learns only that it was answered.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return await do(None)
    scope = f"{asker} {request.method} {request.scope['path']}"
    try:
        pending = await run_in_threadpool(store.begin, namespace, scope, key, await digest())
    except KeyReused as error:
        raise ProblemError(problem("key-used-otherwise", str(error))) from None
    except RequestInProgress as error:
        raise ProblemError(problem("under-way", str(error)), {"Retry-After": str(error.retry_after_s)}) from None
    if isinstance(pending, StoredResponse):
        return _replay(pending)
    try:
        response = await do(KeyedWrite(pending))
    except Exception:
        await run_in_threadpool(store.abandon, pending)
        raise
    body = bytes(response.body).decode() if keeps else None
    try:
        await run_in_threadpool(store.finish, pending, StoredResponse(response.status_code, body))
    except DiskFull:
        raise DoneWithoutRoom("the answer under its Idempotency-Key") from None
    return response


def _replay(stored: StoredResponse) -> Response:
    if stored.body is None:
        message = "this was done before; a memory in its response has been forgotten since, and the response with it"
        raise ProblemError(problem("answer-forgotten", message))
    return Response(stored.body, stored.status, {REPLAYED: "true"}, "application/json")
