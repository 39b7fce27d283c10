"""Lines, wrapped text and tables for a terminal, and plain text when piped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fivefold.text.display import visible
from fivefold.values.reports import Page

PIPED = 1_000_000
"""Columns when the output goes to a program: lines are as long as they are."""

NARROWEST = 20

QUOTED = 8
"""Columns before each further line of a memory: deeper than any line of ours below it, so that none can be forged."""


def _console() -> Console:
    """The terminal, as wide as it or COLUMNS says; NO_COLOR takes every style away."""
    columns = os.environ.get("COLUMNS", "")
    width = max(NARROWEST, int(columns)) if columns.isdecimal() else None if sys.stdout.isatty() else PIPED
    colour = None if os.environ.get("NO_COLOR") else "auto"
    return Console(highlight=False, markup=False, emoji=False, width=width, color_system=colour)  # type: ignore[arg-type]


console = _console()


def line(text: str | Text, style: str = "") -> None:
    """One line that stays one, so that it can be copied."""
    console.print(Text(visible(text)) if isinstance(text, str) else text, style=style, soft_wrap=True)


def hang(lead: str, text: str | Text, style: str = "", further: int | None = None) -> None:
    """`text` after `lead`, wrapped to the terminal, its further lines indented as far as its first."""
    body = Text(visible(text)) if isinstance(text, str) else text
    indent = len(lead) if further is None else further
    room = max(NARROWEST, console.width - max(len(lead), indent))
    for number, part in enumerate(body.wrap(console, room, overflow="fold", tab_size=4)):
        part.rstrip()
        line(Text(" " * indent if number else lead, end="").append_text(part), style)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> None:
    """Rows under `columns`, numbers in those of `right`. The widest column gives way; without names, no header."""
    grid = Table(header_style="bold", box=None, pad_edge=False, show_header=any(columns))
    for column in columns:
        if column and column in right:
            grid.add_column(column, justify="right", no_wrap=True)
        else:
            grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(visible(str(cell))) for cell in row))
    console.print(grid)


def day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "–"


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def next_page(page: Page[Any]) -> None:
    """How to see the rest of a list, if there is any."""
    if page.cursor is not None:
        hang("", f"more with --cursor {page.cursor}", "dim")
