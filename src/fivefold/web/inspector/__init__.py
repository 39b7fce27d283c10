"""The inspector: pages to ask, to see why, to compare recipes, and to browse and edit what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import FileResponse, RedirectResponse

from fivefold.service.session import Session
from fivefold.web.inspector import (
    compare,
    graph,
    learn,
    live,
    login,
    memories,
    overview,
    question,
    sessions,
    settings,
    why,
)
from fivefold.web.inspector.rendering import STATIC, PageSession, address, content_hash

__all__ = ["router"]


KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
YEAR_S = 31_536_000

router: APIRouter = APIRouter(include_in_schema=False)
for view in (overview, question, why, compare, memories, sessions, graph, live, learn, settings, login):
    router.include_router(view.router)


@router.get("/")
def start(session: PageSession, namespace: Annotated[str, Query(max_length=1_000)] = "") -> RedirectResponse:
    """To the namespace of the address, or to one that has memories."""
    return RedirectResponse(address("/ask", namespace or _filled(session), {}))


MAX_LOOKED_AT = 20
"""Namespaces that the start page looks for memories in."""


def _filled(session: Session) -> str | None:
    """The namespace that a page opens anyway if it has memories, or the first one that has."""
    for name in dict.fromkeys((session.namespace, *session.namespaces[:MAX_LOOKED_AT])):
        if name and session.caller.sees(name) and replace(session, namespace=name).engine().memories(limit=1).items:
            return name
    return session.namespace


@router.get("/static/{name}")
def file(name: str, v: str = "") -> FileResponse:
    """A static file. Browsers may cache it if the address has the hash of its contents."""
    known = {path.name: path for path in STATIC.iterdir() if path.suffix in KINDS}
    if name not in known:
        raise HTTPException(404, "there is no such file")
    cache = f"public, max-age={YEAR_S}" if v == content_hash(name) else "no-cache"
    return FileResponse(known[name], media_type=KINDS[known[name].suffix], headers={"Cache-Control": cache})
