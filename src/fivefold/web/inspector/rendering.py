"""Templates of the inspector. Everything is escaped; what a page needs of its visitor comes with every rendering."""

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

from fivefold import __version__
from fivefold.service.session import Session
from fivefold.text.display import visible
from fivefold.web.paths import quoted
from fivefold.web.problems import Problem

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"

VIEWS = ("ask", "why", "compare", "memories", "sessions", "graph", "learn", "settings")
"""The pages, in the order of the navigation; each has a path of its own."""

CHOSEN_FROM = 200
"""With more namespaces than that, one types the name."""


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The template as a whole page, or what htmx takes out of it."""
    visit: Session | None = getattr(request.state, "visit", None)
    shown = {"visit": visit, "namespace": visit.namespace if visit else "", "here": _view(request.url.path), **values}
    html = environment().get_template(template).render(shown)
    return HTMLResponse(html, status, headers={"Cache-Control": "no-store"})


def address(path: str, namespace: str | None, given: Mapping[str, object]) -> str:
    """A path with its state; what is empty is left out, and so is the namespace everyone starts in."""
    state = {name: value for name, value in given.items() if value is not None and value is not False and value != ""}
    if namespace not in (None, "", "default"):
        state = {"namespace": namespace, **state}
    return f"{path}?{urlencode(state)}" if state else path


def problem_page(request: Request, found: Problem) -> HTMLResponse:
    """What went wrong, for a person."""
    return page(request, "problem.html", found.status, problem=found)


def followed(request: Request, shown: HTMLResponse, here: str) -> HTMLResponse:
    """The browser's address follows what is shown, in its shortest form, also where only a part is fetched."""
    if is_fragment(request):
        shown.headers["HX-Push-Url"] = here
    return shown


def is_fragment(request: Request) -> bool:
    """Whether htmx asks, and takes a part of the page only."""
    return request.headers.get("hx-request") == "true"


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "shown": _shown,
        "segment": lambda text: quoted(str(text)),
        "day": day,
        "moment": moment,
        "iso": _iso,
        "pct": pct,
    }
    made.filters |= {"figure": figure, "ms": ms, "counted": count_of, "glimpse": glimpse, "stacked": stacked}
    made.globals |= {"to": to, "static": static, "views": VIEWS, "version": __version__, "chosen_from": CHOSEN_FROM}
    return made


@pass_context
def to(context: Context, path: str, **given: object) -> str:
    """In a template: an address that keeps the namespace."""
    return address(path, str(context.get("namespace") or ""), given)


def static(name: str) -> str:
    """A file of ours, by an address that changes with its contents."""
    return f"/static/{name}?v={stamp(name)}"


@cache
def stamp(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


def _view(path: str) -> str:
    first = path.strip("/").partition("/")[0]
    return first if first in VIEWS else ""


def _shown(text: object) -> str:
    """Stored text with what a reader would not see made visible, such as marks that turn the direction of writing."""
    return visible(str(text))


def glimpse(text: object, most: int = 160) -> str:
    flat = " ".join(_shown(text).split())
    return flat if len(flat) <= most else f"{flat[: most - 1].rstrip()}…"


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


def ms(value: float) -> str:
    return f"{value:.1f} ms" if value < 100 else f"{value:,.0f} ms"


def count_of(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def stacked(pieces: Iterable[tuple[str, float]]) -> list[tuple[str, float, float]]:
    """Shares laid end to end: kind, start and width in percent."""
    laid, at = [], 0.0
    for kind, share in pieces:
        wide = 100 * min(max(share, 0.0), 1.0)
        laid.append((kind, at, wide))
        at += wide
    return laid
