"""Fit the chances of the default recipe on the six lives to choose by, cross-validated by life.

    python -m training.fusion.chances

A hit is right when its question expects it; a question that nothing answers has no right hit. Prints the calibration
error, how many never answered questions are recognised at a given share of wrong refusals, and the constants.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fivefold.bench.cache import cached
from fivefold.bench.everyday.lives import load_lives, shipped_lives
from fivefold.engine import Engine
from fivefold.models.embedders import embedder
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages import chance
from fivefold.retrieval.stages.chance import RECALL_SIGNALS, SIGNALS, recall_signals
from fivefold.stores import open_store
from fivefold.text.progress import bar
from fivefold.values.recall_trace import Candidate
from fivefold.values.vectors import Matrix

Array = npt.NDArray[np.float64]

JUDGED = 5
"""Hits of a question that the fit looks at."""

NEVER = 0.35
"""How much all questions without an answer count against all with one."""

PENALTY = 1e-4
STEPS = 40
REFUSED = (0.03, 0.05, 0.1, 0.15)


@dataclass(frozen=True)
class Asked:
    """A question: its life, what its best hits have, and which of them are right."""

    life: str
    table: Array
    right: Array
    answered: bool


def ask_all() -> list[Asked]:
    """Every question of the lives, with the signals that the stage reads."""
    seen: list[tuple[Matrix, list[str]]] = []
    table_of = chance.signal_table

    def record(
        candidates: Sequence[Candidate], context: SearchContext, answers: Mapping[int, float] | None = None
    ) -> Matrix:
        table = table_of(candidates, context, answers)
        seen.append((table, [one.memory.id for one in candidates]))
        return table

    chance.signal_table = record
    data, reader, asked = load_lives(shipped_lives("choose")), cached(embedder("fivefold-minilm")), []
    with tempfile.TemporaryDirectory() as folder, bar("Asking", len(data.questions), show=True) as advance:
        store = open_store(str(Path(folder) / "fit.db"))
        engines = {name: Engine(store, name, reader) for name in data.memories}
        for name, records in data.memories.items():
            engines[name].remember_many(records)
        for question in data.questions:
            engines[question.namespace].recall(question.text, k=10, now=question.now, history=question.history)
            table, ids = seen.pop()
            right = np.array([float(id in question.relevant) for id in ids])
            asked.append(Asked(question.namespace, table.astype(float), right, bool(question.relevant)))
            advance(1)
        store.close()
    return asked


def fit_hits(asked: Sequence[Asked]) -> Array:
    return logistic(
        np.concatenate([one.table[:JUDGED] for one in asked]), np.concatenate([one.right[:JUDGED] for one in asked])
    )


def fit_recalls(asked: Sequence[Asked], weights: Array) -> Array:
    answered = np.array([float(one.answered) for one in asked])
    share = NEVER * answered.sum() / max(1.0, (1 - answered).sum())
    return logistic(recall_table(asked, weights), answered, np.where(answered > 0, 1.0, share))


def recall_table(asked: Sequence[Asked], weights: Array) -> Array:
    tables = [(one.table.astype(np.float32), (one.table @ weights).astype(np.float32)) for one in asked]
    return np.array([recall_signals(table, odds) for table, odds in tables], dtype=float)


def logistic(table: Array, right: Array, share: Array | None = None) -> Array:
    """Weights of the greatest likelihood by Newton's method, with a small penalty."""
    counts = np.ones(len(right)) if share is None else share
    weights, cost = np.zeros(table.shape[1]), np.eye(table.shape[1]) * PENALTY * len(right)
    for _ in range(STEPS):
        chances = probabilities(table @ weights)
        bend = (table * (counts * chances * (1 - chances))[:, None]).T @ table + cost
        weights = weights + np.linalg.solve(bend, table.T @ (counts * (right - chances)) - cost @ weights)
    return weights


def probabilities(odds: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def calibration_error(chances: Array, right: Array, bins: int = 10) -> float:
    place = np.minimum((chances * bins).astype(int), bins - 1)
    chosen = [place == number for number in range(bins) if (place == number).any()]
    return float(sum(part.mean() * abs(chances[part].mean() - right[part].mean()) for part in chosen))


def constants(asked: Sequence[Asked]) -> tuple[Array, Array]:
    weights = fit_hits(asked)
    return weights, fit_recalls(asked, weights)


def of_recall(asked: Sequence[Asked], weights: Array, recall: Array) -> Array:
    return probabilities(recall_table(asked, weights) @ recall)


def main() -> None:
    asked = ask_all()
    hits, right, whole, answered = [], [], [], []
    for life in sorted({one.life for one in asked}):
        rest, part = ([one for one in asked if (one.life == life) is same] for same in (False, True))
        weights, recall = constants(rest)
        hits.append(probabilities(np.concatenate([one.table[:JUDGED] for one in part]) @ weights))
        right.append(np.concatenate([one.right[:JUDGED] for one in part]))
        whole.append(of_recall(part, weights, recall))
        answered.append(np.array([one.answered for one in part]))
    print(f"calibration error {calibration_error(np.concatenate(hits), np.concatenate(right)):.4f}")
    chances, said = np.concatenate(whole), np.concatenate(answered)
    for share in REFUSED:
        limit = np.quantile(chances[said], share)
        print(
            f"refused {share:.2f}: from {limit:.2f} on, never answered recognised {(chances[~said] < limit).mean():.2f}"
        )
    weights, recall = constants(asked)
    for name, names, values in (("weights", SIGNALS, weights), ("recall", RECALL_SIGNALS, recall)):
        print(f"{name} = {{ {', '.join(f'{key} = {value:.2f}' for key, value in zip(names, values, strict=True))} }}")


if __name__ == "__main__":
    main()
