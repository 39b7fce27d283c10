"""Signing in: for a key, a browser gets a cookie that scripts cannot read, other sites cannot send, REST ignores."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from fivefold.values.access import Unauthorized
from fivefold.web.auth import COOKIE, address_of, service_of
from fivefold.web.inspector.rendering import page

router: APIRouter = APIRouter()

COOKIE_S = 30 * 86_400
"""Time that a browser stays signed in, as long as the server runs."""


@router.get("/login")
def login(request: Request, next: str = "/ask") -> Response:
    return page(request, "login.html", next=local_path(next), error="", keys=service_of(request).keyring.any())


@router.post("/login")
def sign_in(request: Request, key: Annotated[str, Form()] = "", next: Annotated[str, Form()] = "/ask") -> Response:
    """The key is checked first; after a wrong one the form comes again, as often as the rate allows."""
    service = service_of(request)
    service.rates.take(f"address {address_of(request)}")
    try:
        service.caller(key.strip() or None, local=False)
    except Unauthorized as error:
        return page(request, "login.html", 401, next=local_path(next), error=str(error), keys=True)
    response = RedirectResponse(local_path(next), 303)
    secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    token = service.sign_ins.begin(key.strip())
    response.set_cookie(COOKIE, token, max_age=COOKIE_S, httponly=True, samesite="strict", secure=secure)
    return response


@router.post("/logout")
def sign_out(request: Request) -> Response:
    service_of(request).sign_ins.end(request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def local_path(path: str) -> str:
    """`path` if it is one of this server, else /ask: a link to /login cannot send anyone to another site."""
    plain = path.isprintable() and path.isascii() and "\\" not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else "/ask"
