"""The templates of the inspector. Everything is escaped; every page gets the session of its request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Depends, Query
from fastapi.responses import RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.requests import Request
from starlette.responses import HTMLResponse

from fivefold.service.problems import Problem
from fivefold.service.service import Service
from fivefold.service.session import Session
from fivefold.text.display import visible
from fivefold.values.access import Caller
from fivefold.values.explain import (
    LONG_CHARACTERS,
    NOT_FOUND,
    Segment,
    mark_question,
    mark_words,
    marked_line,
    marked_passage,
    percent,
    shown_score,
    shown_span,
)
from fivefold.values.known import Section
from fivefold.values.memory import WAYS
from fivefold.values.query import Weights, whole_percents
from fivefold.values.recall import Hit
from fivefold.values.recall_trace import PassageMatch
from fivefold.values.times import utc_now
from fivefold.values.validate import shorten as shorten_text
from fivefold.version import VERSION
from fivefold.web.auth import CurrentCaller, service_of
from fivefold.web.security import quoted

MAX_INLINE_CHARS = 50_000
"""Characters of a text that a list has whole behind a control; a longer one is a link to its own page."""


def line_of(hit: Hit, length: int) -> list[Segment]:
    """The memory on one line, cut to the matched words."""
    return marked_line(hit.memory.content, hit.passage, length)


def around_passage(content: str, match: PassageMatch | None = None) -> tuple[list[Segment], ...]:
    """The whole text in three parts: before what is shown of it, that, and the rest."""
    start, end = shown_span(content, match)
    words = match.words if match else ()
    spans = ((0, start), (start, end), (end, len(content)))
    return tuple(mark_words(content, words, first, last) for first, last in spans)


def met(segment: Segment, side: Literal["question", "memory"]) -> str:
    """The words of the question, or of the memory, that match a marked word, and how near they are."""
    words = dict.fromkeys(f"“{visible(getattr(word, side))}”, {word.similarity:.2f}" for word in segment.words)
    return f"matches {'; '.join(words)}"


FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"

VIEWS = ("ask", "overview", "why", "compare", "memories", "sessions", "graph", "live", "learn", "settings")
"""The pages, in the order of the navigation; each has a path of its own."""

SECTION_TITLES: Mapping[Section, str] = {
    "who": "About",
    "home": "Home",
    "work": "Work",
    "people": "People",
    "health": "Health and diet",
    "tastes": "Tastes",
    "habits": "Habits",
    "projects": "Projects",
    "things": "Things and numbers",
    "avoid": "To avoid",
    "decisions": "Decisions",
    "commands": "Commands and conventions",
    "open": "Open ends",
}
"""The sections of a profile in their order, as a person reads them."""

MAX_CHOICES = 200
"""With more namespaces than this, a text field replaces the list."""


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The template as a whole page, or what htmx takes out of it."""
    session: Session | None = getattr(request.state, "page_session", None)
    namespace = session.namespace if session else ""
    view = request.url.path.strip("/").partition("/")[0]
    shared = {"session": session, "namespace": namespace, "here": view if view in VIEWS else ""}
    html = environment().get_template(template).render(shared | values)
    return HTMLResponse(html, status, headers={"Cache-Control": "no-store"})


def address(path: str, namespace: str | None, state: Mapping[str, object]) -> str:
    """A path with its state; empty values are left out, and so is the default namespace."""
    params = {name: value for name, value in state.items() if value is not None and value is not False and value != ""}
    if namespace not in (None, "", "default"):
        params = {"namespace": namespace, **params}
    return f"{path}?{urlencode(params, doseq=True)}" if params else path


def problem_page(request: Request, problem: Problem) -> HTMLResponse:
    """An error as a page for people."""
    return page(request, "problem.html", problem.status, problem=problem)


def push_address(request: Request, response: HTMLResponse, here: str) -> HTMLResponse:
    """Makes the browser show the address of what it sees, in its shortest form, even if it gets only a part."""
    if is_fragment(request):
        response.headers["HX-Push-Url"] = here
    return response


def is_fragment(request: Request) -> bool:
    """True if htmx asks; it takes only a part of the page."""
    return request.headers.get("hx-request") == "true"


@cache
def environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    formats = (day, moment, pct, percent, figure, score, ms, plural, shorten, stack, signals)
    shown = (line_of, marked_passage, around_passage, mark_question, met)
    environment.filters |= {
        "visible": lambda text: visible(str(text)),
        "segment": lambda text: quoted(str(text)),
        "iso": lambda value: value.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "is_long": lambda content: len(content) > LONG_CHARACTERS,
        "is_inline": lambda content: len(content) <= MAX_INLINE_CHARS,
        **{function.__name__: function for function in (*formats, *shown)},
    }
    environment.globals |= {
        "to": to,
        "static": static,
        "views": VIEWS,
        "version": VERSION,
        "not_found": NOT_FOUND,
        "ways": WAYS,
        "section_titles": SECTION_TITLES,
        "most_choices": MAX_CHOICES,
        "now": utc_now,
    }
    return environment


