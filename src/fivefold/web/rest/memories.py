"""Memories: remember, read, change, supersede, forget."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from fivefold.retrieval.browse import History
from fivefold.service.argument_fields import Moment
from fivefold.service.responses import ForgottenMemory
from fivefold.values.memory import Kind, Memory, Type
from fivefold.values.paging import Page
from fivefold.values.reports import Merged, Report
from fivefold.web.idempotency import KeyedWrite
from fivefold.web.rest.bodies import Batch, Changes, FilterText, MessagesBody, Name, RecordBody
from fivefold.web.rest.operations import IN, JSON, Current, Example, UnderKey, operation
from fivefold.web.rest.write_queue import Wait, add_messages, add_records

HERE = {"namespace": "default"}
ONE = {"namespace": "default", "id": "s01.03"}
TAG = "memories"


class Filters(BaseModel):
    """Which memories are listed; all of them unless something is asked for."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind | None = Field(None, description="turn, note or session")
    type: Type | None = Field(None, description="What kind of statement")
    speaker: Name | None = Field(None, description="Who said it")
    session_id: Name | None = Field(None, description="The conversation it belongs to")
    tag: Name | None = Field(None, description="A tag it has")
    text: str | None = Field(None, max_length=200, description="Words that must all be there")
    superseded: bool | None = Field(None, description="Only those that were replaced, or only those that were not")
    since: Moment | None = Field(None, description="Not before this time")
    until: Moment | None = Field(None, description="Before this time")
    filter: FilterText | None = Field(None, description="More conditions, as in: tag:work,home meta.price>=10")
    limit: int = Field(50, ge=1, description="How many on one page")
    cursor: str | None = Field(None, max_length=2_000, description="Where the page before ended")


@operation(
    "POST",
    f"{IN}/memories",
    role="writer",
    action="remember",
    tag=TAG,
    answers=Report,
    status=201,
    takes=JSON,
    example=Example(HERE, body={"content": "The spare key is with Mrs Okafor", "speaker": "user"}),
    queues=True,
)
def remember(action: Current, once: UnderKey, body: RecordBody, wait: Wait = True) -> Report | Response:
    """Remember one text.

    What a new statement replaces is superseded; what is known already is merged. The report tells which.
    """
    if not wait:
        return add_records(action, once, [_with_id(once, body.to_fields(action.service.limits), 0)])
    return action.engine.remember(**_with_id(once, body.to_fields(action.service.limits), 0))


@operation(
    "POST",
    f"{IN}/memories/batch",
    role="writer",
    action="remember",
    tag=TAG,
    answers=Report,
    status=201,
    takes=JSON,
    example=Example(
        HERE,
        body={
            "records": [
                {"content": "The boiler was serviced", "event_at": "2025-11-03T10:00:00Z", "tags": ["home"]},
                {"content": "Next service is due in a year", "tags": ["home"]},
            ]
        },
    ),
    queues=True,
)
def remember_many(action: Current, once: UnderKey, body: Batch, wait: Wait = True) -> Report | Response:
    """Remember many texts at once; all are checked first."""
    fields = body.to_fields(action.service.limits)
    records = [_with_id(once, record, number) for number, record in enumerate(fields)]
    return action.engine.remember_many(records) if wait else add_records(action, once, records)


@operation(
    "POST",
    f"{IN}/messages",
    role="writer",
    action="remember_messages",
    tag=TAG,
    answers=Report,
    status=201,
    takes=JSON,
    example=Example(
        HERE,
        body={
            "session_id": "boiler",
            "messages": [
                {"role": "system", "content": "You are a helpful assistant."},
                {"role": "user", "content": [{"type": "text", "text": "The boiler makes a noise since Monday"}]},
                {"role": "assistant", "content": "Is the pressure above one bar?"},
            ],
        },
    ),
    queues=True,
)
def remember_messages(action: Current, once: UnderKey, body: MessagesBody, wait: Wait = True) -> Report | Response:
    """Remember the messages of a conversation as turns of a session; those that are stored already are merged.

    What the namespace's settings leave out, such as system messages, is in the notes of the report.
    """
    messages = body.checked(action.service.limits)
    if not wait:
        return add_messages(action, once, messages, body.session_id)
    return action.engine.remember_messages(messages, session_id=body.session_id)


