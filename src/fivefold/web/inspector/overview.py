"""Overview: facts of the user, coming dates, changes; a wrong line is put right where it is seen."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.service.session import Session
from fivefold.values.entities import Entity
from fivefold.values.known import Fact, Profile
from fivefold.values.reports import series_of
from fivefold.values.times import utc_now
from fivefold.web.inspector.memories import add_change, day_of, memory_page, return_to
from fivefold.web.inspector.rendering import PageSession, address, confirmation, page

router: APIRouter = APIRouter()

PROFILE_TOKENS, MORE_TOKENS = 600, 4_000
"""The size of a profile, and of the one that shows more."""

MAX_LINES, MAX_NAMED, MAX_OF_KIND = 12, 60, 10
"""Lines of the agenda and of each part of the changes; entities that are looked at for names, and names of a kind."""

KINDS = {"person": "People", "place": "Places", "organisation": "Organisations", "name": "Things"}
"""The kinds of entities whose names are shown, with their titles."""

MAX_NAMES = 4
"""Aliases of an entity under which a profile is looked for."""

UNDO = {"pinned": "unpin", "unpinned": "pin", "hidden": "show", "shown": "hide", "corrected": "undo"}
"""By the word for the confirmation of a change: the change that takes it back."""

UNDO_MINUTES = 30
"""For how long after a correction its undo is offered, since that deletes the corrected memory."""

Text = Annotated[str, Form()]
Name = Annotated[str, Query(max_length=1_000)]


@router.get("/overview")
def overview(
    request: Request,
    session: PageSession,
    day: Name = "",
    days: Annotated[int | None, Query(ge=1, le=36_500)] = None,
    of: Name = "",
    more: bool = False,
    done: str = "",
    line: Name = "",
) -> Response:
    """`day` is when the agenda begins, `days` how far back the changes go, and `of` what a timeline is asked for."""
    with session.act("profile") as act:
        engine, stats = act.engine, session.service.stats(session.caller, act.engine)
        profile = engine.profile(token_budget=MORE_TOKENS if more else PROFILE_TOKENS)
        named = [item for item in engine.graph.entities(limit=MAX_NAMED) if item.name != "user"]
    with session.act("agenda"):
        start = day_of(day, "day") if day else utc_now()
        agenda = engine.agenda(start, limit=MAX_LINES)
    with session.act("changes"):
        changes = engine.changes(utc_now() - timedelta(days=days) if days else None)
    state = {"day": day, "days": days, "of": of, "more": more or None}
    return page(
        request,
        "overview.html",
        stats=stats,
        series=series_of(stats.periods),
        profile=profile,
        agenda=agenda,
        changes=[
            (title, facts[:MAX_LINES], len(facts))
            for title, facts in (("New", changes.new), ("Changed", changes.replaced), ("No longer", changes.ended))
        ],
        since=None if days is None and not stats.sessions else changes.since,
        named=[(title, [item for item in named if item.kind == kind][:MAX_OF_KIND]) for kind, title in KINDS.items()],
        day=f"{start:%Y-%m-%d}",
        days=days,
        of=of,
        timeline=timeline(session, of),
        known=state,
        back=address("/overview", session.namespace, state),
        done=confirmation(done),
        undo=undo_of(engine, done, line),
    )


def timeline(session: Session, of: str, name: str = "") -> tuple[Fact, ...] | None:
    """The values of an attribute one after the other, of an entity if it has a `name`; None if nothing is asked."""
    asked = of.strip()
    if not asked:
        return None
    if " " not in asked or (name and name.casefold() not in asked.casefold()):
        asked = f"{name}'s {asked}" if name else f"my {asked}"
    with session.act("history") as act:
        session.service.limits.check_question(asked)
        try:
            return act.engine.history(asked).facts
        except NotFound:
            return ()


def profile_of(engine: Engine, entity: Entity) -> Profile | None:
    """The profile of an entity by the first of its names that memories say something lasting about."""
    for name in dict.fromkeys((entity.name, *entity.aliases[:MAX_NAMES])):
        with suppress(NotFound, InvalidInput):
            profile = engine.profile(name, token_budget=PROFILE_TOKENS)
            if profile.facts:
                return profile
    return None


def undo_of(engine: Engine, done: str, id: str) -> str:
    """The change that takes back the one just made; empty if nothing can be taken back."""
    if done not in UNDO or not engine.stored_ids([id]):
        return ""
    return "" if done == "corrected" and not _is_correction(engine, id) else f"{id}/{UNDO[done]}"


def _is_correction(engine: Engine, id: str) -> bool:
    """True if the memory was written lately and replaced another."""
    late = utc_now() - engine.get(id).created_at < timedelta(minutes=UNDO_MINUTES)
    return late and any(link.source == id and link.relation == "supersedes" for link in engine.history(id).links)


@router.post("/memories/{id:name}/correct")
def correct(
    request: Request, session: PageSession, id: str, line: Text = "", to: Text = "", back: Text = ""
) -> Response:
    """Puts a line right at its source; if that is not possible, the memory is shown with the new words and why."""
    try:
        with session.act("supersede", "writer", id) as act:
            session.service.limits.check_text(to, "to")
            report = act.engine.correct(id, line, to.strip())
            act.subject = f"{id} {report.id}"
    except InvalidInput as error:
        return memory_page(request, session, id, 422, replacement=to, errors={"supersede": str(error)})
    return return_to(back or "/overview", "corrected", report.id)


def _forget_correction(engine: Engine, id: str) -> None:
    engine.get(id)
    if not _is_correction(engine, id):
        raise InvalidInput("is not a correction of the last minutes; forget it on its own page", field="memory")
    engine.forget(id)


add_change(router, "hide", Engine.hide, "hidden", "update")
add_change(router, "show", lambda engine, id: engine.hide(id, False), "shown", "update")
add_change(router, "undo", _forget_correction, "undone", "forget")
