"""How a run and the difference between two look in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fivefold.bench import tables
from fivefold.cli import terminal
from fivefold.text.display import visible
from fivefold.values.serialize import Json

if TYPE_CHECKING:
    from fivefold.bench.diff import Change, Diff, Side

WIDE = 120
"""From here on headings stand on one line."""

FULL = 100
"""From here on all figures are shown; --json and --out always have all."""

MIDDLE = 80
"""Below this width only the main figures are shown."""

SPARED_FIRST = frozenset({"precision@5", "relevance"})
SPARED = frozenset({"recall@20", "all@10", "hit@5", "mrr", "p95 ms", *SPARED_FIRST})


def show_results(results: Json, out: Path | None, files: Sequence[Path]) -> None:
    """All tables, then what to know about them, then where the files are."""
    if results["by_session"]:
        terminal.line("by turn", "bold")
    _show_tables(results)
    if results["by_session"]:
        terminal.line("")
        terminal.line("by session, each at the place of its first turn", "bold")
        _show_tables(results["by_session"])
    terminal.line("")
    for note in tables.notes(results):
        terminal.hang("", note, "dim")
    if out is not None:
        terminal.line(f"{terminal.counted(len(files), 'file', 'files')} in {out}")


def _show_tables(results: Json) -> None:
    figure_table("recipe", *tables.overall(results))
    if results["measures"]:
        terminal.line("")
        terminal.line("measures of this benchmark alone", "bold")
        figure_table("recipe", *tables.reported(results))
    if compared := tables.five_stage(results):
        terminal.line("")
        terminal.line("as the five-stage document measures (F7)", "bold")
        figure_table("recipe", *compared, spared=frozenset())
    if len(results["categories"]) > 1:
        terminal.line("")
        terminal.line("recall@10 by category", "bold")
        figure_table("recipe", *tables.categories(results))
    if results["significance"]:
        terminal.line("")
        terminal.line("paired randomisation tests; difference above 0: the recipe is better", "bold")
        terminal.table(tables.COMPARED, tables.significance(results), right=tables.COMPARED[3:])
    if results["ablation"]:
        terminal.line("")
        terminal.line(f"what each part of {results['ablation']['recipe']} is worth; above 0: it helps", "bold")
        terminal.table(tables.WORTHS, tables.ablation(results), right=tables.WORTHS[1:])
        for part in results["ablation"]["parts"]:
            if part["kept"]:
                terminal.hang("", f"{part['part']} cannot go: {part['kept']}", "dim")


def figure_table(
    first: str, columns: Sequence[str], rows: Sequence[tables.Row], spared: frozenset[str] | None = None
) -> None:
    """Figures to the right, the best of each column bold, baselines dimmed. No figure is ever broken."""
    grid = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 1))
    grid.add_column(first, no_wrap=True)
    width = terminal.console.width
    if spared is None:
        spared = frozenset[str]() if width >= FULL else SPARED_FIRST if width >= MIDDLE else SPARED
    places = [place for place, column in enumerate(columns) if column not in spared]
    for place in places:
        grid.add_column(_heading(columns[place]), justify="right", no_wrap=True)
    for row in rows:
        base = "dim" if row.baseline else ""
        cells = [Text(row.cells[place], style="bold" if place in row.best else base) for place in places]
        grid.add_row(Text(visible(row.name), style=base), *cells)
    terminal.console.print(grid)


def _heading(column: str) -> str:
    """On two lines where there is little room."""
    if terminal.console.width >= WIDE:
        return column
    return column.replace("@", "\n@").replace(" ", "\n")


def show_diff(diff: Diff, limit: int) -> None:
    """The tally, then each changed question with both sides."""
    terminal.hang("A  ", diff.a)
    terminal.hang("B  ", diff.b)
    terminal.line(
        f"{diff.metric}: {terminal.counted(diff.questions, 'question', 'questions')}, {diff.better:,} better, "
        f"{diff.worse:,} worse, {diff.same:,} the same, mean {tables.signed(diff.mean)}"
    )
    for change in diff.changes[:limit]:
        _change(change)
    if len(diff.changes) > limit:
        terminal.line("")
        terminal.line(f"… and {len(diff.changes) - limit:,} more; --limit shows them", "dim")


def _change(change: Change) -> None:
    terminal.line("")
    terminal.hang("? ", change.text, "bold cyan")
    terminal.line(
        f"  {change.question} · {change.category} · {tables.share(change.a.score)} → {tables.share(change.b.score)}",
        "green" if change.change > 0 else "red",
    )
    for name, side in (("A", change.a), ("B", change.b)):
        terminal.hang("  ", f"{name}: {_places(side)}", "bold")
        for text in side.explained:
            first, *rest = text.split("\n")
            terminal.hang("     ", first, "green" if first.startswith("gold ") else "")
            for line in rest:
                terminal.hang("       ", line.strip() if line.startswith("#") else line, "dim", further=11)


def _places(side: Side) -> str:
    return "gold " + ", ".join(f"{id} {f'#{place}' if place else 'not found'}" for id, place in side.gold.items())
