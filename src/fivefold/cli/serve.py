"""`fivefold serve`: REST, MCP and the inspector on one store."""

from __future__ import annotations

import gc
import json
import os
import sys
from dataclasses import dataclass
from typing import Annotated, get_args

import typer

from fivefold.cli.app import JsonOption, StoreOption, app, place
from fivefold.cli.output import complain, say
from fivefold.cli.write import EmbedderOption, ExtractorOption
from fivefold.errors import InvalidInput, MissingExtra

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class AddressOptions:
    """Options for the server's address, and the browser pages that may call it."""

    host: Annotated[str, typer.Option("--host", help="Address to listen on; other than loopback it needs keys")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for any free one")] = 8484
    allow_origin: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", help="Another site whose pages may call this server; repeatable"),
    ] = None
    allowed_host: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", help="Another host name of this server, for example at a proxy; repeatable"),
    ] = None


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """Limits on the size of one request, and on the number of requests."""

    max_body: Annotated[int, typer.Option("--max-body", min=1_000, help="Bytes in one body")] = 10_000_000
    max_import: Annotated[int, typer.Option("--max-import", min=1_000, help="Bytes in one import")] = 100_000_000
    max_text: Annotated[int, typer.Option("--max-text", min=1, help="Characters in one text")] = 1_000_000
    max_k: Annotated[int, typer.Option("--max-k", min=1, max=1_000, help="Memories in one recall")] = 100
    max_batch: Annotated[int, typer.Option("--max-batch", min=1, help="Records in one batch")] = 1_000
    max_queue: Annotated[
        int, typer.Option("--max-queue", min=1, help="Records of one namespace that may wait to be stored")
    ] = 10_000
    rate: Annotated[int, typer.Option("--rate", min=0, help="Requests a minute of one key; 0 for no limit")] = 1_200
    max_connections: Annotated[int, typer.Option("--max-connections", min=1, help="Connections open at once")] = 1_000
    max_address_connections: Annotated[
        int, typer.Option("--max-address-connections", min=1, help="Connections open at once of one address")
    ] = 250


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Options for the server's reports about its work."""

    log_format: Annotated[str, typer.Option("--log-format", help="json, plain, or auto: plain in a terminal")] = "auto"
    log_level: Annotated[
        str,
        typer.Option(
            "--log-level", help="Minimum level that is logged to standard error: debug, info, warning or error"
        ),
    ] = "warning"
    log_contents: Annotated[
        bool, typer.Option("--log-contents", help="Also log paths, bodies and error messages, which are private")
    ] = False
    metrics_open: Annotated[bool, typer.Option("--metrics-open", help="Let anyone read /metrics without a key")] = False
    otel: Annotated[bool, typer.Option("--otel", help="Send OpenTelemetry spans to OTEL_EXPORTER_OTLP_ENDPOINT")] = (
        False
    )


@app.command()
def serve(
    *,
    address: AddressOptions,
    limits: LimitOptions,
    stop_after: Annotated[
        int, typer.Option("--stop-after", min=1, help="Seconds for running requests to finish when the server stops")
    ] = 30,
    maintain_hours: Annotated[
        float, typer.Option("--maintain", min=0, help="Hours between rounds of maintenance; 0 for none")
    ] = 24.0,
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, max=64, help="Number of processes that answer, for example one for each core"),
    ] = 1,
    log: LogOptions,
    embedder: EmbedderOption = None,
    extractor: ExtractorOption = "rules",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve a store: REST under /v1, MCP under /mcp, and pages to look inside."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra("the server", "serve") from None
    from fivefold.service.limits import Limits
    from fivefold.values.validate import checked_choice
    from fivefold.web.connections import ConnectionLimits
    from fivefold.web.request_log import Form, Level
    from fivefold.web.request_log import start as start_log
    from fivefold.web.security import Sites
    from fivefold.web.serving import serve_alone, serve_with_workers
    from fivefold.web.workers import LogSettings, ServeSettings

    form = checked_choice(log.log_format, get_args(Form), "--log-format")
    level = checked_choice(log.log_level, get_args(Level), "--log-level")
    for origin in address.allow_origin or ():
        scheme, _, rest = origin.partition("://")
        if scheme not in {"http", "https"} or not rest or "/" in rest or "*" in rest:
            raise InvalidInput(f"--allow-origin takes a site such as https://app.example.org, not {origin!r}")
    settings = ServeSettings(
        place(store),
        embedder,
        extractor,
        Limits(
            *(limits.max_body, limits.max_import, limits.max_text, limits.max_k, limits.max_batch),
            queue=limits.max_queue,
            per_minute=limits.rate,
        ),
        maintain_hours * HOUR_S,
        Sites((*(address.allowed_host or ()), address.host), tuple(address.allow_origin or ())),
        LogSettings(form, level, log.log_contents, log.metrics_open, log.otel),
        stop_after,
    )
    start_log(form, level, log.log_contents)
    most = ConnectionLimits(limits.max_connections, limits.max_address_connections)

    def tell(url: str) -> None:
        ready(url, as_json)

    if workers == 1:
        serve_alone(settings, address.host, address.port, most, tell)
    else:
        serve_with_workers(settings, workers, address.host, address.port, most, tell)


def ready(url: str, as_json: bool) -> None:
    """Print the server's address, once it answers."""
    if as_json:
        sys.stdout.write(json.dumps({"url": url}) + "\n")
    else:
        say(f"fivefold is at {url} (stop it with Ctrl+C)")
    sys.stdout.flush()


# `fivefold mcp`: a store as tools for a model, over standard streams or HTTP.

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
    """Give a model tools for a store (MCP), over standard streams. A key in FIVEFOLD_KEY limits its rights.

    With --http, --json prints the address once it listens.
    """
    from fivefold.values.validate import checked_name

    if (as_json or (host, port) != (HOST, PORT)) and not http:
        raise InvalidInput("--host, --port and --json need --http; without it a client speaks over standard streams")
    if http and (namespace is not None or all_namespaces):
        raise InvalidInput("--namespace and --all-namespaces have no effect over HTTP: the API key decides")
    if http and structured:
        raise InvalidInput("over HTTP a client asks for structured values itself, at /mcp?structured=1")
    if namespace is not None:
        checked_name(namespace, "namespace")
    _load()
    location = place(store)
    if http:
        _over_http(location, host, port, embedder, as_json)
    else:
        from fivefold.mcp.server import StdioTransport, serve

        if sys.stdin.isatty():
            complain("an MCP client is expected on standard input; Ctrl+D ends it, docs/mcp.md shows how to set one up")
        key = os.environ.get("FIVEFOLD_KEY") or None
        serve(StdioTransport(location, namespace, all_namespaces, key, embedder, structured))


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
    from fivefold.service.service import open_service
    from fivefold.web import request_log as logs
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
