"""Writes that are accepted now and stored soon: send one with `wait=false`, see what became of it, cancel it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fivefold.errors import QueueFull
from fivefold.service.problems import problem_of
from fivefold.service.session import Action
from fivefold.service.write_queue import QueuedWrite, QueueState
from fivefold.web.idempotency import KeyedWrite
from fivefold.web.paths import quoted
from fivefold.web.problems import ProblemError
from fivefold.web.rest.operations import IN, QUEUED, Current, Example, ValueResponse, operation

HERE = {"namespace": "default"}
ONE = {"namespace": "default", "id": "0199a1c2-0000-7000-8000-000000000000"}
TAG = "queue"

Wait = Annotated[
    bool, Query(description="With false the write is accepted (202) once it is durable, and stored a moment later")
]


def add_records(action: Action, once: KeyedWrite | None, records: Sequence[object]) -> Response:
    """Accept records that are stored later."""
    queue, (namespace, key_id) = action.service.queue, _origin(action)
    try:
        return _accepted(namespace, queue.add_records(namespace, records, key_id, _write(once)))
    except QueueFull as error:
        raise _full(action, error) from None


def add_messages(action: Action, once: KeyedWrite | None, messages: Sequence[object], session_id: str) -> Response:
    """Accept messages that are stored later."""
    queue, (namespace, key_id) = action.service.queue, _origin(action)
    try:
        return _accepted(namespace, queue.add_messages(namespace, messages, session_id, key_id, _write(once)))
    except QueueFull as error:
        raise _full(action, error) from None


@operation("GET", f"{IN}/queue", role="reader", action="queue", tag=TAG, answers=QueueState, example=Example(HERE))
def queue_state(action: Current) -> QueueState:
    """What waits to be stored, how much more may, and how long it takes."""
    return action.service.queue.state(_origin(action)[0])


@operation(
    "GET", f"{IN}/queue/{{id:name}}", role="reader", action="queue", tag=TAG, answers=QueuedWrite, example=Example(ONE)
)
def queued_write(action: Current, id: str) -> QueuedWrite:
    """What became of a write that was sent with `wait=false`, for a day after it is done."""
    return action.service.queue.write(_origin(action)[0], id)


@operation(
    "DELETE",
    f"{IN}/queue/{{id:name}}",
    role="writer",
    action="cancel",
    tag=TAG,
    answers=QueuedWrite,
    example=Example(ONE),
)
def cancel_write(action: Current, id: str) -> QueuedWrite:
    """Drop what of a write is not stored yet, for good; the report says what is."""
    return action.service.queue.cancel(_origin(action)[0], id)


def _origin(action: Action) -> tuple[str, str | None]:
    assert action.session.namespace is not None
    return action.session.namespace, action.caller.key_id


def _write(once: KeyedWrite | None) -> str | None:
    """The id of a write under a key, the same the second time."""
    return None if once is None else once.id(-1)


def _accepted(namespace: str, write: QueuedWrite) -> Response:
    response = ValueResponse(write, QUEUED)
    response.headers["Location"] = f"/v1/namespaces/{quoted(namespace)}/queue/{write.id}"
    return response


def _full(action: Action, error: QueueFull) -> ProblemError:
    wait_s = action.service.queue.retry_after_s(_origin(action)[0], error)
    return ProblemError(problem_of(error), {"Retry-After": str(wait_s)})
