"""Fit the weights of the marks of a clause on the lists of the lives for choosing, and print them.

A clause is right if it is a source of a listed fact, current or stale, and has one of its keys. The weights are pulled
towards what the marks mean, since there are few lives: `python training/facts/fit.py > …/data/fact_weights.txt`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fivefold.evaluation import read_life
from fivefold.values.json_files import Fields, document
from fivefold.values.known import SECTIONS
from fivefold.writing.extract.facts import clauses, features
from fivefold_bench.everyday import shipped_lives
from fivefold_bench.profile import LISTS

MEANT = {
    "bias": -1.9,
    **dict.fromkeys(SECTIONS, 0.5),
    "code": 0.9,
    "number": 0.7,
    "name": 0.4,
    "given": 0.4,
    "state": 0.3,
    "own": 0.2,
    "change": 0.4,
    "small": -0.8,
    "reply": -0.6,
    "short": -0.5,
    "asks": -3.0,
    "past": -0.2,
}
PULL = 12.0
"""How strongly a weight is held at what it means."""


def examples() -> Iterator[tuple[dict[str, float], bool]]:
    """Each clause of the lives as its marks, and whether it states a listed fact."""
    for path in shipped_lives("choose"):
        if not (LISTS / path.name).exists():
            continue
        lists = Fields.of(path.name, document(LISTS / path.name))
        entries = [*lists.entries("facts"), *lists.entries("stale")]
        for memory in read_life(path).memories:
            own = [entry for entry in entries if memory.id in entry["sources"]]
            for place, (start, end) in enumerate(clauses(memory.content)):
                text = memory.content[start:end].casefold()
                keys = (word for entry in own for key in entry["keys"] for word in key)
                yield (
                    features(memory.content[start:end], memory.speaker, place == 0),
                    any(word.casefold() in text for word in keys),
                )


def fit() -> dict[str, float]:
    """Logistic regression by Newton's method, with the meant weights as a prior."""
    rows = list(examples())
    names = ["bias", *sorted({name for marks, _ in rows for name in marks} | MEANT.keys() - {"bias"})]
    matrix = np.array([[1.0, *(marks.get(name, 0.0) for name in names[1:])] for marks, _ in rows])
    right = np.array([float(each) for _, each in rows])
    prior = np.array([MEANT.get(name, 0.0) for name in names])
    weights, pull = prior.copy(), np.array([0.01, *(PULL for _ in names[1:])])
    for _ in range(20):
        chance = 1 / (1 + np.exp(-(matrix @ weights)))
        gradient = matrix.T @ (chance - right) + pull * (weights - prior)
        curve = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + np.diag(pull)
        weights = weights - np.linalg.solve(curve, gradient)
    return dict(zip(names, weights.tolist(), strict=True))


if __name__ == "__main__":
    print("# The weights of the marks of a clause, fitted by training/facts/fit.py.\n\n[weights]")
    for name, weight in fit().items():
        print(name, f"{weight:.2f}")
