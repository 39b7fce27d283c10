"""Memories: look through them, latest first, narrowed by what the address says."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from fivefold.errors import InvalidInput
from fivefold.transfer.jsonl import export_lines
from fivefold.values.memory import KINDS, TYPES
from fivefold.web.inspector import memory, memory_changes
from fivefold.web.inspector.acting import DONE, acting
from fivefold.web.inspector.rendering import address, page
from fivefold.web.inspector.visit import Here
from fivefold.web.rest.operations import LINES
from fivefold.web.streaming import lines_through_a_file, parts_of

PAGE = 30
"""Memories shown at once; the next come by a click."""

HOLDING = {"no": False, "yes": True}

router = APIRouter()
router.include_router(memory_changes.router)
router.include_router(memory.router)

Word = Annotated[str, Query(max_length=1_000)]


@dataclass(frozen=True, slots=True)
class Sought:
    """What the list is narrowed to, as it was typed."""

    q: Word = ""
    kind: Word = ""
    type: Word = ""
    speaker: Word = ""
    session: Word = ""
    tag: Word = ""
    since: Word = ""
    until: Word = ""
    superseded: Word = ""

    @property
    def state(self) -> dict[str, str]:
        """For an address: what is not empty."""
        return {name: value for name in NAMES if (value := getattr(self, name).strip())}

    def filters(self) -> dict[str, Any]:
        """As `Engine.memories` takes them; whole days, the last one included."""
        given = self.state
        holds = given.pop("superseded", None)
        if holds is not None and holds not in HOLDING:
            raise InvalidInput(f"superseded {holds!r} is unknown; it is yes or no")
        named = {"q": "text", "session": "session_id"}
        wanted: dict[str, Any] = {named.get(name, name): value for name, value in given.items()}
        for name, days in (("since", 0), ("until", 1)):
            if name in wanted:
                wanted[name] = _day(wanted[name], name, days)
        return wanted if holds is None else {**wanted, "superseded": HOLDING[holds]}


NAMES = tuple(field.name for field in fields(Sought))


def _day(text: str, field: str, later: int) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=later)
    except ValueError:
        raise InvalidInput(f"{field} {text!r} is not a day; write it like 2025-03-15") from None
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


@router.get("/memories")
def memories(
    request: Request,
    visit: Here,
    sought: Annotated[Sought, Depends()],
    cursor: Annotated[str, Query(max_length=4_000)] = "",
    done: str = "",
) -> Response:
    """A form sends every field; the address then says only what narrows the list."""
    if any(name in request.query_params and not request.query_params[name].strip() for name in NAMES):
        return RedirectResponse(address("/memories", visit.namespace, {**sought.state, "cursor": cursor}), 303)
    shown: dict[str, Any] = {
        "sought": sought,
        "kinds": KINDS,
        "types": TYPES,
        "cursor": cursor,
        "done": DONE.get(done, ""),
    }
    try:
        with acting(visit, "list") as engine:
            found = engine.memories(**sought.filters(), cursor=cursor or None, limit=PAGE)
    except InvalidInput as error:
        return page(request, "memories.html", 422, **shown, error=str(error), found=())
    return page(request, "memories.html", **shown, error="", found=found)


@router.get("/export")
def export(visit: Here) -> Response:
    """Every memory as JSON lines, as REST gives them, for a browser that is signed in by its cookie."""
    with acting(visit, "export") as engine:
        file = lines_through_a_file(export_lines(engine.store.reader(engine.namespace)))
    told = {"Content-Disposition": 'attachment; filename="memories.jsonl"'}
    return StreamingResponse(parts_of(file), media_type=LINES, headers=told)
