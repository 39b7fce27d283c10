"""Sessions: a timeline of the conversations, and each as the talk it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.values.memory import Memory, Session
from fivefold.web.inspector.acting import DONE, acting, onward
from fivefold.web.inspector.rendering import page
from fivefold.web.inspector.timeline import NARROW, WIDE, timeline
from fivefold.web.inspector.visit import Here

PAGE = 60
TURNS = 200
"""Turns of a session on one page."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Month:
    name: str
    sessions: tuple[Session, ...]


@router.get("/sessions")
def sessions(
    request: Request, visit: Here, cursor: Annotated[str, Query(max_length=4_000)] = "", done: str = ""
) -> Response:
    try:
        with acting(visit, "sessions") as engine:
            found = engine.sessions(PAGE, cursor or None)
            begun = openings(engine, found)
    except InvalidInput as error:
        return page(request, "sessions.html", 422, error=str(error), months=(), drawn=(), following=None, **_FIRST)
    return page(
        request,
        "sessions.html",
        error="",
        months=months(found),
        drawn=(timeline(found, WIDE), timeline(found, NARROW)),
        openings=begun,
        most=max((item.turns for item in found), default=1),
        following=found.cursor,
        cursor=cursor,
        done=DONE.get(done, ""),
    )


_FIRST: Mapping[str, object] = {"openings": {}, "most": 1, "cursor": "", "done": ""}


@router.get("/sessions/{id:name}")
def session(request: Request, visit: Here, id: str, first: Annotated[int, Query(alias="from", ge=1)] = 1) -> Response:
    with acting(visit, "session", [id]) as engine:
        turns = engine.turns(id)
    part = turns[first - 1 : first - 1 + TURNS]
    days = [(day, tuple(each)) for day, each in groupby(part, key=lambda turn: turn.event_at.date())]
    return page(
        request,
        "session.html",
        session_id=id,
        days=days,
        turns=len(turns),
        first=first,
        last=first - 1 + len(part),
        started=turns[0].event_at,
        ended=turns[-1].event_at,
        before=max(1, first - TURNS),
        speakers=_speakers(turns),
    )


@router.get("/sessions/{id:name}/forget")
def ask_first(request: Request, visit: Here, id: str) -> Response:
    with acting(visit, "session", [id], "writer") as engine:
        turns = engine.turns(id)
    return page(request, "session_forget.html", session_id=id, turns=len(turns), opening=turns[0])


@router.post("/sessions/{id:name}/forget")
def forget(visit: Here, id: str) -> Response:
    with acting(visit, "forget session", [id], "writer") as engine:
        engine.forget_session(id)
    return onward(visit, "/sessions", done="forgotten")


def months(found: Sequence[Session]) -> list[Month]:
    """The sessions as they come, latest first, by the month they began in."""
    grouped = groupby(found, key=lambda item: f"{item.started_at:%B %Y}")
    return [Month(name, tuple(each)) for name, each in grouped]


def openings(engine: Engine, found: Sequence[Session]) -> dict[str, str]:
    """How each session begins, where it has grown to a memory of its own."""
    reader = engine.store.reader(engine.namespace)
    rows = reader.session_rows([item.id for item in found])
    held = reader.fetch(list(rows.values()))
    return {id: held[row].content.partition("\n")[0] for id, row in rows.items() if row in held}


def _speakers(turns: Sequence[Memory]) -> dict[str | None, int]:
    """The speakers in the order they come in, each with a side of the talk."""
    return {speaker: place % 2 for place, speaker in enumerate(dict.fromkeys(turn.speaker for turn in turns))}
