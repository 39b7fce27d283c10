"""Idempotency-Key: a write that is sent twice under one key is done once, and answered the same."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fivefold.service.idempotency import Answer, Answers, Begun, Busy, Reused
from fivefold.service.problems import problem
from fivefold.web.problems import ProblemError

HEADER = "idempotency-key"
REPLAYED = "idempotent-replayed"


@dataclass(frozen=True, slots=True)
class Once:
    """A write under a key. What it stores without an id gets one made from the key, by which a second try finds it.

    The body counts too: a key that comes with another one, once its time is over, means another write.
    """

    begun: Begun

    def id(self, number: int) -> str:
        parts = (*self.begun.request, self.begun.digest.hex(), str(number))
        return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


async def once(
    answers: Answers,
    request: Request,
    asker: str,
    namespace: str,
    digest: Callable[[], Awaitable[bytes]],
    do: Callable[[Once | None], Awaitable[Response]],
    keeps: bool = True,
) -> Response:
    """What `do` answers, or what it answered the first time it was asked under this key.

    An answer that is not kept is not given again; only that it was given is known.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return await do(None)
    scope = f"{asker} {request.method} {request.scope['path']}"
    try:
        begun = await run_in_threadpool(answers.begin, namespace, scope, key, await digest())
    except Reused as error:
        raise ProblemError(problem("key-used-otherwise", str(error))) from None
    except Busy as error:
        raise ProblemError(problem("under-way", str(error)), {"Retry-After": str(error.retry_after_s)}) from None
    if isinstance(begun, Answer):
        return _again(begun)
    try:
        response = await do(Once(begun))
    except Exception:
        await run_in_threadpool(answers.abandon, begun)
        raise
    body = bytes(response.body).decode() if keeps else None
    await run_in_threadpool(answers.finish, begun, Answer(response.status_code, body))
    return response


def _again(kept: Answer) -> Response:
    if kept.body is None:
        told = "this was done before; its answer spoke of a memory that has been forgotten since, and is gone with it"
        raise ProblemError(problem("answer-forgotten", told))
    return Response(kept.body, kept.status, {REPLAYED: "true"}, "application/json")
