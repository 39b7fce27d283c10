"""What the network gets wrong on training families that it has not seen, for choosing data and features (D7).

python -m training.weights.choose --errors 40

The families of the training side are divided into folds, and each fold is predicted by a network that was trained on
the others. The held-out families take no part, so that nobody has to look at them.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from training.weights.evaluate import Figures, figures, print_table
from training.weights.examples import examples
from training.weights.generate import Row, generate, split_of
from training.weights.network import Array, predicted, trained

from fivefold.models.embedders import DEFAULT

FOLDS = 5


def fold_of(family: str, folds: int) -> int:
    """The fold of a family, by its name."""
    return int.from_bytes(hashlib.sha256(f"fold {family}".encode()).digest()[:4], "big") % folds


def cross_validated(rows: Sequence[Row], choice: str, seed: int, folds: int = FOLDS) -> Array:
    """The weights of each row by a network that saw none of its family."""
    whole = examples(rows, choice)
    numbers = np.array([fold_of(row.family, folds) for row in rows])
    out = np.zeros((len(rows), 3), dtype=np.float32)
    for fold in range(folds):
        unseen = np.flatnonzero(numbers == fold)
        out[unseen] = predicted(trained(whole[np.flatnonzero(numbers != fold)], seed), whole[unseen])
    return out


def worst_families(rows: Sequence[Row], found: Figures, most: int) -> list[tuple[str, int, int]]:
    """The families with the most errors: name, errors, rows."""
    sizes = Counter(row.family for row in rows)
    errors = Counter(row.family for row, right in zip(rows, found.leads, strict=True) if not right)
    return [(family, count, sizes[family]) for family, count in errors.most_common(most)]


def main() -> None:
    """Cross-validate on the training families; print the figures, the worst families and some errors."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--embedder", default=DEFAULT)
    options.add_argument("--seed", type=int, default=5)
    options.add_argument("--families", type=int, default=25, help="how many of the worst families to name")
    options.add_argument("--errors", type=int, default=3, help="how many errors to show of each")
    chosen = options.parse_args()
    rows = [row for row in generate() if split_of(row.family) == "train"]
    found = figures(rows, cross_validated(rows, chosen.embedder, chosen.seed))
    print_table({"training, in folds": found})
    wrong = defaultdict(list)
    for row, right in zip(rows, found.leads, strict=True):
        if not right:
            wrong[row.family].append(row.text)
    for family, count, size in worst_families(rows, found, chosen.families):
        print(f"{count:>4} of {size:<4} {family}")
        for text in random.Random(1).sample(wrong[family], min(chosen.errors, count)):
            print(f"       {text}")


if __name__ == "__main__":
    main()
