"""Results of races, as the folders of `fivefold bench --out` hold them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from fivefold.bench import tables
from fivefold.values.serialize import Json

RESULTS = "results.json"
PLOTS = {
    "recall_at_k.png": "Recall by depth: one line a recipe, higher is better",
    "recall_by_category.png": "Recall at 10 by category of question, a bar a recipe",
    "quality_latency.png": "Recall at 10 against the time of a recall, a point a recipe; up is better, left is faster",
}
"""The files a race draws, each with what it shows."""

LARGEST = 20_000_000
"""Bytes of results that are read; a race of all recipes writes some hundred thousand."""


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tables.Row, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """One race as the page shows it, or why it cannot be shown."""

    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    plots: tuple[tuple[str, str], ...] = ()
    fault: str = ""


def folders(place: Path | None) -> dict[str, Path]:
    """The folders with results, by name: the one that was named to the server, and those in it."""
    if place is None or not place.is_dir():
        return {}
    inner = sorted(path for path in place.iterdir() if path.is_dir())
    return {path.resolve().name: path for path in (place, *inner) if (path / RESULTS).is_file()}


def read(folder: Path) -> Results:
    """What the race came to; a file that is none of ours is told, not shown."""
    try:
        if (folder / RESULTS).stat().st_size > LARGEST:
            return Results(fault=f"{RESULTS} has more than {LARGEST:,} bytes")
        found = json.loads((folder / RESULTS).read_text("utf-8"))
        plots = tuple((name, told) for name, told in PLOTS.items() if (folder / name).is_file())
        return Results(_tables(found), tuple(map(str, tables.notes(found))), plots)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Results(fault=f"{RESULTS} cannot be read ({type(error).__name__}); race anew with fivefold bench --out")


def _tables(found: Json) -> tuple[Table, ...]:
    columns, rows = tables.overall(found)
    made = [Table(f"{found['dataset']}: quality and time", ("recipe", *columns), tuple(rows))]
    if len(found["categories"]) > 1:
        columns, rows = tables.categories(found)
        made.append(Table("Recall@10 by category", ("recipe", *columns), tuple(rows)))
    if found["significance"]:
        compared = tuple(tables.Row(cells[0], cells[1:]) for cells in tables.significance(found))
        made.append(Table("Paired randomisation tests", tables.COMPARED, compared))
    if found["ablation"]:
        worths = tuple(tables.Row(cells[0], cells[1:]) for cells in tables.ablation(found))
        made.append(Table(f"What each part of {found['ablation']['recipe']} is worth", tables.WORTHS, worths))
    return tuple(made)
