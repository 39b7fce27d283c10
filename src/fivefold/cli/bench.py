"""`fivefold bench`: measurements as commands. `speed` is here, the comparisons of recipes in `benchmark`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli import benchmark, everyday
from fivefold.cli.app import JsonOption, app, print_json
from fivefold.cli.block import block
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold.bench.measures import Fit, Measure

bench = typer.Typer(help="Measure fivefold on this machine.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench, name="bench")

HELD_FROM = 1_000
"""From this many memories on a figure has a bar; below, fixed costs dominate."""


@bench.callback()
def _bench() -> None:
    """Measure fivefold on this machine."""


@bench.command()
def speed(
    sizes: Annotated[str, typer.Option(help="Memories in the namespace, comma separated")] = "1000,10000,100000",
    rounds: Annotated[int, typer.Option(help="Recalls measured at each size")] = 200,
    dsn: Annotated[
        str | None, typer.Option(help="Measure a PostgreSQL server instead, in a schema of its own, dropped afterwards")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw recall times by memories into this file, .svg or .png")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure writes per second, recall times and bytes per memory, compared with plain sqlite-vec or pgvector."""
    counts = counts_of(sizes)
    if rounds < 1:
        raise InvalidInput("sizes and rounds must be at least 1")
    if plot is not None:
        from fivefold.bench.speed_plot import require_plot

        require_plot(plot)
    found = _measure(dsn, counts, rounds)
    if as_json:
        print_json([item.to_dict() for item in found])
    else:
        _show(found)
        _show_extrapolated(found)
    if plot is not None:
        from fivefold.bench.speed_plot import draw_recall_times

        draw_recall_times(plot, found, "SQLite" if dsn is None else "PostgreSQL")


def _measure(dsn: str | None, counts: tuple[int, ...], rounds: int) -> list[Measure]:
    """All figures of a new file or of a server, and what follows from them for ten million memories."""
    from fivefold.bench.extrapolation import extrapolate

    progress = sys.stderr.isatty()
    if dsn is None:
        from fivefold.bench.speed import measure

        measured = measure(counts, rounds, progress)
    else:
        from fivefold.bench.server import measure_server

        measured = measure_server(dsn, counts, rounds, progress)
    found = [_held(item, max(counts)) for item in measured]
    return [*found, *extrapolate(found)]


@bench.command()
def hooks(
    memories: Annotated[int, typer.Option(min=1, help="Memories in the namespace")] = 10_000,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of each agent")] = 60,
    as_json: JsonOption = False,
) -> None:
    """Measure what the hooks of coding agents add to a turn: middle and tail of each hook's time."""
    from fivefold.bench.hooks import measure_hooks

    found = measure_hooks(memories, rounds, sys.stderr.isatty())
    if as_json:
        print_json([item.to_dict() for item in found])
    else:
        _show(found)


def counts_of(sizes: str) -> tuple[int, ...]:
    """Numbers of memories, separated by commas."""
    try:
        counts = tuple(int(part.replace("_", "")) for part in sizes.split(","))
    except ValueError:
        raise InvalidInput(f"sizes must be whole numbers separated by commas, not {sizes!r}") from None
    if min(counts) < 1:
        raise InvalidInput("sizes and rounds must be at least 1")
    return counts


COMPARISONS = (
    everyday.everyday,
    benchmark.locomo,
    benchmark.longmemeval,
    benchmark.beam,
    benchmark.personamem,
    benchmark.jsonl,
)
for compare in COMPARISONS:
    bench.command(cls=benchmark.OptionalAblate)(compare)
bench.command()(block)
bench.command()(benchmark.diff)


def _held(item: Measure, largest: int) -> Measure:
    """What is measured without memories, such as a model, has a bar when any size has one."""
    return replace(item, bar="", ok=None) if (item.memories or largest) < HELD_FROM else item


def _show(found: list[Measure]) -> None:
    """Rates and sizes have one value; times have a middle and a tail."""
    from fivefold.cli import terminal

    values = [item for item in found if item.p95 is None and item.fit is None]
    times = [item for item in found if item.p95 is not None]
    right = ("memories", "value", "p50", "p95", "p99")
    terminal.table(
        ("measure", "memories", "value", "", "bar", ""),
        [(item.what, _count(item), f"{item.p50:,.2f}", item.unit, item.bar, _mark(item)) for item in values],
        right,
    )
    terminal.line("")
    terminal.table(
        ("measure", "memories", "p50", "p95", "p99", "", "bar", ""),
        [(item.what, _count(item), *_spread(item), item.unit, item.bar, _mark(item)) for item in times],
        right,
    )


def _show_extrapolated(found: list[Measure]) -> None:
    """What no size measured, in a table of its own with how each figure came about."""
    from fivefold.cli import terminal

    rows = [(item, item.fit) for item in found if item.fit is not None]
    if not rows:
        return
    terminal.line("")
    terminal.table(
        ("measure", "memories", "p50", "slope", "last slope", "p99", "slope", "last slope", "", "fitted to"),
        [(item.what, _count(item), *_fitted(item, fit), item.unit, _sizes(fit)) for item, fit in rows],
        ("memories", "p50", "p99", "slope", "last slope"),
    )
    terminal.hang("", "slope: of log time by log size, a line by least squares; last slope: between the last two sizes")


def _fitted(item: Measure, fit: Fit) -> tuple[str, ...]:
    slopes = (fit.slope_p50, fit.last_slope_p50, fit.slope_p99, fit.last_slope_p99)
    middle, middle_last, tail, tail_last = (f"{slope:.2f}" for slope in slopes)
    return f"{item.p50:,.2f}", middle, middle_last, f"{item.p99:,.2f}", tail, tail_last


def _sizes(fit: Fit) -> str:
    return ", ".join(f"{size:,}" for size in fit.sizes)


def _spread(item: Measure) -> tuple[str, ...]:
    return tuple(f"{value:,.2f}" for value in (item.p50, item.p95, item.p99) if value is not None)


def _count(item: Measure) -> str:
    return f"{item.memories:,}" if item.memories else ""


def _mark(item: Measure) -> str:
    return "" if item.ok is None or not item.bar else "✓" if item.ok else "✗"
