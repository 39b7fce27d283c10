"""Settings: the settings of a namespace, their meanings, and a form that changes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.service.session import Session
from fivefold.web.inspector.confirmations import confirmation, redirect
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.rendering import page
from fivefold.web.inspector.settings_form import DEFAULTS, GROUPS, MEANINGS, text_of, value_of

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Field:
    """One setting in the form; `text` is empty where the namespace has the default."""

    name: str
    meaning: str
    text: str
    default: str
    choice: bool
    error: str


async def read_form(request: Request) -> dict[str, str]:
    """The settings that the form sends; the others stay as they are."""
    form = await request.form()
    return {name: value for name in MEANINGS if isinstance(value := form.get(name), str)}


@router.get("/settings")
def settings(request: Request, session: PageSession, done: str = "") -> Response:
    with session.act("settings") as act:
        return _settings_page(request, session, own_texts(act.engine), done=confirmation(done))


@router.post("/settings")
def change(request: Request, session: PageSession, form: Annotated[dict[str, str], Depends(read_form)]) -> Response:
    """Only changed fields are stored; an empty field restores the default."""
    try:
        with session.act("configure", "admin") as act:
            before = own_texts(act.engine)
            changes = {name: value_of(name, text) for name, text in form.items() if text.strip() != before[name]}
            if changes:
                act.engine.configure(**changes)
    except InvalidInput as error:
        return _settings_page(request, session, {**own_texts(session.engine()), **form}, 422, error=str(error))
    return redirect(session, "/settings", done="configured")


def own_texts(engine: Engine) -> dict[str, str]:
    """Each setting of the namespace as text, empty where it has the default."""
    own = engine.own_settings()
    return {name: text_of(own.get(name)) for name in MEANINGS}


def _settings_page(
    request: Request, session: Session, texts: Mapping[str, str], status: int = 200, error: str = "", done: str = ""
) -> Response:
    groups = {
        title: [_field(name, meaning, texts[name], error) for name, meaning in group.items()]
        for title, group in GROUPS.items()
    }
    at_field = any(field.error for group in groups.values() for field in group)
    return page(
        request,
        "settings.html",
        status,
        groups=groups,
        done=done,
        error="" if at_field else error,
        embedder=session.engine().embedder_pin(),
    )


def _field(name: str, meaning: str, text: str, error: str) -> Field:
    default = DEFAULTS[name]
    own_error = error if error.partition(" ")[0] == name else ""
    return Field(name, meaning, text, text_of(default) or "the recipe’s", isinstance(default, bool), own_error)
