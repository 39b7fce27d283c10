"""Memories: remember, read, change, supersede, forget."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Final

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from fivefold.engine.engine import MAX_DAYS
from fivefold.errors import QueueFull
from fivefold.retrieval.browse import History
from fivefold.service.audit import subject_of
from fivefold.service.idempotency import PendingRequest
from fivefold.service.problems import problem_of
from fivefold.service.responses import ForgottenMemory, Moment, Name
from fivefold.service.session import Action
from fivefold.service.write_queue import QueuedWrite, QueueState
from fivefold.values.memory import Kind, Memory, Type
from fivefold.values.reports import SOON_DAYS, STALE_DAYS, UNUSED_DAYS, HealthReport, Merged, Page, Report, Sweep
from fivefold.values.validate import MAX_K
from fivefold.web.problems import ProblemError
from fivefold.web.rest.bodies import Batch, Decision, FilterText, MemoryChanges, MessagesBody, PageLimit, RecordBody
from fivefold.web.rest.operations import QUEUED_STATUS, Current, UnderKey, ValueResponse, operation
from fivefold.web.security import quoted

life_operation: Final = partial(operation, tag="life")
memories_operation: Final = partial(operation, tag="memories")
queue_operation: Final = partial(operation, tag="queue")

Wait = Annotated[
    bool, Query(description="With false the write is accepted (202) once it is durable, and stored a moment later")
]


def add_later(
    action: Action, once: PendingRequest | None, items: Sequence[object], session_id: str | None = None
) -> Response:
    """Accept records, or the messages of a session, that are stored later. Under a key, a second try is one write."""
    queue, namespace, key_id = action.service.queue, _namespace(action), action.caller.key_id
    id = None if once is None else once.record_id(-1)
    try:
        if session_id is None:
            write = queue.add_records(namespace, items, key_id, id)
        else:
            write = queue.add_messages(namespace, items, session_id, key_id, id)
    except QueueFull as error:
        wait_s = queue.retry_after_s(namespace, error)
        raise ProblemError(problem_of(error), {"Retry-After": str(wait_s)}) from None
    response = ValueResponse(write, QUEUED_STATUS)
    response.headers["Location"] = f"/v1/namespaces/{quoted(namespace)}/queue/{write.id}"
    return response


def _namespace(action: Action) -> str:
    assert action.session.namespace is not None
    return action.session.namespace


@queue_operation("GET /queue", "reader", "queue")
def queue_state(action: Current) -> QueueState:
    """The write queue: its length, the room left in it, and the time it will take."""
    return action.service.queue.state(_namespace(action))


@queue_operation("GET /queue/{id:name}", "reader", "queue", id="0199a1c2-0000-7000-8000-000000000000")
def queued_write(action: Current, id: str) -> QueuedWrite:
    """The state of a write that was sent with `wait=false`; kept for a day after it is done."""
    return action.service.queue.write(_namespace(action), id)


@queue_operation("DELETE /queue/{id:name}", "writer", "cancel", id="0199a1c2-0000-7000-8000-000000000000")
def cancel_write(action: Current, id: str) -> QueuedWrite:
    """Drop the records of a write that are not stored yet; the report has the stored ones."""
    return action.service.queue.cancel(_namespace(action), id)


class Filters(BaseModel):
    """Filters of the list of memories; without any, all are listed."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    kind: Kind | None = Field(None, description="turn, note or session")
    type: Type | None = Field(None, description="The kind of statement")
    speaker: Name | None = Field(None, description="Who said it")
    session_id: Name | None = Field(None, description="The conversation it belongs to")
    tag: Name | None = Field(None, description="A tag it has")
    text: str | None = Field(None, max_length=200, description="Words that must all be in the text")
    superseded: bool | None = Field(None, description="Only replaced memories, or only the others")
    since: Moment | None = Field(None, description="Not before this time")
    until: Moment | None = Field(None, description="Before this time")
    filter: FilterText | None = Field(None, description="More conditions, as in: tag:work,home meta.price>=10")
    limit: PageLimit = 50
    cursor: str | None = Field(None, max_length=2_000, description="Where the page before ended")