@pass_context
def to(context: Context, path: str, **state: object) -> str:
    """In a template: an address that keeps the namespace."""
    return address(path, str(context.get("namespace") or ""), state)


def static(name: str) -> str:
    """The address of a static file; it changes with the contents."""
    return f"/static/{name}?v={content_hash(name)}"


@cache
def content_hash(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


def shorten(text: object, most: int = 160) -> str:
    """Stored text on one line; marks that a reader would not see, such as those of direction, become visible."""
    return shorten_text(visible(str(text)), most)


def day(value: datetime) -> str:
    return f"{value.day} {value:%b} {value.year}"


def moment(value: datetime) -> str:
    return f"{day(value)}, {value:%H:%M} UTC"


def pct(value: float, places: int = 0) -> str:
    return f"{value:.{places}%}".replace("%", "\u202f%")


def figure(value: float, places: int = 4) -> str:
    return f"{value:.{places}f}".replace("-", "−")


def score(value: float, composite: bool = False, places: int = 4) -> str:
    return shown_score(value, composite, places).replace("-", "−")


def ms(value: float) -> str:
    return f"{value:.1f} ms" if value < 100 else f"{value:,.0f} ms"


def plural(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def signals(weights: Weights) -> list[tuple[str, str, int]]:
    """The three signals of a composite: kind, name and weight in percent (D10)."""
    shares = whole_percents((weights.similarity, weights.recency, weights.frequency))
    return list(zip(("dense", "recency", "frequency"), ("similarity", "recency", "frequency"), shares, strict=True))


def stack(shares: Iterable[tuple[str, float]], begin: float = 0.0) -> list[tuple[str, float, float]]:
    """The parts of a bar, one after the other: kind, start and width in percent."""
    parts, start = [], 100 * begin
    for kind, share in shares:
        width = 100 * min(max(share, 0.0), 1.0)
        parts.append((kind, start, width))
        start += width
    return parts


CONFIRMATIONS = {
    "remembered": "The memory is stored.",
    "known": "The namespace has this memory already; nothing is added.",
    "held": "The record waits for approval; until then no recall finds it.",
    "approved": "The record is stored as a memory.",
    "rejected": "The record is deleted; its source does not bring it back.",
    "edited": "The memory is changed.",
    "superseded": "The memory is replaced; this is the current one.",
    "reinstated": "The memory is current again.",
    "pinned": "The memory is pinned: it stays until somebody forgets or replaces it.",
    "unpinned": "The memory is no longer pinned.",
    "corrected": "The line is corrected at its source.",
    "undone": "The correction is undone; the earlier memory holds again.",
    "hidden": "The memory is hidden: no profile, agenda or list of changes shows it.",
    "shown": "The memory is shown again.",
    "forgotten": "The memory is deleted, with everything derived from it.",
    "session-forgotten": "The session is deleted, with everything derived from it.",
    "renamed": "The entity is renamed; the old name stays as an alias.",
    "aliased": "The alias is added.",
    "merged": "The two entities are one now.",
    "parted": "The chosen memories belong to a separate entity now.",
    "configured": "The settings are changed.",
    "trained": "The reranker is trained and in use.",
    "not-trained": "The reranker stays off; the reason is below.",
    "unlearned": "Everything the namespace learned is deleted; the feedback stays.",
}


def confirmation(done: str) -> str:
    """The sentence for the word in an address; empty for any other word."""
    return CONFIRMATIONS.get(done, "")


def redirect(session: Session, path: str, **state: object) -> RedirectResponse:
    """After a change: to a page that can be reloaded without making the change again."""
    return RedirectResponse(address(path, session.namespace, state), status_code=303)


def page_session(
    request: Request, caller: CurrentCaller, namespace: Annotated[str | None, Query(max_length=1_000)] = None
) -> Session:
    """Without a namespace in the address: `default`, or the first one the caller may see.

    Actions check the rights, so that the audit log names a refusal, which is shown within a namespace they may see.
    """
    service = service_of(request)
    session = Session(service, caller, _first(service, caller) if namespace is None else namespace)
    visible = namespace is None or caller.sees(namespace)
    request.state.page_session = session if visible else Session(service, caller, _first(service, caller))
    return session


def _first(service: Service, caller: Caller) -> str:
    return "default" if caller.sees("default") else (*service.namespaces(caller), *caller.namespaces)[0]


PageSession = Annotated[Session, Depends(page_session)]
"""The parameter by which an endpoint of a page gets its session."""
