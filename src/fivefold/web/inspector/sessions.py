"""Sessions: a timeline of the conversations, and each conversation turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from fivefold.errors import InvalidInput
from fivefold.values.memory import Memory, Session
from fivefold.web.inspector.confirmations import confirmation, redirect
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.rendering import page
from fivefold.web.inspector.timeline import NARROW, WIDE, make_timeline

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
    request: Request, session: PageSession, cursor: Annotated[str, Query(max_length=4_000)] = "", done: str = ""
) -> Response:
    try:
        with session.act("sessions") as act:
            rows = act.engine.sessions(PAGE, cursor or None)
            memories = act.engine.session_memories([item.id for item in rows])
    except InvalidInput as error:
        return page(request, "sessions.html", 422, error=str(error), **_EMPTY)
    return page(
        request,
        "sessions.html",
        error="",
        months=group_by_month(rows),
        timelines=(make_timeline(rows, WIDE), make_timeline(rows, NARROW)),
        openings={id: memory.content.partition("\n")[0] for id, memory in memories.items()},
        most=max((item.turns for item in rows), default=1),
        next_cursor=rows.cursor,
        cursor=cursor,
        done=confirmation(done),
    )


_EMPTY: Mapping[str, object] = {
    "months": (),
    "timelines": (),
    "openings": {},
    "most": 1,
    "next_cursor": None,
    "cursor": "",
    "done": "",
}


@router.get("/sessions/{id:name}")
def conversation(
    request: Request, session: PageSession, id: str, first: Annotated[int, Query(alias="from", ge=1)] = 1
) -> Response:
    with session.act("session", subject=id) as act:
        turns = act.engine.turns(id)
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
def confirm_forget(request: Request, session: PageSession, id: str) -> Response:
    with session.act("session", "writer", id) as act:
        turns = act.engine.turns(id)
    return page(request, "session_forget.html", session_id=id, turns=len(turns), opening=turns[0])


@router.post("/sessions/{id:name}/forget")
def forget(session: PageSession, id: str) -> Response:
    with session.act("forget session", "writer", id) as act:
        act.engine.forget_session(id)
    return redirect(session, "/sessions", done="session-forgotten")


def group_by_month(sessions: Sequence[Session]) -> list[Month]:
    """The sessions in their order, latest first, by the month they began in."""
    groups = groupby(sessions, key=lambda item: f"{item.started_at:%B %Y}")
    return [Month(name, tuple(each)) for name, each in groups]


def _speakers(turns: Sequence[Memory]) -> dict[str | None, int]:
    """The speakers in the order of their first turns, each with the side of the page for its turns."""
    return {speaker: place % 2 for place, speaker in enumerate(dict.fromkeys(turn.speaker for turn in turns))}
