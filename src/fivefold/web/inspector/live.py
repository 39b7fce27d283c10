"""Live: what agents write and recall now, sent to the page as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from fivefold.errors import NotFound
from fivefold.service.live import LiveEvent, LiveFeed
from fivefold.service.session import Session
from fivefold.values.memory import Memory
from fivefold.values.reports import MAX_PLACE
from fivefold.web.inspector.rendering import PageSession, environment, page

STREAM_S = 30.0
"""Duration of one stream. The browser then connects again, by which its rights are checked again."""

POLL_S = 0.5
"""Maximum wait of an event before it is sent."""

RETRY_MS = 1_000
"""Time that the browser waits before it connects again."""

MAX_STREAMS = 32
"""Streams at once; one more gets an answer that makes the browser try again later."""

FIRST_EVENTS = 50
"""Events on the page when it opens."""

SHOWN_MEMORIES = 3
"""The most memories that are shown of an event."""

router: APIRouter = APIRouter()


@router.get("/live")
def live(request: Request, session: PageSession) -> Response:
    """The latest events. They show the questions of others, so the page needs the role that the audit log needs."""
    with session.act("audit", "admin"):
        events = feed_of(request).after(0, str(session.namespace))
        shown = [(event, memories_of(session, event)) for event in reversed(events[-FIRST_EVENTS:])]
    return page(request, "live.html", events=shown, last=events[-1].number if events else 0)


@router.get("/live/events")
async def events(
    request: Request,
    session: PageSession,
    after: Annotated[int, Query(ge=0, lt=MAX_PLACE)] = 0,
    last_event_id: Annotated[str, Header(max_length=30)] = "",
) -> Response:
    """The events after that number, and new ones as they come."""
    async with session.act("audit", "admin", audit_success=False):
        pass
    since = int(last_event_id) if last_event_id.isdecimal() else after
    stream = limited(request, event_stream(feed_of(request), session, since))
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def feed_of(request: Request) -> LiveFeed:
    feed: LiveFeed = request.app.state.live
    return feed


async def limited(request: Request, stream: AsyncIterator[str]) -> AsyncIterator[str]:
    """The stream, or only its first line if there are enough others."""
    state = request.app.state
    state.live_streams += 1
    try:
        yield f"retry: {RETRY_MS if state.live_streams <= MAX_STREAMS else 10 * RETRY_MS}\n\n"
        if state.live_streams <= MAX_STREAMS:
            async for part in stream:
                yield part
    finally:
        state.live_streams -= 1


async def event_stream(feed: LiveFeed, session: Session, number: int) -> AsyncIterator[str]:
    """Events as text, until the time is over or the server stops."""
    until = monotonic() + STREAM_S
    while monotonic() < until and not session.service.stopping.is_set():
        new = feed.after(number, str(session.namespace))
        for event in new:
            number = event.number
            html = await run_in_threadpool(render_event, session, event)
            yield f"id: {number}\n" + "".join(f"data: {line}\n" for line in html.splitlines()) + "\n"
        if not new:
            await asyncio.sleep(POLL_S)


def render_event(session: Session, event: LiveEvent) -> str:
    """An event as HTML, with the memories it names."""
    shared = {"session": session, "namespace": session.namespace}
    template = environment().get_template("live_event.html")
    return template.render(shared, event=event, memories=memories_of(session, event))


def memories_of(session: Session, event: LiveEvent) -> list[Memory]:
    """The memories that an event names, as far as they still exist."""
    engine, memories = session.engine("admin"), []
    for id in event.ids[:SHOWN_MEMORIES]:
        try:
            memories.append(engine.get(id))
        except NotFound:
            continue
    return memories
