"""Memories: the list, latest first, with the filters of the address."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.retrieval.browse import MIN_LIKELY_CHANCE
from fivefold.service.session import Session
from fivefold.values.fields import fields_of
from fivefold.values.filters import MAX_FILTER, Filter, filter_of, narrowed
from fivefold.values.memory import KINDS, TYPES, Memory, Record
from fivefold.values.reports import SOON_DAYS, STALE_DAYS, UNUSED_DAYS, HealthCheck, Link, Page, health_filters
from fivefold.values.times import utc_now
from fivefold.web.connections import export_of
from fivefold.web.inspector.form_fields import FormField, form_field, text_of, texts_reader, value_of
from fivefold.web.inspector.login import local_path
from fivefold.web.inspector.rendering import PageSession, address, confirmation, page, redirect
from fivefold.web.security import quoted

FIELDS = fields_of(Record)
NEW_FIELDS = ("content", "speaker", "session_id", "event_at", "type", "importance", "tags", "expires_at", "pinned")
"""The fields of the form for a new memory."""
EDITABLE = ("content", "type", "importance", "event_at", "valid_from", "valid_to", "tags", "expires_at")


def texts_of(memory: Memory) -> dict[str, str]:
    """The texts of the form for a stored memory."""
    return {name: text_of(getattr(memory, name)) for name in EDITABLE}


def form_of(texts: Mapping[str, str]) -> dict[str, FormField]:
    """The fields of the form with these texts, by name."""
    return {name: form_field(FIELDS[name], text) for name, text in texts.items()}


def version_of(memory: Memory) -> str:
    """A hash of the form, to notice that someone else changed the memory in the meantime."""
    return blake2b(json.dumps(texts_of(memory)).encode(), digest_size=8).hexdigest()


def record_of(texts: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of `Engine.remember`."""
    return {name: value_of(FIELDS[name], text) for name, text in texts.items() if text.strip()}


def changes_of(memory: Memory, texts: Mapping[str, str]) -> dict[str, Any]:
    """The fields that differ from the memory, as `Engine.update` takes them."""
    before = {name: _normalize(name, text) for name, text in texts_of(memory).items()}
    after = {name: _normalize(name, text) for name, text in texts.items()}
    changed = {name: text for name, text in after.items() if text != before[name]}
    return {name: text if name == "content" else value_of(FIELDS[name], text) for name, text in changed.items()}


def _normalize(name: str, text: str) -> str:
    """Browsers send line ends as one character or two, and a time at :00 with or without seconds."""
    if FIELDS[name].type is datetime:
        return f"{text}:00" if len(text) == len("2025-01-06T08:12") else text
    return text.replace("\r\n", "\n").replace("\r", "\n")


one_memory: APIRouter = APIRouter()


@dataclass(frozen=True, slots=True)
class MentionLink:
    """A name in the memory, and the id of its entity; None if the graph has none."""

    name: str
    kind: str
    entity: int | None


@one_memory.get("/memories/{id:name}")
def memory(request: Request, session: PageSession, id: str, done: str = "") -> Response:
    return memory_page(request, session, id, done=confirmation(done))


