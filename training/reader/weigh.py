"""Fits how likely a change is in a life: the model's chance, the likeness of the vectors and of the words.

python -m training.reader.weigh

Of each life to choose by, all pairs that the model takes for a possible change are compared with the questions about a
present or past state: a stale memory and the one that is expected are a change. The printed figures leave one life out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fivefold.engine import Engine
from fivefold.evaluation import Life, Question, read_life
from fivefold.stores import open_store
from fivefold.writing.pipeline import embed, extract
from fivefold.writing.rebuild import writing_model
from fivefold.writing.relations import Replacement, find_replacements, memory_of, neighbourhoods
from fivefold_bench.everyday import shipped_lives

STEPS = 60
STATES = ("current", "past")
BINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 1.0)


def changes_of(life: Life) -> list[Replacement]:
    """The possible changes among the memories of a life, as one batch finds them."""
    namespace = Engine(open_store(":memory:"), life.name)._namespace
    drafts = extract(life.memories, namespace)
    embed(drafts, namespace.reader, writing_model(namespace))
    return find_replacements(neighbourhoods(drafts, namespace.reader))


def known_changes(questions: tuple[Question, ...]) -> Iterator[frozenset[str]]:
    """The two memories of each change that a question knows of."""
    for question in questions:
        if question.category in STATES:
            yield from (frozenset((old, new)) for old in question.stale for new in question.relevant)


def signs(changes: list[Replacement]) -> np.ndarray:
    """What is weighed of each change, and a column of ones."""
    rows = []
    for change in changes:
        words = sum(len(memory_of(side).content.split()) for side in (change.older, change.newer))
        rows.append((np.log(change.read / (1 - change.read)), change.likeness, change.shared, words, 1.0))
    return np.array(rows)


def fit(x: np.ndarray, y: np.ndarray, ridge: float = 0.5) -> np.ndarray:
    """Logistic regression by Newton's steps."""
    weights, penalty = np.zeros(x.shape[1]), ridge * np.diag([1.0] * (x.shape[1] - 1) + [0.0])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - y) + penalty @ weights
        weights = weights - np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + penalty + 1e-9, slope)
    return weights


def main() -> None:
    lives = [read_life(path) for path in shipped_lives("choose")]
    found = [changes_of(life) for life in lives]
    x = [signs(changes) for changes in found]
    y = []
    for life, changes in zip(lives, found, strict=True):
        known = set(known_changes(life.questions))
        pairs = [frozenset((memory_of(each.older).id, memory_of(each.newer).id)) for each in changes]
        y.append(np.array([pair in known for pair in pairs], dtype=float))
    chances = []
    for at in range(len(lives)):
        others = [number for number in range(len(lives)) if number != at]
        weights = fit(np.concatenate([x[i] for i in others]), np.concatenate([y[i] for i in others]))
        chances.append(1 / (1 + np.exp(-x[at] @ weights)))
    said, true = np.concatenate(chances), np.concatenate(y)
    for low, high in pairwise(BINS):
        inside = (said >= low) & (said < high)
        print(
            f"said {low:.2f}-{high:.2f}: {int(inside.sum()):5} pairs, {true[inside].mean() if inside.any() else 0:.2f}"
        )
    print("weights", fit(np.concatenate(x), np.concatenate(y)).round(4).tolist())


if __name__ == "__main__":
    main()
