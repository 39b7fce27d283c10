"""Choose the weights of the default recipe by cross-validation over conversations.

    python training/fusion/choose.py locomo.json longmemeval.json

Every setting of a small grid answers every question once. Then, for each fold, the setting that is best on the other
folds is scored on this one: what comes out is what a choice made this way is worth on conversations it has not seen.
A fold of LoCoMo is a conversation; LongMemEval is cut into as many folds by question.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fivefold.bench import locomo, longmemeval
from fivefold.bench.cache import cached
from fivefold.bench.data import Dataset, Question
from fivefold.engine import Engine
from fivefold.models.embedders import embedder
from fivefold.retrieval.recipe import Recipe
from fivefold.retrieval.recipe_file import load_recipe, without_part
from fivefold.stores import open_store
from fivefold.text.progress import bar
from fivefold.values.recall import Recall

DEPTHS = (5, 10)
"""Recall at these depths is what counts, each and both sets alike."""

Change = dict[str, object]
Scores = npt.NDArray[np.float64]


def grid() -> Iterator[Change]:
    """The settings compared; dense and lexical share one unit of weight."""
    for dense, neighbour, session, best_turn in itertools.product(
        (0.3, 0.4, 0.5, 0.6, 0.7), (0.2, 0.3, 0.45), (0.6, 1.0, 1.4), (0.0, 0.2)
    ):
        yield {
            "routes.dense.weight": dense,
            "routes.lexical.weight": round(1 - dense, 2),
            "boosts.support.neighbour": neighbour,
            "boosts.support.session": session,
            "boosts.support.best_turn": best_turn,
            "boosts.support.alone": round(0.5 * session + best_turn, 2),
        }


def ask(store: str, model: str, recipe: str, change: Change, sets: Sequence[Dataset]) -> Scores:
    """Recall at each depth, a row a question, for one setting."""
    opened = open_store(store)
    reader = cached(embedder(model))
    rows = []
    try:
        for data in sets:
            chosen = _without_reranking(load_recipe(recipe, {**change, "unit": data.unit}))
            engines = {name: Engine(opened, name, reader) for name in data.memories}
            for question in data.questions:
                found = engines[question.namespace].recall(question.text, k=20, recipe=chosen, now=question.now)
                rows.append(_recall(question, found, data.unit == "session"))
    finally:
        opened.close()
    return np.array(rows)


def _without_reranking(recipe: Recipe) -> Recipe:
    """The fusion is chosen for what it finds; a reranker would hide it, and take most of the time."""
    for part in recipe.parts():
        if part.startswith("rerank."):
            recipe = without_part(recipe, part)
    return recipe


def _recall(question: Question, found: Recall, by_session: bool) -> list[float]:
    ids = [hit.memory.session_id if by_session else hit.memory.id for hit in found]
    wanted = set(question.relevant)
    return [len(wanted & set(ids[:depth])) / len(wanted) for depth in DEPTHS]


def folds_of(sets: Sequence[Dataset]) -> npt.NDArray[np.int64]:
    """The fold of each question: its conversation, or its number where there is only one."""
    count = max(len(data.memories) for data in sets)
    numbers: list[int] = []
    for data in sets:
        names = list(data.memories)
        numbers += [
            names.index(question.namespace) if len(names) > 1 else i % count
            for i, question in enumerate(data.questions)
        ]
    return np.array(numbers)


def value(scores: Scores, which: Sequence[npt.NDArray[np.bool_]]) -> float:
    """The mean over sets and depths, so that the larger set does not decide alone."""
    return float(np.mean([scores[mask].mean(axis=0) for mask in which if mask.any()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("longmemeval", type=Path)
    parser.add_argument("--embedder", default="fivefold-minilm")
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    sets = [locomo.load(given.locomo), longmemeval.load(given.longmemeval, pool=True)]
    settings = list(grid())
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "choose.db")
        opened = open_store(store)
        model = cached(embedder(given.embedder))
        for data in sets:
            for name, records in data.memories.items():
                Engine(opened, name, model).remember_many(records, progress=True)
        opened.close()
        with ProcessPoolExecutor(given.jobs) as pool, bar("Settings", len(settings), show=True) as advance:
            running = [pool.submit(ask, store, given.embedder, given.recipe, change, sets) for change in settings]
            scores = []
            for future in running:
                scores.append(future.result())
                advance(1)
    report(sets, settings, scores)


def report(sets: Sequence[Dataset], settings: Sequence[Change], scores: Sequence[Scores]) -> None:
    owner = np.concatenate([np.full(len(data.questions), i) for i, data in enumerate(sets)])
    folds = folds_of(sets)
    held = np.zeros_like(scores[0])
    for fold in sorted(set(folds.tolist())):
        others = [(owner == i) & (folds != fold) for i in range(len(sets))]
        best = max(range(len(settings)), key=lambda i: value(scores[i], others))
        held[folds == fold] = scores[best][folds == fold]
        print(f"fold {fold}: {settings[best]}")
    everywhere = [owner == i for i in range(len(sets))]
    best = max(range(len(settings)), key=lambda i: value(scores[i], everywhere))
    print(f"all: {settings[best]}")
    for i, data in enumerate(sets):
        chosen, unseen = scores[best][owner == i].mean(axis=0), held[owner == i].mean(axis=0)
        for j, depth in enumerate(DEPTHS):
            print(f"{data.name} recall@{depth}: {chosen[j]:.4f} chosen on all, {unseen[j]:.4f} cross-validated")


if __name__ == "__main__":
    main()
