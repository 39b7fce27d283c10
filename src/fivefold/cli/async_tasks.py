"""`fivefold bench async`: many tasks of one event loop on one store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, print_json, say
from fivefold.cli.bench import bench
from fivefold.cli.write import EmbedderOption

if TYPE_CHECKING:
    from fivefold.bench.async_tasks import AsyncReport


@bench.command("async")
def async_tasks(
    tasks: Annotated[int, typer.Option(min=1, max=10_000, help="Tasks at once")] = 200,
    seconds: Annotated[float, typer.Option(min=0.5, help="How long they ask and write")] = 60.0,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let many tasks of one event loop read and write; times, lost writes, and how long the loop was blocked."""
    from fivefold.bench.async_tasks import measure_async

    result = measure_async(tasks, seconds, embedder, progress=sys.stderr.isatty())
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result)
    if not result.ok:
        raise typer.Exit(1)


def _show(result: AsyncReport) -> None:
    from fivefold.bench.async_tasks import ALLOWED_MS
    from fivefold.cli import terminal

    numbers = ("count", "/s", "p50", "p95", "most")
    terminal.table(
        ("call", *numbers, ""),
        [
            (
                item.call,
                f"{item.count:,}",
                f"{item.per_second:,.1f}",
                f"{item.p50_ms:,.1f}",
                f"{item.p95_ms:,.1f}",
                f"{item.most_ms:,.1f}",
                "ms",
            )
            for item in result.figures
        ],
        right=numbers,
    )
    terminal.line("")
    say(f"{_mark(not result.errors)} {result.tasks} tasks for {result.seconds:g} s, {result.errors} errors")
    say(f"{_mark(not result.lost)} {result.written:,} memories confirmed, {result.lost} of them lost")
    say(
        f"{_mark(result.blocked_most_ms <= ALLOWED_MS)} the event loop was blocked for at most "
        f"{result.blocked_most_ms:,.1f} ms (≤ {ALLOWED_MS:g}), {result.blocked_p99_ms:,.1f} ms at the 99th percentile"
    )
    say(f"  before the tasks began, this machine let the loop wait for up to {result.idle_most_ms:,.1f} ms")
    for failure in result.failures:
        sys.stderr.write(f"✗ {failure}\n")


def _mark(ok: bool) -> str:
    return "✓" if ok else "✗"
