"""Signing in: who shows a key gets a cookie that no script can read, no other site can send, and REST does not take."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from fivefold.values.access import Unauthorized
from fivefold.web.auth import COOKIE, address_of, service_of
from fivefold.web.inspector.rendering import page

router = APIRouter()

KEPT_S = 30 * 86_400
"""For how long a browser stays signed in, as long as the server runs."""


@router.get("/login")
def login(request: Request, next: str = "/ask") -> Response:
    return page(request, "login.html", next=local(next), refused="", keys=service_of(request).keyring.any())


@router.post("/login")
def sign_in(request: Request, key: Annotated[str, Form()] = "", next: Annotated[str, Form()] = "/ask") -> Response:
    """The key is tried before it is kept; a wrong one is asked for again, as often as the rate allows."""
    service = service_of(request)
    service.rates.take(f"address {address_of(request)}")
    try:
        service.caller(key.strip() or None, local=False)
    except Unauthorized as error:
        return page(request, "login.html", 401, next=local(next), refused=str(error), keys=True)
    answer = RedirectResponse(local(next), 303)
    secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    token = service.signed_in.begin(key.strip())
    answer.set_cookie(COOKIE, token, max_age=KEPT_S, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/logout")
def sign_out(request: Request) -> Response:
    service_of(request).signed_in.end(request.cookies.get(COOKIE, ""))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def local(path: str) -> str:
    """`path` if it leads to a page of ours, else the first page: nobody is sent elsewhere by a link to /login."""
    plain = path.isprintable() and path.isascii() and "\\" not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else "/ask"
