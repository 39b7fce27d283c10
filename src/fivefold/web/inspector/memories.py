"""Memories: the list, latest first, with the filters of the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from fivefold.errors import InvalidInput
from fivefold.service.session import Session
from fivefold.values.filter_input import filter_of, narrowed
from fivefold.values.filter_language import MAX_FILTER
from fivefold.values.filters import Filter
from fivefold.values.health import SOON_DAYS, STALE_DAYS, UNUSED_DAYS, HealthCheck, health_filters
from fivefold.values.memory import KINDS, TYPES, Memory
from fivefold.values.paging import Page
from fivefold.values.reports import Link
from fivefold.values.times import utc_now
from fivefold.web.inspector import memory, memory_changes
from fivefold.web.inspector.confirmations import confirmation
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.rendering import address, page
from fivefold.web.streaming import export_of

PAGE = 30
"""Memories on one page; a click brings the next ones."""

SUPERSEDED = {"no": False, "yes": True}

PAIRS = "near-duplicates"
VIEWS: Mapping[str, HealthCheck] = {"unused": "never used", "stale": "stale", "expiring": "expiring"}
"""Parts of the list that the health of a namespace names, by their name in the address."""

MEANINGS = {
    PAIRS: "Memories that say nearly the same as an earlier one of the same speaker, each with that one below it.",
    "unused": f"Written more than {UNUSED_DAYS} days ago, and no feedback says that they were of use.",
    "stale": f"Neither written nor used in the last {STALE_DAYS} days.",
    "expiring": f"They expire in the next {SOON_DAYS} days. What is pinned stays.",
}

router = APIRouter()
router.include_router(memory_changes.router)
router.include_router(memory.router)

Text = Annotated[str, Query(max_length=1_000)]


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list as text; `show` is a part of the list that the health of a namespace names."""

    show: Text = ""
    q: Text = ""
    kind: Text = ""
    type: Text = ""
    speaker: Text = ""
    session: Text = ""
    tag: Text = ""
    since: Text = ""
    until: Text = ""
    superseded: Text = ""
    filter: Annotated[str, Query(max_length=MAX_FILTER)] = ""

    @property
    def state(self) -> dict[str, str]:
        """For an address: the filters that are not empty."""
        return {name: value for name in NAMES if (value := getattr(self, name).strip())}

    def to_arguments(self) -> dict[str, Any]:
        """As `Engine.memories` takes them; days are whole, and the last one is included."""
        state = self.state
        show = state.pop("show", None)
        superseded = state.pop("superseded", None)
        if superseded is not None and superseded not in SUPERSEDED:
            raise InvalidInput(f"superseded {superseded!r} is unknown; it is yes or no")
        new_names = {"q": "text", "session": "session_id"}
        arguments: dict[str, Any] = {new_names.get(name, name): value for name, value in state.items()}
        for name, days in (("since", 0), ("until", 1)):
            if name in arguments:
                arguments[name] = _day(arguments[name], name, days)
        if show is not None:
            arguments["filter"] = _part_of(show, state.get("filter", ""), superseded is None)
        return arguments if superseded is None else {**arguments, "superseded": SUPERSEDED[superseded]}


NAMES = tuple(field.name for field in fields(Filters))


def _part_of(show: str, text: str, current: bool) -> Filter:
    """The filter of a part of the list, narrowed by the filter's text; what was replaced only where it is asked for."""
    if show not in VIEWS:
        raise InvalidInput(f"show {show!r} is unknown; it is one of {', '.join(MEANINGS)}")
    keep = health_filters(utc_now())[VIEWS[show]]
    parts = {item.name: getattr(keep, item.name) for item in fields(Filter)}
    return narrowed(filter_of(text), **{**parts, "superseded": False if current else None})


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
    session: PageSession,
    filters: Annotated[Filters, Depends()],
    cursor: Annotated[str, Query(max_length=4_000)] = "",
    done: str = "",
) -> Response:
    """A form sends every field; a redirect leaves only the filters that are not empty in the address."""
    if any(name in request.query_params and not request.query_params[name].strip() for name in NAMES):
        return RedirectResponse(address("/memories", session.namespace, {**filters.state, "cursor": cursor}), 303)
    values: dict[str, Any] = {
        "filters": filters,
        "kinds": KINDS,
        "types": TYPES,
        "meanings": MEANINGS,
        "cursor": cursor,
        "done": confirmation(done),
    }
    if filters.show == PAIRS:
        return _pairs_page(request, session, cursor, values)
    try:
        with session.act("list") as act:
            rows = act.engine.memories(**filters.to_arguments(), cursor=cursor or None, limit=PAGE)
    except InvalidInput as error:
        return page(request, "memories.html", 422, **values, error=str(error), memories=())
    return page(request, "memories.html", **values, error="", memories=rows)


def _pairs_page(request: Request, session: Session, cursor: str, values: dict[str, Any]) -> Response:
    """Near-duplicates: the newer memory with the older; the other filters do not count here."""
    try:
        with session.act("list") as act:
            links = act.engine.links("repeats", PAGE, cursor or None)
            ids = {id for link in links for id in (link.source, link.target)}
            known = {id: act.engine.get(id) for id in act.engine.stored_ids(sorted(ids))}
    except InvalidInput as error:
        return page(request, "memories.html", 422, **values, error=str(error), memories=())
    return page(request, "memories.html", **values, error="", memories=_pairs(links, known))


def _pairs(links: Page[Link], known: Mapping[str, Memory]) -> Page[tuple[Memory, Memory, Link]]:
    """Both memories of each link; one that was forgotten at this moment is left out."""
    there = (link for link in links if link.source in known and link.target in known)
    return Page(tuple((known[link.source], known[link.target], link) for link in there), links.cursor)


@router.get("/export")
def export(session: PageSession) -> Response:
    """Every memory as JSON lines, the same as REST gives, for a browser that has only its cookie."""
    with session.act("export") as act:
        return export_of(act.engine, {"Content-Disposition": 'attachment; filename="memories.jsonl"'})
