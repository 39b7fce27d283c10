"""How good the shipped weights are: on held-out wording families and on queries written by others (D7).

python -m training.weights.evaluate
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from training.weights.generate import DOMINANT, TARGETS, Row, generate, is_later, split_of

from fivefold.models.embedders import choice_of
from fivefold.models.weights import WeightModel, features, intent, load, shipped
from fivefold.values.query import Weights

LISTS = Path(__file__).parent / "lists"
SMALL, RANDOM = "random 800/200 of 1,000, 5 draws", "random 90/10"
HELD_OUT, NEVER_LOOKED_AT = "held-out families", "of these, never looked at"
"""The splits (D7), from the easiest wordings to the hardest: those of a random split are seen in training."""

BARS = "published, of a random split: dominant 98.8 %, KL 0.025, MAE 0.053"

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured on one set of queries."""

    count: int
    dominant: float
    four_way: float
    divergence: float
    error: float
    confusions: Counter[tuple[str, str]]
    wrong: tuple[str, ...]
    leads: tuple[bool, ...]
    """Of each query, whether its leading signal is right."""


def figures(rows: Sequence[Row], weights: Array) -> Figures:
    """The measures of D7: the leading signal, KL(w*‖w), the mean error of a weight; and the four-way intent."""
    wanted = np.array([row.target for row in rows], dtype=np.float32)
    named = [intent(Weights(*given)) for given in weights.tolist()]
    leads = [int(given.argmax()) in DOMINANT[row.intent] for row, given in zip(rows, weights, strict=True)]
    return Figures(
        len(rows),
        float(np.mean(leads)),
        float(np.mean([name == row.intent for row, name in zip(rows, named, strict=True)])),
        float((wanted * np.log(wanted / weights)).sum(axis=1).mean()),
        float(np.abs(wanted - weights).mean()),
        Counter((row.intent, name) for row, name in zip(rows, named, strict=True) if name != row.intent),
        tuple(
            f"{row.intent} → {name}  {given.round(2).tolist()}  {row.text}"
            for row, name, given, leading in zip(rows, named, weights, leads, strict=True)
            if not leading
        ),
        tuple(leads),
    )


def held_out(rows: Sequence[Row]) -> dict[str, list[int]]:
    """The places of the rows of all held-out families, and of those families that nobody looked at."""
    unseen = [i for i, row in enumerate(rows) if split_of(row.family) == "test"]
    return {HELD_OUT: unseen, NEVER_LOOKED_AT: [i for i in unseen if is_later(rows[i].family)]}


def forward(model: WeightModel, rows: Sequence[Row], vectors: Array) -> Array:
    """The shipped NumPy model's weights for each row."""
    return np.stack([model.forward(vector, features(row.text)) for row, vector in zip(rows, vectors, strict=True)])


def listed(path: Path) -> list[Row]:
    """A list of labelled queries: `intent<TAB>query` a line, comments after #. Their weights are the intent's own."""
    rows = []
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            label, _, text = line.partition("\t")
            rows.append(Row(text, label, TARGETS[label], path.stem))
    return rows


def print_table(found: Mapping[str, Figures]) -> None:
    """One line for each set."""
    print(f"{'queries':<36}{'count':>7}{'dominant':>10}{'four-way':>10}{'KL':>8}{'MAE':>8}")
    for name, one in found.items():
        print(
            f"{name:<36}{one.count:>7}{one.dominant:>10.1%}{one.four_way:>10.1%}{one.divergence:>8.4f}{one.error:>8.4f}"
        )
    print(BARS)


def main() -> None:
    """Measure the shipped model, or another file, on everything there is."""
    from training.weights.examples import vectors

    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--model", type=Path, help="a model file; the shipped one unless given")
    options.add_argument("--errors", type=int, default=0, help="how many wrong queries to show of each set")
    options.add_argument("--skip", nargs="*", default=[], help="lists to leave out")
    chosen = options.parse_args()
    model = load(chosen.model) if chosen.model else shipped()
    rows = generate()
    sets = {name: [rows[i] for i in places] for name, places in held_out(rows).items()}
    sets |= {path.stem: listed(path) for path in sorted(LISTS.glob("*.tsv")) if path.stem not in chosen.skip}
    found = {
        name: figures(rows, forward(model, rows, vectors([row.text for row in rows], choice_of(model.pin))))
        for name, rows in sets.items()
    }
    print(f"{model.name} for {model.pin}")
    print_table(found)
    for name, one in found.items():
        print(f"\n{name}: " + ", ".join(f"{a}→{b} {n}" for (a, b), n in one.confusions.most_common()))
        for line in random.Random(1).sample(one.wrong, min(chosen.errors, len(one.wrong))):
            print(f"  {line}")


if __name__ == "__main__":
    main()
