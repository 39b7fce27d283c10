"""Paths before decoding: a name in a path may contain any character, also a slash, percent-encoded."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send


class NameConvertor(Convertor[str]):
    """One segment of the path, decoded: `{id:name}`. Bytes that are no UTF-8 stay, and are refused later."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value, errors="surrogateescape")

    def to_string(self, value: str) -> str:
        return quoted(value)


register_url_convertor("name", NameConvertor())


class RawPaths:
    """Routes match the path before it is decoded, so that an encoded slash does not end a segment."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (raw := scope.get("raw_path")):
            scope = {**scope, "path": raw.decode("latin-1").partition("?")[0]}
        await self.app(scope, receive, send)


def quoted(name: str) -> str:
    """A name as one segment of a path."""
    dots = name.replace(".", "%2E") if name.strip(".") == "" else None
    return dots or quote(name, safe="", errors="surrogateescape")
