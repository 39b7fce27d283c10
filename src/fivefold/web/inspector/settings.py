"""Settings: what a namespace has set, what each setting means, and acting them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.service.session import Session
from fivefold.stores.protocol import Reader
from fivefold.web.inspector.acting import DONE, acting, onward
from fivefold.web.inspector.rendering import page
from fivefold.web.inspector.settings_typed import DEFAULTS, GROUPS, MEANINGS, told, value_of
from fivefold.web.inspector.visit import Here

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Field:
    """One setting in the form; `typed` is empty where the default holds."""

    name: str
    meaning: str
    typed: str
    default: str
    choice: bool
    fault: str


async def typed_of(request: Request) -> dict[str, str]:
    """What the form says of each setting; one it does not name stays as it is."""
    form = await request.form()
    return {name: value for name in MEANINGS if isinstance(value := form.get(name), str)}


@router.get("/settings")
def settings(request: Request, visit: Here, done: str = "") -> Response:
    with acting(visit, "settings") as engine:
        return _shown(request, visit, set_in(engine), done=DONE.get(done, ""))


@router.post("/settings")
def change(request: Request, visit: Here, typed: Annotated[dict[str, str], Depends(typed_of)]) -> Response:
    """Only what was changed is set; an emptied field brings its default back."""
    try:
        with acting(visit, "configure", role="admin") as engine:
            before = set_in(engine)
            changed = {name: value_of(name, text) for name, text in typed.items() if text.strip() != before[name]}
            if changed:
                engine.configure(**changed)
    except InvalidInput as error:
        return _shown(request, visit, {**set_in(visit.engine()), **typed}, 422, fault=str(error))
    return onward(visit, "/settings", done="configured")


def set_in(engine: Engine) -> dict[str, str]:
    """Each setting as text, empty where nothing is set."""
    stored = _reader(engine).settings()
    return {name: told(stored.get(name)) for name in MEANINGS}


def _reader(engine: Engine) -> Reader:
    return engine.store.reader(engine.namespace)


def _shown(
    request: Request, visit: Session, typed: Mapping[str, str], status: int = 200, fault: str = "", done: str = ""
) -> Response:
    groups = {
        title: [_field(name, meaning, typed[name], fault) for name, meaning in group.items()]
        for title, group in GROUPS.items()
    }
    elsewhere = fault and not any(field.fault for group in groups.values() for field in group)
    return page(
        request,
        "settings.html",
        status,
        groups=groups,
        done=done,
        fault=fault,
        elsewhere=elsewhere,
        space=_reader(visit.engine()).space(),
    )


def _field(name: str, meaning: str, typed: str, fault: str) -> Field:
    default = DEFAULTS[name]
    own = fault if fault.partition(" ")[0] == name else ""
    return Field(name, meaning, typed, told(default) or "the recipe’s", isinstance(default, bool), own)
