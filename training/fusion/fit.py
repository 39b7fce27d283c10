"""Fit the weights of the default recipe's additive model, cross-validated over conversations.

    python -m training.fusion.fit --lives --locomo locomo.json --longmemeval longmemeval.json

Every question is asked once, and the features of its candidates are recorded. For each fold the weights are fitted on
the other folds and scored on this one: that is what they are worth on conversations they have not seen. Then they are
fitted on all and printed as a recipe has them. A fold is a conversation or a life; LongMemEval is cut into folds by
question.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from training.fusion.listwise import Lists, fit, scores_of

from fivefold.bench import beam, locomo, longmemeval
from fivefold.bench.cache import cached
from fivefold.bench.data import Dataset, Question
from fivefold.bench.everyday.lives import load_lives, shipped_lives
from fivefold.engine import Engine
from fivefold.models.embedders import embedder
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages import additive
from fivefold.retrieval.stages.base import Pool
from fivefold.retrieval.stages.features import FEATURES, feature_table
from fivefold.stores import open_store
from fivefold.text.progress import bar
from fivefold.values.vectors import Matrix

FOLDS = 5
"""LongMemEval's folds."""

LEAST = 0.005
"""Weights nearer to zero are left out of the recipe."""


@dataclass(frozen=True)
class Sample:
    """A question with the features of its candidates, which of them are relevant, and what they are counted by."""

    data: str
    fold: str
    category: str
    table: Matrix
    keys: tuple[str, ...]
    relevant: frozenset[str]


def samples_of(data: Dataset, store: str, model: str) -> list[Sample]:
    """Store the memories, ask every question, and keep what the additive model sees."""
    seen: list[tuple[Matrix, list[tuple[str, str | None]]]] = []

    def record(pool: Pool, context: SearchContext) -> Matrix:
        table = feature_table(pool, context)
        seen.append((table, [(one.memory.id, one.memory.session_id) for one in pool.candidates]))
        return table

    additive.feature_table = record  # type: ignore[attr-defined]
    opened, reader = open_store(store), cached(embedder(model))
    recipe = load_recipe("default", {"unit": data.unit})
    samples = []
    with bar(f"Asking {data.name}", len(data.questions), show=True) as advance:
        engines = {}
        for name, records in data.memories.items():
            engines[name] = Engine(opened, f"{data.name}-{name}", reader)
            engines[name].remember_many(records)
        for number, question in enumerate(data.questions):
            engines[question.namespace].recall(
                question.text, k=10, recipe=recipe, now=question.now, history=question.history
            )
            sample = _sample(data, question, number, *seen.pop())
            samples += [sample] if question.relevant else []
            advance(1)
    opened.close()
    return samples


def _sample(
    data: Dataset, question: Question, number: int, table: Matrix, found: list[tuple[str, str | None]]
) -> Sample:
    by_session = data.unit == "session"
    fold = question.namespace if len(data.memories) >= FOLDS else str(number % FOLDS)
    keys = tuple((session or id) if by_session else id for id, session in found)
    return Sample(data.name, f"{data.name} {fold}", question.category, table, keys, frozenset(question.relevant))


def measured(sample: Sample, weights: Matrix) -> tuple[float, float, float, float]:
    """Recall at 5 and 10, nDCG at 10, and whether all that is relevant is among the first five."""
    order = np.argsort(-scores_of(sample.table, weights), kind="stable")
    ranked = list(dict.fromkeys(sample.keys[i] for i in order))[:10]
    gold = sample.relevant
    gain = sum(1 / np.log2(place + 2) for place, key in enumerate(ranked) if key in gold)
    ideal = sum(1 / np.log2(place + 2) for place in range(min(10, len(gold))))
    five = set(ranked[:5])
    return len(gold & five) / len(gold), len(gold & set(ranked)) / len(gold), gain / ideal, float(gold <= five)


def cross_validated(
    samples: Sequence[Sample], active: Matrix, penalty: float, shares: Mapping[str, float]
) -> dict[int, tuple[float, ...]]:
    """The measures of every question under weights that were fitted without its fold."""
    found: dict[int, tuple[float, ...]] = {}
    for fold in sorted({sample.fold for sample in samples}):
        weights = fit(Lists.of([s for s in samples if s.fold != fold], shares), active, penalty)
        found |= {i: measured(sample, weights) for i, sample in enumerate(samples) if sample.fold == fold}
    return found


def print_table(samples: Sequence[Sample], found: dict[int, tuple[float, ...]]) -> None:
    for name in dict.fromkeys(sample.data for sample in samples):
        mine = [i for i, sample in enumerate(samples) if sample.data == name]
        mean = np.mean([found[i] for i in mine], axis=0)
        print(f"{name:12s} R@5 {mean[0]:.3f}  R@10 {mean[1]:.3f}  nDCG@10 {mean[2]:.3f}  all@5 {mean[3]:.3f}")
        for category in sorted({samples[i].category for i in mine}):
            part = [found[i][1] for i in mine if samples[i].category == category]
            print(f"    {category:28s} R@10 {np.mean(part):.3f}  ({len(part)})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", action="store_true", help="the six everyday lives to choose by")
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--longmemeval", type=Path)
    parser.add_argument("--beam", type=Path, help="the folder of BEAM's files")
    parser.add_argument("--beam-share", type=float, default=0.1, help="how much BEAM counts against 1 of the others")
    parser.add_argument("--embedder", default="fivefold-minilm")
    parser.add_argument("--penalty", type=float, default=2e-4, help="how much large weights cost")
    parser.add_argument("--keep", type=Path, help="a file in which the recorded features are kept between runs")
    parser.add_argument("--without", nargs="*", default=[], help="features to leave out")
    given = parser.parse_args()
    if given.keep and given.keep.exists():
        samples = pickle.loads(given.keep.read_bytes())
    else:
        sets = [load_lives(shipped_lives("choose"))] if given.lives else []
        sets += [locomo.load(given.locomo)] if given.locomo else []
        sets += [longmemeval.load(given.longmemeval, True)] if given.longmemeval else []
        sets += [beam.load(given.beam)] if given.beam else []
        with tempfile.TemporaryDirectory() as folder:
            samples = [s for data in sets for s in samples_of(data, str(Path(folder) / "fit.db"), given.embedder)]
        if given.keep:
            given.keep.write_bytes(pickle.dumps(samples))
    active = np.array([name not in given.without for name in FEATURES], dtype=np.float32)
    shares = {"everyday": 2.0, "longmemeval": 1.5, "locomo": 1.2, "beam": given.beam_share}
    print_table(samples, cross_validated(samples, active, given.penalty, shares))
    weights = fit(Lists.of(samples, shares), active, given.penalty)
    print('\n[[rerank]]\nname = "additive"')
    print(
        "\n".join(f"{name} = {value:.2f}" for name, value in zip(FEATURES, weights, strict=True) if abs(value) > LEAST)
    )


if __name__ == "__main__":
    main()
