"""The templates of the inspector. Everything is escaped; every page gets the session of its request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.requests import Request
from starlette.responses import HTMLResponse

from fivefold.service.problems import Problem
from fivefold.service.session import Session
from fivefold.text.display import visible
from fivefold.values.explain import NOT_FOUND, percent, shown_score
from fivefold.values.memory import WAYS
from fivefold.values.query import Weights, whole_percents
from fivefold.values.shorten import shorten as shorten_text
from fivefold.values.times import utc_now
from fivefold.version import VERSION
from fivefold.web.inspector import shown_text
from fivefold.web.paths import quoted

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"

VIEWS = ("ask", "why", "compare", "memories", "sessions", "graph", "live", "learn", "settings")
"""The pages, in the order of the navigation; each has a path of its own."""

SHOWN_TEXT = (
    shown_text.is_long,
    shown_text.is_inline,
    shown_text.line_of,
    shown_text.passage_of,
    shown_text.around_passage,
    shown_text.question_of,
    shown_text.met_by,
    shown_text.meets,
)
"""How templates show memories."""

MOST_CHOICES = 200
"""With more namespaces than this, a text field replaces the list."""


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The template as a whole page, or what htmx takes out of it."""
    session: Session | None = getattr(request.state, "page_session", None)
    namespace = session.namespace if session else ""
    shared = {"session": session, "namespace": namespace, "here": _view(request.url.path)}
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
    """The browser shows the address of what it sees, in its shortest form, also where it gets only a part."""
    if is_fragment(request):
        response.headers["HX-Push-Url"] = here
    return response


def is_fragment(request: Request) -> bool:
    """Whether htmx asks; it takes only a part of the page."""
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
    environment.filters |= {
        "visible": lambda text: visible(str(text)),
        "segment": lambda text: quoted(str(text)),
        "iso": _iso,
        **{
            format.__name__: format
            for format in (day, moment, pct, percent, figure, score, ms, plural, shorten, stack, signals)
        },
        **{shown.__name__: shown for shown in SHOWN_TEXT},
    }
    environment.globals |= {"to": to, "static": static, "views": VIEWS, "version": VERSION}
    environment.globals["not_found"] = NOT_FOUND
    environment.globals["ways"] = WAYS
    environment.globals["most_choices"] = MOST_CHOICES
    environment.globals["now"] = utc_now
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


def _view(path: str) -> str:
    first = path.strip("/").partition("/")[0]
    return first if first in VIEWS else ""


def shorten(text: object, most: int = 160) -> str:
    """Stored text on one line; marks that a reader would not see, such as those of direction, become visible."""
    return shorten_text(visible(str(text)), most)


def day(value: datetime) -> str:
    return f"{value.day} {value:%b} {value.year}"


def moment(value: datetime) -> str:
    return f"{day(value)}, {value:%H:%M} UTC"


def _iso(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


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
