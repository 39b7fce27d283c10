"""What a run over blocks comes to: a row for each dataset, budget and contestant, as tables and as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fivefold.bench.plots import INK, looks_of, save, style
from fivefold.bench.result_folder import BLOCK_PLOTS, TABLE
from fivefold.bench.tables import Row, markdown_table, share
from fivefold.values.serialize import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIVEFOLD = "fivefold"
BASELINES = ("dense", "bm25", "sessions")
"""Contestants that pack plain lines, without the engine."""

COLUMNS = ("budget", "any", "all", "share", "tokens")
PANEL_WIDTH = 4.2
"""Inches of a dataset's panel in the plot."""


@dataclass(frozen=True, slots=True)
class BlockRow(Value):
    """The blocks of one contestant with one budget, over all questions of a dataset."""

    dataset: str
    recipe: str
    budget: int
    questions: int
    any: float
    """The share of questions with at least one of their gold memories in the block."""
    all: float
    """The share of questions with every one of them in it."""
    share: float
    """The mean share of a question's gold memories that is in the block."""
    tokens: float
    """Tokens that a block takes, on average."""

    @classmethod
    def of(cls, dataset: str, recipe: str, budget: int, blocks: Sequence[tuple[float, int]]) -> BlockRow:
        """`blocks` are pairs of the share of the gold in a block and its tokens."""
        count = len(blocks)
        return cls(
            dataset,
            recipe,
            budget,
            count,
            any=round(sum(part > 0 for part, _ in blocks) / count, 6),
            all=round(sum(part == 1 for part, _ in blocks) / count, 6),
            share=round(sum(part for part, _ in blocks) / count, 6),
            tokens=round(sum(used for _, used in blocks) / count, 1),
        )


@dataclass(frozen=True, slots=True)
class BlockReport(Value):
    """All rows of a run, by dataset, budget and contestant."""

    embedder: str
    fivefold: str
    budgets: tuple[int, ...]
    rows: tuple[BlockRow, ...]
    notes: tuple[str, ...]

    def by_dataset(self) -> dict[str, list[BlockRow]]:
        found: dict[str, list[BlockRow]] = {}
        for row in self.rows:
            found.setdefault(row.dataset, []).append(row)
        return found


def title(rows: Sequence[BlockRow]) -> str:
    """A dataset and its number of questions."""
    count = rows[0].questions
    return f"{rows[0].dataset}, {count:,} {'question' if count == 1 else 'questions'}"


def table_rows(rows: Sequence[BlockRow]) -> list[Row]:
    """The rows of a dataset as text; the best shares of each budget are marked."""
    return [
        Row(
            row.recipe,
            (f"{row.budget:,}", *map(share, _shares(row)), f"{row.tokens:,.0f}"),
            frozenset(_best(row, [other for other in rows if other.budget == row.budget])),
            row.recipe in BASELINES,
        )
        for row in rows
    ]


def _best(row: BlockRow, level: Sequence[BlockRow]) -> list[int]:
    """The columns in which the row is the best of several with its budget."""
    highest = [max(values) for values in zip(*map(_shares, level), strict=True)]
    return [place for place, value in enumerate(_shares(row), 1) if len(level) > 1 and value >= highest[place - 1]]


def _shares(row: BlockRow) -> tuple[float, float, float]:
    return row.any, row.all, row.share


def markdown(report: BlockReport) -> str:
    """A table for each dataset as one page."""
    lines = ["# Evidence in the block", ""]
    for rows in report.by_dataset().values():
        lines += [f"## {title(rows)}", "", *markdown_table(("recipe", *COLUMNS), table_rows(rows)), ""]
    return "\n".join([*lines, *(f"- {note}" for note in (f"embedder {report.embedder}", *report.notes))]) + "\n"


def write_files(report: BlockReport, folder: Path) -> None:
    (folder / TABLE).write_text(markdown(report), "utf-8")
    draw_evidence(report, folder / BLOCK_PLOTS[0])


def draw_evidence(report: BlockReport, path: Path) -> None:
    """A panel for each dataset, a line for each contestant: questions with all of their evidence, by budget."""
    from matplotlib.figure import Figure

    panels = report.by_dataset()
    figure = Figure(figsize=(max(6.4, PANEL_WIDTH * len(panels)), 4.6), layout="constrained")
    drawn = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, rows in zip(drawn, panels.values(), strict=True):
        _panel(axes, rows, report.budgets)
    drawn[0].set_ylabel("questions with all of their evidence in the block", color=INK)
    handles, labels = drawn[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    save(figure, path)


def _panel(axes: Axes, rows: Sequence[BlockRow], budgets: Sequence[int]) -> None:
    style(axes, title(rows))
    names = list(dict.fromkeys(row.recipe for row in rows))
    looks = looks_of(names)
    for name in names:
        axes.plot(budgets, [row.all for row in rows if row.recipe == name], label=name, markersize=5, **looks[name])
    axes.set_xscale("log")
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_xlabel("tokens of the block", color=INK)
    axes.set_ylim(0, 1)