@operation(
    "GET",
    f"{IN}/memories",
    role="reader",
    action="list",
    tag=TAG,
    answers=Page[Memory],
    example=Example(HERE, {"tag": "home", "limit": "2"}),
)
def list_memories(action: Current, filters: Annotated[Filters, Query()]) -> Page[Memory]:
    """Memories, latest first, page by page; memories of whole sessions only by their kind."""
    action.service.limits.check_page(filters.limit)
    return action.engine.memories(**filters.model_dump())


@operation(
    "GET", f"{IN}/memories/{{id:name}}", role="reader", action="get", tag=TAG, answers=Memory, example=Example(ONE)
)
def get_memory(action: Current, id: str) -> Memory:
    """One memory."""
    return action.engine.get(id)


@operation(
    "PATCH",
    f"{IN}/memories/{{id:name}}",
    role="writer",
    action="update",
    tag=TAG,
    answers=Memory,
    takes=JSON,
    example=Example({"namespace": "default", "id": "s01.05"}, body={"tags": ["work", "calendar"], "importance": 0.8}),
)
def update_memory(action: Current, id: str, body: Changes) -> Memory:
    """Change fields of a memory; everything derived from it follows."""
    return action.engine.update(id, **body.to_fields(action.service.limits))


@operation(
    "DELETE",
    f"{IN}/memories/{{id:name}}",
    role="writer",
    action="forget",
    tag=TAG,
    answers=ForgottenMemory,
    example=Example({"namespace": "default", "id": "s01.04"}),
)
def forget_memory(action: Current, id: str) -> ForgottenMemory:
    """Forget a memory and everything derived from it, for good; the answer is what was forgotten.

    Its `erasure` says whether the bytes are gone from every file, or until when some may remain.
    """
    return ForgottenMemory(action.engine.forget(id), action.service.erasure())


@operation(
    "POST",
    f"{IN}/memories/{{id:name}}/supersede",
    role="writer",
    action="supersede",
    tag=TAG,
    answers=Report,
    status=201,
    takes=JSON,
    example=Example(ONE, body={"content": "My badge ID is E-50113 now", "speaker": "user"}),
)
def supersede_memory(action: Current, once: UnderKey, id: str, body: RecordBody) -> Report:
    """Remember a record as what replaces a memory, which keeps its history and stops winning."""
    record = _with_id(once, body.to_fields(action.service.limits), 0)
    engine = action.engine
    if once is not None and once.pending.is_retry and engine.get(id).superseded_by == record["id"]:
        return Report(merged=(Merged(record["id"], "a memory with this id is already stored"),))
    return engine.supersede(id, record)


@operation(
    "POST",
    f"{IN}/memories/{{id:name}}/reinstate",
    role="writer",
    action="reinstate",
    tag=TAG,
    answers=Memory,
    brief=Report,
    example=Example(ONE),
)
def reinstate_memory(action: Current, id: str) -> Memory | Report:
    """A superseded memory holds again; one that was forgotten, or the turns of a session that was, may be stored again.

    The answer is the memory, or for what was forgotten a report with a note.
    """
    return action.engine.reinstate(id) or Report(notes=(f"{id!r} was forgotten; it may be stored again now",))


@operation(
    "GET",
    f"{IN}/memories/{{id:name}}/history",
    role="reader",
    action="history",
    tag=TAG,
    answers=History,
    example=Example(ONE),
)
def memory_history(action: Current, id: str) -> History:
    """What a memory replaced, what replaced it, and why."""
    return action.engine.history(id)


def _with_id(once: KeyedWrite | None, record: dict[str, Any], number: int) -> dict[str, Any]:
    """Under an idempotency key, a record without an id gets one that is the same the second time."""
    if once is None or record.get("id") is not None:
        return record
    return {**record, "id": once.id(number)}