def memory_page(
    request: Request,
    session: Session,
    id: str,
    status: int = 200,
    done: str = "",
    texts: Mapping[str, str] | None = None,
    replacement: str = "",
    errors: Mapping[str, str] | None = None,
) -> Response:
    """The memory's page; after a refused change with the texts of the form and the error, by the form's name."""
    with session.act("get", subject=id) as act:
        engine = act.engine
        memory = engine.get(id)
        extraction = engine.extraction(id)
        before, after = neighbours_of(engine, memory)
        history = engine.history(id)
        ids = engine.graph.named([item.name for item in extraction.mentions])
        return page(
            request,
            "memory.html",
            status,
            memory=memory,
            history=history,
            links=[link for link in history.links if link.relation != "supersedes"],
            doubt=MIN_LIKELY_CHANCE,
            extraction=extraction,
            mentions=[MentionLink(item.name, item.kind, ids.get(item.name)) for item in extraction.mentions],
            fields=[
                (name.replace("_", " "), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
                for name, value in memory.to_dict().items()
                if name != "content" and value not in (None, [], {})
            ],
            before=before,
            after=after,
            done=done,
            form_version=version_of(memory),
            form=form_of(texts or texts_of(memory)),
            replacement=replacement,
            errors=errors or {},
        )


def neighbours_of(engine: Engine, memory: Memory) -> tuple[Memory | None, Memory | None]:
    """The turns before and after it in its session."""
    return engine.neighbours([memory]).get(memory.id, (None, None))


changes: APIRouter = APIRouter()


Text = Annotated[str, Form()]
NewTexts = Annotated[Mapping[str, str], Depends(texts_reader(NEW_FIELDS, missing=""))]
EditTexts = Annotated[Mapping[str, str], Depends(texts_reader(EDITABLE, missing=""))]


@changes.get("/remember")
def new_memory(request: Request, session: PageSession) -> Response:
    with session.act("remember", "writer", audit_success=False):
        return page(request, "memory_new.html", here="memories", form=form_of(dict.fromkeys(NEW_FIELDS, "")), error="")


@changes.post("/remember")
def remember(request: Request, session: PageSession, texts: NewTexts) -> Response:
    try:
        with session.act("remember", "writer") as act:
            session.service.limits.check_text(texts["content"], "content")
            report = act.engine.remember(**record_of(texts))
            act.subject = report.id
    except InvalidInput as error:
        return page(request, "memory_new.html", 422, here="memories", form=form_of(texts), error=str(error))
    if report.quarantined:
        return redirect(session, "/memories", done="held")
    done = "remembered" if report.stored else "known"
    return redirect(session, f"/memories/{quoted(report.id)}", done=done)


@changes.post("/memories/{id:name}/edit")
def edit(request: Request, session: PageSession, id: str, texts: EditTexts, version: Text = "") -> Response:
    try:
        with session.act("update", "writer", id) as act:
            session.service.limits.check_text(texts["content"], "content")
            stored = act.engine.get(id)
            if version != version_of(stored):
                raise InvalidInput("someone else changed it; its current state is above, save again to overwrite it")
            changes = changes_of(stored, texts)
            if changes:
                act.engine.update(id, **changes)
    except InvalidInput as error:
        return memory_page(request, session, id, 422, texts=texts, errors={"edit": str(error)})
    return redirect(session, f"/memories/{quoted(id)}", done="edited")


@changes.post("/memories/{id:name}/supersede")
def supersede(request: Request, session: PageSession, id: str, replacement: Text = "") -> Response:
    try:
        with session.act("supersede", "writer", id) as act:
            session.service.limits.check_text(replacement, "the new text")
            old = act.engine.get(id)
            report = act.engine.supersede(id, {"content": replacement, "speaker": old.speaker, "tags": old.tags})
            act.subject = f"{id} {report.id}"
    except InvalidInput as error:
        errors = {"supersede": str(error)}
        return memory_page(request, session, id, 422, replacement=replacement, errors=errors)
    return redirect(session, f"/memories/{quoted(report.id)}", done="superseded")


def add_change(
    router: APIRouter, name: str, make: Callable[[Engine, str], object], done: str, action: str | None = None
) -> None:
    """Adds a change that needs nothing but the memory; `back` is the page to return to, instead of the memory's own."""

    @router.post(f"/memories/{{id:name}}/{name}")
    def change(session: PageSession, id: str, back: Text = "") -> Response:
        with session.act(action or name, "writer", id) as act:
            make(act.engine, id)
        return return_to(back, done, id) if back else redirect(session, f"/memories/{quoted(id)}", done=done)


def return_to(back: str, done: str, id: str) -> RedirectResponse:
    """To the page that showed a memory, with the confirmation of what was done to it."""
    place = local_path(back)
    return RedirectResponse(f"{place}{'&' if '?' in place else '?'}{urlencode({'done': done, 'line': id})}", 303)


add_change(changes, "reinstate", Engine.reinstate, "reinstated")
add_change(changes, "pin", Engine.pin, "pinned")
add_change(changes, "unpin", Engine.unpin, "unpinned")


@changes.get("/memories/{id:name}/forget")
def confirm_forget(request: Request, session: PageSession, id: str) -> Response:
    with session.act("get", "writer", id) as act:
        return page(request, "memory_forget.html", memory=act.engine.get(id))


@changes.post("/memories/{id:name}/forget")
def forget(session: PageSession, id: str) -> Response:
    with session.act("forget", "writer", id) as act:
        act.engine.forget(id)
    return redirect(session, "/memories", done="forgotten")


@changes.get("/quarantine")
def quarantine(
    request: Request, session: PageSession, cursor: Annotated[str, Query(max_length=4_000)] = "", done: str = ""
) -> Response:
    """The records that wait for approval."""
    rows: Page[Memory] = Page(())
    error = ""
    try:
        with session.act("quarantine", "admin") as act:
            rows = act.engine.quarantined(limit=PAGE_MEMORIES, cursor=cursor or None)
    except InvalidInput as problem:
        error = str(problem)
    return page(request, "quarantine.html", 422 if error else 200, memories=rows, error=error, done=confirmation(done))


@changes.post("/memories/{id:name}/decide")
def decide(session: PageSession, id: str, decision: Text = "") -> Response:
    with session.act("reject" if decision == "reject" else "approve", "admin", id) as act:
        if decision not in ("approve", "reject"):
            raise InvalidInput(f"must be approve or reject, not {decision!r}", field="decision")
        if decision == "approve":
            act.engine.approve(id)
        else:
            act.engine.reject(id)
    return redirect(session, "/quarantine", done={"approve": "approved", "reject": "rejected"}[decision])


PAGE_MEMORIES = 30
"""Memories on one page; a click brings the next ones."""

SUPERSEDED = {"no": False, "yes": True}

PAIRS = "near-duplicates"
VIEWS: Mapping[str, HealthCheck] = {"unused": "never used", "stale": "stale", "expiring": "expiring"}
"""Parts of the list that the health of a namespace names, by their name in the address."""

MEANINGS = {
    PAIRS: "Memories that say nearly the same as an earlier one of the same speaker, each with the earlier one below.",
    "unused": f"Written more than {UNUSED_DAYS} days ago, and no feedback says that they were of use.",
    "stale": f"Neither written nor used in the last {STALE_DAYS} days.",
    "expiring": f"They expire in the next {SOON_DAYS} days. Pinned ones stay.",
}

router: APIRouter = APIRouter()
router.include_router(changes)
router.include_router(one_memory)

QueryText = Annotated[str, Query(max_length=1_000)]


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list as text; `show` is a part of the list that the health of a namespace names."""

    show: QueryText = ""
    q: QueryText = ""
    kind: QueryText = ""
    type: QueryText = ""
    speaker: QueryText = ""
    session: QueryText = ""
    tag: QueryText = ""
    since: QueryText = ""
    until: QueryText = ""
    superseded: QueryText = ""
    filter: Annotated[str, Query(max_length=MAX_FILTER)] = ""

    @property
    def state(self) -> dict[str, str]:
        """For an address: the filters that are not empty."""
        return {name: value for name in NAMES if (value := getattr(self, name).strip())}

    def to_arguments(self) -> dict[str, Any]:
        """As `Engine.memories` takes them; days are whole, and the last one is included."""
        state = self.state
        show = state.pop("show", None)
        superseded = state.pop("superseded", None)
        if superseded is not None and superseded not in SUPERSEDED:
            raise InvalidInput(f"superseded {superseded!r} is unknown; it is yes or no")
        new_names = {"q": "text", "session": "session_id"}
        arguments: dict[str, Any] = {new_names.get(name, name): value for name, value in state.items()}
        for name, days in (("since", 0), ("until", 1)):
            if name in arguments:
                arguments[name] = day_of(arguments[name], name, days)
        if show is not None:
            arguments["filter"] = _part_of(show, state.get("filter", ""), superseded is None)
        return arguments if superseded is None else {**arguments, "superseded": SUPERSEDED[superseded]}


NAMES = tuple(field.name for field in fields(Filters))


def _part_of(show: str, text: str, current: bool) -> Filter:
    """The filter of a part of the list, narrowed by the filter's text; superseded memories only if they are asked
    for."""
    if show not in VIEWS:
        raise InvalidInput(f"show {show!r} is unknown; it is one of {', '.join(MEANINGS)}")
    keep = health_filters(utc_now())[VIEWS[show]]
    parts = {item.name: getattr(keep, item.name) for item in fields(Filter)}
    return narrowed(filter_of(text), **{**parts, "superseded": False if current else None})


def day_of(text: str, field: str, later: int = 0) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=later)
    except ValueError:
        raise InvalidInput(f"{field} {text!r} is not a day; write it like 2025-03-15") from None
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


@router.get("/memories")
def memories(
    request: Request,
    session: PageSession,
    filters: Annotated[Filters, Depends()],
    cursor: Annotated[str, Query(max_length=4_000)] = "",
    done: str = "",
) -> Response:
    """A form sends every field; a redirect leaves only the filters that are not empty in the address."""
    if any(name in request.query_params and not request.query_params[name].strip() for name in NAMES):
        return RedirectResponse(address("/memories", session.namespace, {**filters.state, "cursor": cursor}), 303)
    rows: Page[Any] = Page(())
    error = ""
    try:
        with session.act("list") as act:
            if filters.show == PAIRS:
                rows = _pairs(act.engine, cursor)
            else:
                rows = act.engine.memories(**filters.to_arguments(), cursor=cursor or None, limit=PAGE_MEMORIES)
    except InvalidInput as problem:
        error = str(problem)
    return page(
        request,
        "memories.html",
        422 if error else 200,
        filters=filters,
        kinds=KINDS,
        types=TYPES,
        meanings=MEANINGS,
        cursor=cursor,
        done=confirmation(done),
        error=error,
        memories=rows,
    )


def _pairs(engine: Engine, cursor: str) -> Page[tuple[Memory, Memory, Link]]:
    """Near-duplicates: the newer memory with the older, without one that is forgotten at this moment."""
    links = engine.links("repeats", PAGE_MEMORIES, cursor or None)
    ids = {id for link in links for id in (link.source, link.target)}
    known = {id: engine.get(id) for id in engine.stored_ids(sorted(ids))}
    there = (link for link in links if link.source in known and link.target in known)
    return Page(tuple((known[link.source], known[link.target], link) for link in there), links.cursor)


@router.get("/export")
def export(session: PageSession) -> Response:
    """Every memory as JSON lines, the same as REST gives, for a browser that has only its cookie."""
    with session.act("export") as act:
        return export_of(act.engine, {"Content-Disposition": 'attachment; filename="memories.jsonl"'})
