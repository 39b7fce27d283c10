"""Sessions: a timeline of the conversations, and each conversation turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from fivefold.errors import InvalidInput
from fivefold.values.memory import Memory, Session
from fivefold.values.reports import Page
from fivefold.web.inspector.overview import undo_of
from fivefold.web.inspector.rendering import PageSession, address, confirmation, page, redirect
from fivefold.web.security import quoted


@dataclass(frozen=True, slots=True)
class Strip:
    """The size of a timeline; the labels of the time axis are below it."""

    width: float
    height: float
    bar: float


WIDE = Strip(1000, 120, 8)
NARROW = Strip(340, 110, 4)
LAST = datetime.max.replace(tzinfo=UTC)
LABEL_HEIGHT = 18
"""The height of the labels below."""

LABEL_WIDTH = 76
"""The width of a label with some space."""


class Bar(NamedTuple):
    session: Session
    x: float
    y: float
    height: float


class Tick(NamedTuple):
    x: float
    label: str


class Timeline(NamedTuple):
    strip: Strip
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]


def make_timeline(sessions: Sequence[Session], strip: Strip) -> Timeline:
    """A bar for each session at its start; bars that would overlap are next to each other."""
    if not sessions:
        return Timeline(strip, (), ())
    ordered = sorted(sessions, key=lambda item: (item.started_at, item.id))
    first, last = ordered[0].started_at, ordered[-1].started_at
    span = max(last - first, timedelta(days=1))
    reach = strip.width - strip.bar
    floor = strip.height - LABEL_HEIGHT
    most = max(1, *(item.turns for item in ordered))
    places = _spread([reach * ((item.started_at - first) / span) for item in ordered], reach, strip.bar)
    bars = []
    for item, x in zip(ordered, places, strict=True):
        height = round(max(3.0, (floor - 4) * item.turns / most), 1)
        bars.append(Bar(item, round(x, 1), round(floor - height, 1), height))
    until = first + min(span, LAST - first)
    ticks = [Tick(round(reach * ((at - first) / span), 1), label) for at, label in _ticks(first, until, strip)]
    return Timeline(strip, tuple(bars), tuple(ticks))


def _spread(starts: Sequence[float], reach: float, bar: float) -> list[float]:
    """Positions in the same order, a bar apart as far as there is room."""
    gap = min(bar + 1, reach / max(1, len(starts) - 1))
    places: list[float] = []
    for x in starts:
        places.append(max(x, places[-1] + gap) if places else x)
    for place in range(len(places) - 1, -1, -1):
        after = places[place + 1] - gap if place + 1 < len(places) else reach
        places[place] = min(places[place], after)
    return places


def _ticks(first: datetime, last: datetime, strip: Strip) -> Iterator[tuple[datetime, str]]:
    """Days, months or years, by the span, and only as many as have room."""
    span = last - first
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    years = range(first.year, last.year + 1)
    if span <= timedelta(days=40):
        days = (start + timedelta(days=later) for later in range((last - start).days + 1))
        ticks = [(day, f"{day.day} {day:%b}") for day in days]
    elif span <= timedelta(days=3 * 366):
        months = (datetime(year, month, 1, tzinfo=UTC) for year in years for month in range(1, 13))
        ticks = [(at, f"{at:%b %Y}" if at.month == 1 else f"{at:%b}") for at in months if at <= last]
    else:
        ticks = [(datetime(year, 1, 1, tzinfo=UTC), str(year)) for year in years]
    ticks = [(at, label) for at, label in ticks if at >= first]
    most = int(strip.width // LABEL_WIDTH)
    yield from ticks[:: max(1, -(-len(ticks) // most))]


PAGE_SESSIONS = 60
PAGE_TURNS = 200
"""Turns of a session on one page."""

MAX_RECAP = 8
"""Lines of each part of a recap until more are asked for."""

router: APIRouter = APIRouter()


@router.get("/sessions")
def sessions(
    request: Request, session: PageSession, cursor: Annotated[str, Query(max_length=4_000)] = "", done: str = ""
) -> Response:
    rows: Page[Session] = Page(())
    memories: Mapping[str, Memory] = {}
    error = ""
    try:
        with session.act("sessions") as act:
            rows = act.engine.sessions(PAGE_SESSIONS, cursor or None)
            memories = act.engine.session_memories([item.id for item in rows])
    except InvalidInput as problem:
        cursor, error = "", str(problem)
    months = groupby(rows, key=lambda item: f"{item.started_at:%B %Y}")
    return page(
        request,
        "sessions.html",
        422 if error else 200,
        error=error,
        months=[(name, tuple(each)) for name, each in months],
        timelines=() if error else (make_timeline(rows, WIDE), make_timeline(rows, NARROW)),
        openings={id: memory.content.partition("\n")[0] for id, memory in memories.items()},
        most=max((item.turns for item in rows), default=1),
        next_cursor=rows.cursor,
        cursor=cursor,
        done=confirmation(done),
    )


@router.get("/sessions/{id:name}")
def conversation(
    request: Request,
    session: PageSession,
    id: str,
    first: Annotated[int, Query(alias="from", ge=1)] = 1,
    done: str = "",
    line: Annotated[str, Query(max_length=1_000)] = "",
    more: bool = False,
) -> Response:
    with session.act("session", subject=id) as act:
        turns, recap = act.engine.turns(id), act.engine.recap(id)
        undo = undo_of(act.engine, done, line)
    part = turns[first - 1 : first - 1 + PAGE_TURNS]
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
        before=max(1, first - PAGE_TURNS),
        recap=[
            (title, facts if more else facts[:MAX_RECAP], len(facts))
            for title, facts in (
                ("Decided", recap.decisions),
                ("Promised", recap.promises),
                ("Open questions", recap.questions),
                ("Facts", recap.facts),
            )
            if facts and first == 1
        ],
        starts={turn.turn_index: place // PAGE_TURNS * PAGE_TURNS + 1 for place, turn in enumerate(turns)},
        back=address(
            f"/sessions/{quoted(id)}", session.namespace, {"from": first if first > 1 else None, "more": more or None}
        ),
        done=confirmation(done),
        undo=undo,
        speakers={name: place % 2 for place, name in enumerate(dict.fromkeys(turn.speaker for turn in turns))},
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
