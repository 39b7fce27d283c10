"""`fivefold bench`: measurements as commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, app, print_json
from fivefold.errors import InvalidInput

bench = typer.Typer(help="Measure fivefold on this machine.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench, name="bench")


@bench.callback()
def _bench() -> None:
    """Measure fivefold on this machine."""


@bench.command()
def speed(
    sizes: Annotated[str, typer.Option(help="Memories in the namespace, comma separated")] = "1000,100000",
    rounds: Annotated[int, typer.Option(help="Recalls measured at each size")] = 200,
    as_json: JsonOption = False,
) -> None:
    """Writes a second, recall times and bytes a memory, beside plain sqlite-vec."""
    try:
        counts = [int(part.replace("_", "")) for part in sizes.split(",")]
    except ValueError:
        raise InvalidInput(f"sizes must be whole numbers separated by commas, not {sizes!r}") from None
    if not counts or min(counts) < 1 or rounds < 1:
        raise InvalidInput("sizes and rounds must be at least 1")
    from fivefold.bench.speed import measure

    found = list(measure(counts, rounds, progress=sys.stderr.isatty()))
    if as_json:
        print_json([item.to_dict() for item in found])
        return
    from fivefold.cli import show

    rows = [
        (
            item.what, f"{item.memories:,}" if item.memories else "", f"{item.p50:,.2f}",
            "" if item.p95 is None else f"{item.p95:,.2f}", item.unit, item.bar,
            "" if item.ok is None or not item.bar else ("✓" if item.ok else "✗"),
        )
        for item in found
    ]  # fmt: skip
    show.table(None, ("measure", "memories", "p50", "p95", "", "bar", ""), rows)