@memories_operation(
    "POST /memories",
    "writer",
    "remember",
    body={"content": "The spare key is with Mrs Okafor", "speaker": "user"},
    status=201,
    queues=True,
)
def remember(action: Current, once: UnderKey, body: RecordBody, wait: Wait = True) -> Report | Response:
    """Remember one text.

    A new statement supersedes the memories that it replaces; a known text is merged. The report names them.
    """
    record = _with_id(once, body.to_fields(action.service.limits), 0)
    return action.engine.remember(**record) if wait else add_later(action, once, [record])


@memories_operation(
    "POST /memories/batch",
    "writer",
    "remember",
    body={
        "records": [
            {"content": "The boiler was serviced", "event_at": "2025-11-03T10:00:00Z", "tags": ["home"]},
            {"content": "Next service is due in a year", "tags": ["home"]},
        ]
    },
    status=201,
    queues=True,
)
def remember_many(action: Current, once: UnderKey, body: Batch, wait: Wait = True) -> Report | Response:
    """Remember many texts at once; all are checked first."""
    fields = body.to_fields(action.service.limits)
    records = [_with_id(once, record, number) for number, record in enumerate(fields)]
    return action.engine.remember_many(records) if wait else add_later(action, once, records)


@memories_operation(
    "POST /messages",
    "writer",
    "remember_messages",
    body={
        "session_id": "boiler",
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": [{"type": "text", "text": "The boiler makes a noise since Monday"}]},
            {"role": "assistant", "content": "Is the pressure above one bar?"},
        ],
    },
    status=201,
    queues=True,
)
def remember_messages(action: Current, once: UnderKey, body: MessagesBody, wait: Wait = True) -> Report | Response:
    """Remember the messages of a conversation as turns of a session; known ones are merged.

    The notes of the report count messages that the settings leave out, such as system messages.
    """
    messages = body.checked(action.service.limits)
    if not wait:
        return add_later(action, once, messages, body.session_id)
    return action.engine.remember_messages(messages, session_id=body.session_id)


@memories_operation("GET /memories", "reader", "list", query={"tag": "home", "limit": "2"})
def list_memories(action: Current, filters: Annotated[Filters, Query()]) -> Page[Memory]:
    """Memories, latest first, page by page; memories of whole sessions only by their kind."""
    action.service.limits.check_page(filters.limit)
    return action.engine.memories(**filters.model_dump())


@memories_operation("GET /memories/{id:name}", "reader", "get", id="s01.03")
def get_memory(action: Current, id: str) -> Memory:
    """One memory."""
    return action.engine.get(id)


@memories_operation(
    "PATCH /memories/{id:name}", "writer", "update", id="s01.05", body={"tags": ["work", "calendar"], "importance": 0.8}
)
def update_memory(action: Current, id: str, body: MemoryChanges) -> Memory:
    """Change fields of a memory; everything derived from it follows."""
    return action.engine.update(id, **body.to_fields(action.service.limits))


@memories_operation("DELETE /memories/{id:name}", "writer", "forget", id="s01.04")
def forget_memory(action: Current, id: str) -> ForgottenMemory:
    """Forget a memory and everything derived from it, for good; the answer is the memory. Its `erasure` tells if the
    bytes are gone from every file, or how long some may remain.
    """
    return ForgottenMemory(action.engine.forget(id), action.service.erasure())


@memories_operation(
    "POST /memories/{id:name}/supersede",
    "writer",
    "supersede",
    id="s01.03",
    body={"content": "My badge ID is E-50113 now", "speaker": "user"},
    status=201,
)
def supersede_memory(action: Current, once: UnderKey, id: str, body: RecordBody) -> Report:
    """Remember a record that replaces a memory; the old one keeps its history and stops winning."""
    record = _with_id(once, body.to_fields(action.service.limits), 0)
    engine = action.engine
    if once is not None and once.is_retry and engine.get(id).superseded_by == record["id"]:
        return Report(merged=(Merged(record["id"], "a memory with this id is already stored"),))
    return engine.supersede(id, record)


