"""`fivefold bench load`: many clients at once on a server."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, print_json, say
from fivefold.cli.bench import bench
from fivefold.cli.write import EmbedderOption
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold.bench.load import LoadReport


@bench.command()
def load(
    clients: Annotated[int, typer.Option(min=1, max=256, help="Clients at once, each a process")] = 8,
    seconds: Annotated[float, typer.Option(min=0.5, help="How long they ask and write")] = 60.0,
    mix: Annotated[
        str | None,
        typer.Option(help="Shares of recall, context, used, add, batch, get, list and forget, as in recall=6,add=3"),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A server that is running, instead of one of its own [key: env FIVEFOLD_KEY]")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="A store for the server, instead of a new file; what is written stays in it")
    ] = None,
    embedder: EmbedderOption = None,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes of the server; with more than one, one alone comes first")
    ] = 1,
    recipe: Annotated[str, typer.Option(help="Recipe of the recalls")] = "default",
    as_json: JsonOption = False,
) -> None:
    """Put clients on a server that read and write at once; times, errors, and whether a confirmed write was lost."""
    from fivefold.bench.load import Load, run_load
    from fivefold.bench.load_client import MIX, mix_of

    if url is not None and (store is not None or embedder is not None):
        raise InvalidInput("a server that is running has its own store and embedder; leave --store and --embedder out")
    if url is not None and not url.startswith(("http://", "https://")):
        raise InvalidInput(f"--url takes an address such as http://127.0.0.1:8484, not {url!r}")
    shares = MIX if mix is None else mix_of(mix)
    if url is not None and workers > 1:
        raise InvalidInput("a server that is running has its own workers; leave --workers out")
    key = os.environ.get("FIVEFOLD_KEY") if url else None
    request = Load(clients, seconds, shares, url, key, store, embedder, workers, recipe)
    result = run_load(request, progress=sys.stderr.isatty())
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result)
    if not result.ok:
        raise typer.Exit(1)


def _show(result: LoadReport) -> None:
    from fivefold.cli import terminal

    numbers = ("count", "/s", "p50", "p95", "p99", "most")
    terminal.table(
        ("asked by", "operation", *numbers, ""),
        [
            (
                item.who,
                item.operation,
                f"{item.count:,}",
                f"{item.per_second:,.1f}",
                f"{item.p50_ms:,.1f}",
                f"{item.p95_ms:,.1f}",
                f"{item.p99_ms:,.1f}",
                f"{item.most_ms:,.1f}",
                "ms",
            )
            for item in result.figures
        ],
        right=numbers,
    )
    terminal.line("")
    say(f"{result.requests:,} requests in {result.seconds:g} s, {result.per_second:,.1f} a second")
    say(f"{_mark(result.errors)} {result.errors} errors")
    say(f"{_mark(result.lost)} {result.written:,} memories confirmed and kept, {result.lost} of them lost")
    say(f"{_mark(result.returned)} {result.returned} forgotten memories came back")
    if result.too_late:
        say(f"  {result.too_late} refused as too late: feedback on a recall of a memory that was forgotten since")
    if result.memory_before_mb is not None and result.memory_after_mb is not None:
        grown = result.memory_after_mb - result.memory_before_mb
        say(f"  the server holds {result.memory_after_mb:,.0f} MB, {grown:+,.0f} MB since the load began")
    for failure in result.failures:
        sys.stderr.write(f"✗ {failure}\n")


def _mark(wrong: int) -> str:
    return "✗" if wrong else "✓"
