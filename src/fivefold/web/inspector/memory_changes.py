"""What can be done to memories in the inspector: add, edit, supersede, reinstate, forget."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from fivefold.errors import InvalidInput
from fivefold.values.memory import TYPES, Type
from fivefold.web.inspector import memory
from fivefold.web.inspector.acting import acting, onward
from fivefold.web.inspector.memory_typed import EDITED, changed, mark, number, tags_of
from fivefold.web.inspector.rendering import page
from fivefold.web.inspector.visit import Here
from fivefold.web.paths import quoted

router = APIRouter()

Typed = Annotated[str, Form()]

NEW = ("content", "speaker", "session_id", "type", "tags", "importance", "event_at")
"""The fields of the form for a new memory."""


@router.get("/remember")
def blank(request: Request, visit: Here) -> Response:
    with acting(visit, "remember", role="writer", noted=False):
        return page(request, "memory_new.html", here="memories", types=TYPES, typed=dict.fromkeys(NEW, ""), fault="")


@router.post("/remember")
def remember(
    request: Request,
    visit: Here,
    content: Typed = "",
    speaker: Typed = "",
    session_id: Typed = "",
    type: Typed = "",
    tags: Typed = "",
    importance: Typed = "",
    event_at: Typed = "",
) -> Response:
    given = (content, speaker, session_id, type, tags, importance, event_at)
    typed, ids = dict(zip(NEW, given, strict=True)), list[str]()
    try:
        with acting(visit, "remember", ids, "writer") as engine:
            visit.service.limits.check_text(content, "content")
            report = engine.remember(
                content,
                speaker=speaker or None,
                session_id=session_id or None,
                type=cast(Type, type) if type else None,
                tags=tags_of(tags),
                importance=number(importance, "importance") if importance else None,
                event_at=event_at or None,
            )
            ids.append(report.id)
    except InvalidInput as error:
        return page(request, "memory_new.html", 422, here="memories", types=TYPES, typed=typed, fault=str(error))
    done = "remembered" if report.stored else "known"
    return onward(visit, f"/memories/{quoted(report.id)}", done=done)


@router.post("/memories/{id:name}/edit")
def edit(
    request: Request,
    visit: Here,
    id: str,
    content: Typed = "",
    type: Typed = "",
    tags: Typed = "",
    importance: Typed = "",
    event_at: Typed = "",
    valid_from: Typed = "",
    valid_to: Typed = "",
    seen: Typed = "",
) -> Response:
    typed = dict(zip(EDITED, (content, type, tags, importance, event_at, valid_from, valid_to), strict=True))
    try:
        with acting(visit, "update", [id], "writer") as engine:
            visit.service.limits.check_text(content, "content")
            held = engine.get(id)
            if seen != mark(held):
                raise InvalidInput("it was changed meanwhile; above is how it stands now, save again to make it yours")
            changes = changed(held, typed)
            if changes:
                engine.update(id, **changes)
    except InvalidInput as error:
        return memory.shown(request, visit, id, 422, typed=typed, faults={"edit": str(error)})
    return onward(visit, f"/memories/{quoted(id)}", done="edited")


@router.post("/memories/{id:name}/supersede")
def supersede(request: Request, visit: Here, id: str, replacement: Typed = "") -> Response:
    ids = [id]
    try:
        with acting(visit, "supersede", ids, "writer") as engine:
            visit.service.limits.check_text(replacement, "the new text")
            old = engine.get(id)
            record = {"content": replacement, "speaker": old.speaker, "tags": old.tags}
            report = engine.supersede(id, record)
            ids.append(report.id)
    except InvalidInput as error:
        typed = {"replacement": replacement}
        return memory.shown(request, visit, id, 422, typed=typed, faults={"supersede": str(error)})
    return onward(visit, f"/memories/{quoted(report.id)}", done="superseded")


@router.post("/memories/{id:name}/reinstate")
def reinstate(visit: Here, id: str) -> Response:
    with acting(visit, "reinstate", [id], "writer") as engine:
        engine.reinstate(id)
    return onward(visit, f"/memories/{quoted(id)}", done="reinstated")


@router.get("/memories/{id:name}/forget")
def ask_first(request: Request, visit: Here, id: str) -> Response:
    with acting(visit, "get", [id], "writer") as engine:
        return page(request, "memory_forget.html", memory=engine.get(id))


@router.post("/memories/{id:name}/forget")
def forget(visit: Here, id: str) -> Response:
    with acting(visit, "forget", [id], "writer") as engine:
        engine.forget(id)
    return onward(visit, "/memories", done="forgotten")
