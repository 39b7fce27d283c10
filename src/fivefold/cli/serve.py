"""`fivefold serve`: REST, MCP and the inspector on one store."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from fivefold.cli.app import JsonOption, StoreOption, app, place, say
from fivefold.cli.options import with_groups
from fivefold.cli.write import EmbedderOption, ExtractorOption
from fivefold.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from fivefold.service.limits import Limits
    from fivefold.web.logs import Form, Level
    from fivefold.web.security import Sites
    from fivefold.web.worker import LogSettings

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class AddressOptions:
    """Where the server listens, and who may call it from a browser."""

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
        typer.Option("--allowed-host", help="A name this server is reached under, as by a proxy; repeatable"),
    ] = None


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """How much one request may hold, and how many may come."""

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
    """What the server reports about its work."""

    log_format: Annotated[str, typer.Option("--log-format", help="json, plain, or auto: plain in a terminal")] = "auto"
    log_level: Annotated[
        str, typer.Option("--log-level", help="What is logged to standard error: debug, info, warning or error")
    ] = "warning"
    log_contents: Annotated[
        bool, typer.Option("--log-contents", help="Log paths, bodies and the words of errors too; they are private")
    ] = False
    metrics_open: Annotated[bool, typer.Option("--metrics-open", help="Let anyone read /metrics without a key")] = False
    otel: Annotated[bool, typer.Option("--otel", help="Send OpenTelemetry spans to OTEL_EXPORTER_OTLP_ENDPOINT")] = (
        False
    )


@app.command()
@with_groups
def serve(
    *,
    address: AddressOptions,
    limits: LimitOptions,
    stop_after: Annotated[
        int, typer.Option("--stop-after", min=1, help="Seconds that requests under way have when the server is stopped")
    ] = 30,
    maintain_hours: Annotated[
        float, typer.Option("--maintain", min=0, help="Hours between rounds of maintenance; 0 for none")
    ] = 24.0,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Processes that answer, as many as there are cores to use")
    ] = 1,
    log: LogOptions,
    embedder: EmbedderOption = None,
    extractor: ExtractorOption = "rules",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve a store: REST under /v1, MCP under /mcp, and a page to look inside."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra("the server", "serve") from None
    from fivefold.web import logs
    from fivefold.web.connections import ConnectionLimits
    from fivefold.web.serving import serve_alone, serve_with_workers
    from fivefold.web.worker import ServeSettings

    logging = _log_settings(log)
    settings = ServeSettings(
        place(store),
        embedder,
        extractor,
        _limits(limits),
        maintain_hours * HOUR_S,
        _sites(address),
        logging,
        stop_after,
    )
    logs.start(logging.form, logging.level, logging.contents)
    most = ConnectionLimits(limits.max_connections, limits.max_address_connections)

    def tell(url: str) -> None:
        ready(url, as_json)

    if workers == 1:
        serve_alone(settings, address.host, address.port, most, tell)
    else:
        serve_with_workers(settings, workers, address.host, address.port, most, tell)


def _sites(address: AddressOptions) -> Sites:
    from fivefold.web.security import Sites

    return Sites((*(address.allowed_host or ()), address.host), _origins(address.allow_origin or ()))


def _limits(given: LimitOptions) -> Limits:
    from fivefold.service.limits import Limits

    return Limits(
        given.max_body,
        given.max_import,
        given.max_text,
        given.max_k,
        given.max_batch,
        queue=given.max_queue,
        per_minute=given.rate,
    )


def _log_settings(given: LogOptions) -> LogSettings:
    from fivefold.web.worker import LogSettings

    form, level = _form(given.log_format), _level(given.log_level)
    return LogSettings(form, level, given.log_contents, given.metrics_open, given.otel)


def ready(url: str, as_json: bool) -> None:
    """Print the server's address, once it answers."""
    if as_json:
        sys.stdout.write(json.dumps({"url": url}) + "\n")
    else:
        say(f"fivefold is at {url} (stop it with Ctrl+C)")
    sys.stdout.flush()


def _form(name: str) -> Form:
    from fivefold.web.logs import Form

    for form in get_args(Form):
        if name == form:
            known: Form = form
            return known
    raise InvalidInput(f"--log-format {name!r} is unknown; it is one of {', '.join(get_args(Form))}")


def _level(name: str) -> Level:
    from fivefold.web.logs import Level

    for level in get_args(Level):
        if name == level:
            known: Level = level
            return known
    raise InvalidInput(f"--log-level {name!r} is unknown; it is one of {', '.join(get_args(Level))}")


def _origins(origins: Sequence[str]) -> tuple[str, ...]:
    for origin in origins:
        scheme, _, rest = origin.partition("://")
        if scheme not in {"http", "https"} or not rest or "/" in rest or "*" in rest:
            raise InvalidInput(f"--allow-origin takes a site such as https://app.example.org, not {origin!r}")
    return tuple(origins)
