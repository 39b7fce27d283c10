"""Changes to memories in the inspector: add, edit, supersede, reinstate, pin, forget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import Response

from fivefold.errors import InvalidInput
from fivefold.web.inspector.confirmations import redirect
from fivefold.web.inspector.form_fields import read_texts
from fivefold.web.inspector.memory import memory_page
from fivefold.web.inspector.memory_form import EDITABLE, NEW, changes_of, form_of, record_of, version_of
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.rendering import page
from fivefold.web.paths import quoted

router = APIRouter()


async def read_new(request: Request) -> Mapping[str, str]:
    return {**dict.fromkeys(NEW, ""), **await read_texts(request, NEW)}


async def read_edit(request: Request) -> Mapping[str, str]:
    return {**dict.fromkeys(EDITABLE, ""), **await read_texts(request, EDITABLE)}


Text = Annotated[str, Form()]
NewTexts = Annotated[Mapping[str, str], Depends(read_new)]
EditTexts = Annotated[Mapping[str, str], Depends(read_edit)]


@router.get("/remember")
def new_memory(request: Request, session: PageSession) -> Response:
    with session.act("remember", "writer", audit_success=False):
        return page(request, "memory_new.html", here="memories", form=form_of(dict.fromkeys(NEW, "")), error="")


@router.post("/remember")
def remember(request: Request, session: PageSession, texts: NewTexts) -> Response:
    try:
        with session.act("remember", "writer") as act:
            session.service.limits.check_text(texts["content"], "content")
            report = act.engine.remember(**record_of(texts))
            act.subject = report.id
    except InvalidInput as error:
        return page(request, "memory_new.html", 422, here="memories", form=form_of(texts), error=str(error))
    done = "remembered" if report.stored else "known"
    return redirect(session, f"/memories/{quoted(report.id)}", done=done)


@router.post("/memories/{id:name}/edit")
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


@router.post("/memories/{id:name}/supersede")
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


@router.post("/memories/{id:name}/reinstate")
def reinstate(session: PageSession, id: str) -> Response:
    with session.act("reinstate", "writer", id) as act:
        act.engine.reinstate(id)
    return redirect(session, f"/memories/{quoted(id)}", done="reinstated")


@router.post("/memories/{id:name}/pin")
def pin(session: PageSession, id: str) -> Response:
    with session.act("pin", "writer", id) as act:
        act.engine.pin(id)
    return redirect(session, f"/memories/{quoted(id)}", done="pinned")


@router.post("/memories/{id:name}/unpin")
def unpin(session: PageSession, id: str) -> Response:
    with session.act("unpin", "writer", id) as act:
        act.engine.unpin(id)
    return redirect(session, f"/memories/{quoted(id)}", done="unpinned")


@router.get("/memories/{id:name}/forget")
def confirm_forget(request: Request, session: PageSession, id: str) -> Response:
    with session.act("get", "writer", id) as act:
        return page(request, "memory_forget.html", memory=act.engine.get(id))


@router.post("/memories/{id:name}/forget")
def forget(session: PageSession, id: str) -> Response:
    with session.act("forget", "writer", id) as act:
        act.engine.forget(id)
    return redirect(session, "/memories", done="forgotten")
