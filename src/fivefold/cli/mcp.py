"""`fivefold mcp`: a store as tools for a model, over standard streams or HTTP."""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, StoreOption, app, complain, place
from fivefold.cli.write import EmbedderOption
from fivefold.errors import InvalidInput, MissingExtra

HOST, PORT = "127.0.0.1", 8485
STOP_S = 30


@app.command()
def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP at /mcp instead of standard streams")] = False,
    host: Annotated[str, typer.Option("--host", help="With --http: address; other than loopback it needs keys")] = HOST,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="With --http: port; 0 for any free one")] = PORT,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", help="Namespace the tools work on [default: default]", show_default=False),
    ] = None,
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", help="Let the model name other namespaces as well")
    ] = False,
    structured: Annotated[
        bool, typer.Option("--structured", help="Send each result as a structured value too; costs tokens")
    ] = False,
    embedder: EmbedderOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve a store to a model as tools (MCP), over standard streams; with a key in FIVEFOLD_KEY as that key may.

    With --http, --json prints the address once it listens.
    """
    _check(http, as_json or (host, port) != (HOST, PORT), namespace, all_namespaces, structured)
    _load()
    location = place(store)
    if http:
        _over_http(location, host, port, embedder, as_json)
    else:
        from fivefold.mcp.stdio import StdioTransport, serve

        if sys.stdin.isatty():
            complain("an MCP client is expected on standard input; Ctrl+D ends it, docs/mcp.md shows how to set one up")
        key = os.environ.get("FIVEFOLD_KEY") or None
        serve(StdioTransport(location, namespace, all_namespaces, key, embedder, structured))


def _check(http: bool, listens: bool, namespace: str | None, all_namespaces: bool, structured: bool) -> None:
    """Options that do not go together; `listens` is whether one was given that only a server has."""
    from fivefold.values.validate import checked_name

    if listens and not http:
        raise InvalidInput("--host, --port and --json go with --http; without it a client speaks over standard streams")
    if http and (namespace is not None or all_namespaces):
        raise InvalidInput("over HTTP a key says which namespaces it reaches; leave --namespace and the like out")
    if http and structured:
        raise InvalidInput("over HTTP a client asks for structured values itself, at /mcp?structured=1")
    if namespace is not None:
        checked_name(namespace, "namespace")


def _load() -> None:
    """The SDK defines thousands of classes, none of them garbage; not looking for any greets the client earlier."""
    gc.disable()
    try:
        import mcp.server.lowlevel  # noqa: F401
    except ImportError:
        raise MissingExtra("MCP", "mcp") from None
    finally:
        gc.freeze()
        gc.enable()


def _over_http(location: str, host: str, port: int, embedder: str | None, as_json: bool) -> None:
    """The server of `fivefold serve` without its pages."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra("the server", "serve") from None
    from fivefold.cli.serve import ready
    from fivefold.service.service import open_service
    from fivefold.web import logs
    from fivefold.web.app import create_app
    from fivefold.web.security import Sites
    from fivefold.web.server import until_stopped

    logs.start("auto", "warning")
    service = open_service(location, embedder, writes_queue=True)
    try:
        application = create_app(service, pages=False, sites=Sites((host,)))
        until_stopped(service, application, host, port, STOP_S, lambda url: ready(f"{url}/mcp", as_json))
    finally:
        service.close()
