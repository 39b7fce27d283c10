"""Plots of a run over everyday lives: hits by kind of question, and whether chances are true."""

from __future__ import annotations

from pathlib import Path

from fivefold.bench.everyday.lives import NEVER
from fivefold.bench.plots import looks_of, page, require_plots, save
from fivefold.bench.result_folder import EVERYDAY_PLOTS
from fivefold.values.serialize import Json

BAR = 0.38
"""Height of a bar; two stand in the room of a kind."""


def draw(folder: Path, results: Json) -> None:
    """Every plot as a PNG file in `folder`; without chances there is no reliability diagram."""
    require_plots()
    by_kind, reliable = EVERYDAY_PLOTS
    hits_by_kind(folder / by_kind, results)
    if any(each["calibration"] for each in results["recipes"].values()):
        reliability(folder / reliable, results)


def hits_by_kind(path: Path, results: Json) -> None:
    """For each kind a bar of the reference and one of plain vectors; the other recipes are marks."""
    kinds = [kind for kind in results["categories"] if kind != NEVER]
    names = list(results["recipes"])
    barred = [name for name in (results["reference"], "dense") if name in names]
    figure, axes = page("First hit right, by kind of question", width=9.0, height=1.4 + 0.42 * len(kinds))
    looks = looks_of(names)
    for name in names:
        values = [results["recipes"][name]["by_category"][kind]["hit@1"] for kind in kinds]
        if name in barred:
            at = [row + (barred.index(name) - 0.5) * BAR for row in range(len(kinds))]
            axes.barh(at, values, BAR, color=looks[name]["color"], label=name)
        else:
            axes.plot(
                values, range(len(kinds)), looks[name]["marker"], color=looks[name]["color"], markersize=4, label=name
            )
    axes.set_yticks(range(len(kinds)), [f"{kind.replace('_', ' ')} ({results['categories'][kind]})" for kind in kinds])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1)
    axes.set_xlabel("hit@1")
    axes.grid(False, axis="y")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    save(figure, path)


def reliability(path: Path, results: Json) -> None:
    """A line for each recipe that gives chances: the share of right hits by the chance they were given."""
    figure, axes = page("Chances and truth, first five hits of each question", width=6.4, height=5.0)
    axes.plot([0, 1], [0, 1], color="#BBBBBB", linestyle="--", linewidth=1.0, label="true chances")
    looks = looks_of(list(results["recipes"]))
    for name, each in results["recipes"].items():
        if each["calibration"]:
            bins = each["calibration"]["bins"]
            label = f"{name}, error {each['calibration']['error']:.3f}"
            axes.plot(
                [one["chance"] for one in bins],
                [one["right"] for one in bins],
                label=label,
                markersize=5,
                **looks[name],
            )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("mean chance of the hits")
    axes.set_ylabel("share of them that is right")
    axes.legend(loc="upper left", frameon=False)
    save(figure, path)