@memories_operation("POST /memories/{id:name}/reinstate", "writer", "reinstate", id="s01.03")
def reinstate_memory(action: Current, id: str) -> Memory | Report:
    """Make a superseded memory hold again, or let a forgotten memory or session be stored again.

    The answer is the memory, or a report with a note if it was forgotten.
    """
    return action.engine.reinstate(id) or Report(notes=(f"{id!r} was forgotten; it may be stored again now",))


@memories_operation("GET /memories/{id:name}/history", "reader", "history", id="s01.03")
def memory_history(action: Current, id: str) -> History:
    """The earlier and later versions of a memory, and why one replaced the other."""
    return action.engine.history(id)


quarantine_operation: Final = partial(operation, tag="quarantine")
Cursor = Annotated[str | None, Query(max_length=2_000, description="Where the page before ended")]


@quarantine_operation("GET /quarantine", "admin", "quarantine")
def quarantine(
    action: Current,
    filter: Annotated[FilterText | None, Query(description="Only those that pass, as in: origin:tool")] = None,
    limit: Annotated[PageLimit, Query()] = 50,
    cursor: Cursor = None,
) -> Page[Memory]:
    """The records that wait for approval, oldest first, as the memories they would become. No recall finds them."""
    action.service.limits.check_page(limit)
    return action.engine.quarantined(filter=filter, limit=limit, cursor=cursor)


@quarantine_operation("POST /quarantine/approve", "admin", "approve", body={"filter": "speaker:ci-bot"})
def approve(action: Current, body: Decision) -> Report:
    """Store records that wait for approval, as if they were remembered now."""
    action.subject = subject_of(body.ids or ())
    return action.engine.approve(body.ids, filter=body.filter)


@quarantine_operation("POST /quarantine/reject", "admin", "reject", body={"filter": "speaker:ci-bot"})
def reject(action: Current, body: Decision) -> Page[Memory]:
    """Remove records that wait for approval for good; the answer has them. Their source does not bring them back."""
    action.subject = subject_of(body.ids or ())
    return Page(action.engine.reject(body.ids, filter=body.filter))


def _with_id(once: PendingRequest | None, record: dict[str, Any], number: int) -> dict[str, Any]:
    """Under an idempotency key, a record without an id gets one that is the same the second time."""
    return record if once is None or record.get("id") is not None else {**record, "id": once.record_id(number)}


StaleDays = Annotated[
    int, Query(ge=1, le=MAX_DAYS, description="Days without a write or a use after which a memory is stale")
]
UnusedDays = Annotated[
    int, Query(ge=0, le=MAX_DAYS, description="Days after which a memory without any use counts as never used")
]
SoonDays = Annotated[int, Query(ge=0, le=MAX_DAYS, description="Days ahead for which expiring memories are listed")]
Examples = Annotated[int, Query(ge=0, le=MAX_K, description="Number of examples of each")]
DryRun = Annotated[bool, Query(description="Only say what would be forgotten")]


@life_operation("POST /memories/{id:name}/pin", "writer", "pin", id="s01.03")
def pin_memory(action: Current, id: str) -> Memory:
    """Pin a memory: it does not expire, and later texts do not replace it by themselves."""
    return action.engine.pin(id)


@life_operation("DELETE /memories/{id:name}/pin", "writer", "unpin", id="s01.03")
def unpin_memory(action: Current, id: str) -> Memory:
    """Unpin a memory: it can expire and be replaced again."""
    return action.engine.unpin(id)


@life_operation("POST /sweep", "admin", "sweep", query={"dry_run": "true"})
def sweep(action: Current, dry_run: DryRun = False) -> Sweep:
    """Forget expired memories; pinned ones stay."""
    return action.engine.sweep(dry_run=dry_run)


@life_operation("GET /health", "reader", "health", query={"examples": "1"})
def namespace_health(
    action: Current,
    stale_days: StaleDays = STALE_DAYS,
    unused_days: UnusedDays = UNUSED_DAYS,
    soon_days: SoonDays = SOON_DAYS,
    examples: Examples = 5,
) -> HealthReport:
    """Findings to check: expired, expiring, stale, never used, near-duplicates, contradictions, secrets."""
    return action.engine.health(stale_days=stale_days, unused_days=unused_days, soon_days=soon_days, examples=examples)
