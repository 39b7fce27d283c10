"""Changes to memories in the inspector: add, edit, supersede, reinstate, forget."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from fivefold.errors import InvalidInput
from fivefold.values.memory import TYPES, Type
from fivefold.web.inspector.confirmations import redirect
from fivefold.web.inspector.memory import memory_page
from fivefold.web.inspector.memory_form import EDITABLE, changes_of, parse_number, parse_tags, version_of
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.rendering import page
from fivefold.web.paths import quoted

router = APIRouter()

Text = Annotated[str, Form()]

NEW = ("content", "speaker", "session_id", "type", "tags", "importance", "event_at")
"""The fields of the form for a new memory."""


@router.get("/remember")
def new_memory(request: Request, session: PageSession) -> Response:
    with session.act("remember", "writer", audit_success=False):
        return page(request, "memory_new.html", here="memories", types=TYPES, form=dict.fromkeys(NEW, ""), error="")


@router.post("/remember")
def remember(
    request: Request,
    session: PageSession,
    content: Text = "",
    speaker: Text = "",
    session_id: Text = "",
    type: Text = "",
    tags: Text = "",
    importance: Text = "",
    event_at: Text = "",
) -> Response:
    try:
        with session.act("remember", "writer") as act:
            session.service.limits.check_text(content, "content")
            report = act.engine.remember(
                content,
                speaker=speaker or None,
                session_id=session_id or None,
                type=cast(Type, type) if type else None,
                tags=parse_tags(tags),
                importance=parse_number(importance, "importance") if importance else None,
                event_at=event_at or None,
            )
            act.subject = report.id
    except InvalidInput as error:
        texts = (content, speaker, session_id, type, tags, importance, event_at)
        form = dict(zip(NEW, texts, strict=True))
        return page(request, "memory_new.html", 422, here="memories", types=TYPES, form=form, error=str(error))
    done = "remembered" if report.stored else "known"
    return redirect(session, f"/memories/{quoted(report.id)}", done=done)


@router.post("/memories/{id:name}/edit")
def edit(
    request: Request,
    session: PageSession,
    id: str,
    content: Text = "",
    type: Text = "",
    tags: Text = "",
    importance: Text = "",
    event_at: Text = "",
    valid_from: Text = "",
    valid_to: Text = "",
    version: Text = "",
) -> Response:
    form = dict(zip(EDITABLE, (content, type, tags, importance, event_at, valid_from, valid_to), strict=True))
    try:
        with session.act("update", "writer", id) as act:
            session.service.limits.check_text(content, "content")
            stored = act.engine.get(id)
            if version != version_of(stored):
                raise InvalidInput("someone else changed it; its current state is above, save again to overwrite it")
            changes = changes_of(stored, form)
            if changes:
                act.engine.update(id, **changes)
    except InvalidInput as error:
        return memory_page(request, session, id, 422, form=form, errors={"edit": str(error)})
    return redirect(session, f"/memories/{quoted(id)}", done="edited")


@router.post("/memories/{id:name}/supersede")
def supersede(request: Request, session: PageSession, id: str, replacement: Text = "") -> Response:
    try:
        with session.act("supersede", "writer", id) as act:
            session.service.limits.check_text(replacement, "the new text")
            old = act.engine.get(id)
            report = act.engine.supersede(id, {"content": replacement, "speaker": old.speaker, "tags": old.tags})
            act.subject = f"{id} {report.id}"
    except InvalidInput as error:
        form = {"replacement": replacement}
        return memory_page(request, session, id, 422, form=form, errors={"supersede": str(error)})
    return redirect(session, f"/memories/{quoted(report.id)}", done="superseded")


@router.post("/memories/{id:name}/reinstate")
def reinstate(session: PageSession, id: str) -> Response:
    with session.act("reinstate", "writer", id) as act:
        act.engine.reinstate(id)
    return redirect(session, f"/memories/{quoted(id)}", done="reinstated")


@router.get("/memories/{id:name}/forget")
def confirm_forget(request: Request, session: PageSession, id: str) -> Response:
    with session.act("get", "writer", id) as act:
        return page(request, "memory_forget.html", memory=act.engine.get(id))


@router.post("/memories/{id:name}/forget")
def forget(session: PageSession, id: str) -> Response:
    with session.act("forget", "writer", id) as act:
        act.engine.forget(id)
    return redirect(session, "/memories", done="forgotten")
