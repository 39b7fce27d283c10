"""`fivefold recipes verify`: a line for each golden number."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from fivefold.bench.golden import Checked
from fivefold.cli.terminal import counted, hang

ID = 4
"""Columns of the longest id and a space."""


def row(checked: Checked) -> None:
    """The id, whether it holds, what it is, what is expected and what is found."""
    mark = Text("✓" if checked.ok else "✗", style="green" if checked.ok else "bold red")
    found = f"{figure(checked.expected)} expected, {figure(checked.found)} found"
    hang(f"{checked.id:<{ID}}", Text.assemble(mark, " ", checked.what, ": ", (found, "bold")), further=ID + 2)


def summary(rows: Sequence[Checked]) -> None:
    """How many requirements and numbers there are, and which of them fail."""
    ids = dict.fromkeys(checked.id for checked in rows)
    wrong = dict.fromkeys(checked.id for checked in rows if not checked.ok)
    ends = f"not as they should be: {', '.join(wrong)}" if wrong else "all as they should be"
    hang(
        "", f"{counted(len(rows), 'number', 'numbers')} of {len(ids)} requirements, {ends}", "red" if wrong else "green"
    )


def figure(value: float | int | str | bool) -> str:
    """A number with six digits at most, a yes or a no, or the text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
