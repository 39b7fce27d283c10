"""Fit the weights of the default recipe's ranker on lives, talk between people and chats with an assistant together.

    python -m training.fusion.fit --lives --locomo locomo.json --haystacks longmemeval_s.json \\
        --pooled longmemeval_oracle.json --beam beam/ --stores stores/ --keep terms.pickle

Every question is asked once, and the terms of its candidates are recorded. The weights start from what fusion alone
does and may move from there as far as the questions pay for it. Printed are: fusion alone; the weights at the start;
the fit scored on conversations and people it has not seen; the fit scored on a kind of data it has not seen at all,
which is what counts for the next user; what leaving out each term costs; and the weights as a recipe has them.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import log
from pathlib import Path

import numpy as np
from training.fusion.listwise import Array, Lists, fit

from fivefold.engine import Engine
from fivefold.models.embedders import embedder
from fivefold.retrieval.protocols import Pool
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages import terms as additive
from fivefold.retrieval.stages.reading import MIN_SCORE, READS
from fivefold.retrieval.stages.terms import SOFTNESS, TERMS, term_table
from fivefold.stores import open_store
from fivefold.text.display import bar
from fivefold.values.recall_trace import Candidate
from fivefold.values.vectors import Matrix
from fivefold_bench import beam, locomo, longmemeval
from fivefold_bench.cache import cached
from fivefold_bench.data import Dataset
from fivefold_bench.everyday import load_lives, shipped_lives

FOLDS = 6
"""Into how many parts people and conversations are cut."""

KINDS = {"everyday": "lives", "locomo": "talk", "haystacks": "chats", "pooled": "chats", "beam": "projects"}
"""Which data sets are of one kind, to be left out together."""

SHARES = {"everyday": 2.0, "locomo": 1.2, "haystacks": 1.0, "pooled": 0.5, "beam": 1.0}
"""How much each data set counts."""

START = {
    "alike": 1.0,
    "words": 0.4,
    "late_in_talk": 1.0,
    "beside": 0.8,
    "session": 1.0,
    "statement": 0.8,
    "length": 0.5,
    "detail": 1.0,
    "kind": 0.5,
    "turns": 6.4,
    "window_only": 6.4,
    "window": 0.4,
    "order": 1.0,
    "holds": 0.8,
    "successor": 1.2,
    "newest": 0.5,
    "held_then": 0.8,
    "side": 0.5,
    "person": 0.8,
    "applies": 0.8,
}
"""Where the fit starts: what fusion alone gives to likeness, turns and windows, and small values for the rest."""

READ = "read"
"""The last column: what the reader adds to the sum of a candidate. Its weight scales `weight` and `overtaken`."""

NAMES = (*(term.name for term in TERMS), READ)
FIRST = np.array([*(START[term.name] for term in TERMS), 1.0], np.float32)

PENALTY = 1e-3
"""What moving away from the start costs; demands of a question are rare in most data, so little is known of them."""

FREE = frozenset({"late_in_talk", "beside", "session", "statement", "length", "detail"})
"""Terms of talk between people, which no other kind of data has: they may move as they like."""

FREE_PENALTY = 2e-4

MEASURES = ("hit@1", "R@5", "R@10", "nDCG@10", "all@10")


@dataclass(frozen=True)
class Question:
    """A question with the terms of its candidates, the order of fusion alone, and which candidates are relevant."""

    data: str
    fold: str
    category: str
    table: Matrix
    fused: Array
    ids: tuple[str, ...]
    relevant: frozenset[str]


def record(name: str, data: Dataset, store: Path) -> list[Question]:
    """Store the memories unless they are there already, ask every question, and keep what the ranker sees."""
    seen: list[tuple[Matrix, Pool]] = []

    def recorded(pool: Pool, context: SearchContext) -> Matrix:
        table = term_table(pool, context)
        seen.append((table, pool))
        return table

    additive.term_table = recorded  # type: ignore[attr-defined]
    opened, reader, recipe = open_store(str(store)), cached(embedder("fivefold-minilm")), load_recipe("default")
    recipe = replace(recipe, rerank=recipe.rerank[:2], select=())  # the ranker and the reader
    engines = {space: Engine(opened, space, reader) for space in data.memories}
    with bar(f"Storing {name}", len(engines), show=True) as advance:
        for space, records in data.memories.items():
            if not engines[space].exists():
                engines[space].remember_many(records)
            advance(1)
    questions = [question for question in data.questions if question.relevant]
    found = []
    with bar(f"Asking {name}", len(questions), show=True) as advance:
        for number, asked in enumerate(questions):
            engine = engines[asked.namespace]
            answer = engine.recall(asked.text, len(TERMS) * 10, recipe=recipe, now=asked.now, history=asked.history)
            table, pool = seen.pop()
            read = {hit.memory.id: _read_sum(hit.candidate) for hit in answer}
            lowest = min(read.values(), default=0.0)
            added = np.array([read.get(candidate.memory.id, lowest) for candidate in pool.candidates], np.float32)
            table = np.concatenate([table, added[:, None]], axis=1)
            fused = np.array([candidate.score for candidate in pool.candidates], np.float32)
            ids = tuple(candidate.memory.id for candidate in pool.candidates)
            fold = asked.namespace if len(engines) >= FOLDS - 1 else str(number % FOLDS)
            found.append(Question(name, f"{name} {fold}", asked.category, table, fused, ids, frozenset(asked.relevant)))
            advance(1)
    opened.close()
    return found


def _read_sum(candidate: Candidate) -> float:
    """What the reader added to the sum of a candidate, less what it added to all."""
    steps = [step for step in candidate.steps if step.stage == READS]
    return sum(SOFTNESS * (log(max(step.after, MIN_SCORE)) - log(max(step.before, MIN_SCORE))) for step in steps)


def measured(question: Question, scores: Array) -> tuple[float, ...]:
    """A value for each of `MEASURES`."""
    order = np.argsort(-scores, kind="stable")[:10]
    ranked, gold = [question.ids[i] for i in order], question.relevant
    gain = sum(1 / np.log2(place + 2) for place, id in enumerate(ranked) if id in gold)
    ideal = sum(1 / np.log2(place + 2) for place in range(min(10, len(gold))))
    five, ten = set(ranked[:5]), set(ranked)
    return (
        float(ranked[0] in gold),
        len(gold & five) / len(gold),
        len(gold & ten) / len(gold),
        gain / ideal,
        gold <= ten,
    )


Score = Callable[[Question], Array]


def means(questions: Sequence[Question], score: Score) -> dict[str, Array]:
    """The mean measures of each data set."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for question in questions:
        found.setdefault(question.data, []).append(measured(question, score(question)))
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def print_means(label: str, values: Mapping[str, Array]) -> None:
    for name, mean in values.items():
        print(
            f"{label:14s} {name:10s}",
            *(f"{measure} {value:.3f}" for measure, value in zip(MEASURES, mean, strict=True)),
        )


def by_weights(weights: Array) -> Score:
    return lambda question: question.table @ weights


def fitted_without(questions: Sequence[Question], left_out: Set[str]) -> Array:
    """The weights fitted on all folds but these."""
    penalty = np.array([FREE_PENALTY if name in FREE else PENALTY for name in NAMES], np.float32)
    return fit(Lists.of([question for question in questions if question.fold not in left_out], SHARES), FIRST, penalty)


def cross_validated(questions: Sequence[Question], group: Mapping[str, object]) -> dict[str, Array]:
    """The measures of every question under weights that were fitted without its group; `group` is by fold."""
    weights = {
        part: fitted_without(questions, {fold for fold, other in group.items() if other == part})
        for part in set(group.values())
    }
    return means(questions, lambda question: question.table @ weights[group[question.fold]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    given = parser.parse_args()
    if given.keep and given.keep.exists():
        questions = pickle.loads(given.keep.read_bytes())
    else:
        questions = asked_of(given)
        if given.keep:
            given.keep.write_bytes(pickle.dumps(questions))
    folds = sorted({question.fold for question in questions})
    print_means("fusion alone", means(questions, lambda question: question.fused))
    print_means("start", means(questions, by_weights(FIRST)))
    print_means("unseen people", cross_validated(questions, {fold: place % FOLDS for place, fold in enumerate(folds)}))
    print_means("unseen kind", cross_validated(questions, {fold: KINDS[fold.split()[0]] for fold in folds}))
    weights = fitted_without(questions, frozenset())
    whole = means(questions, by_weights(weights))
    print_means("fitted", whole)
    print("\nWithout a term, nDCG@10 changes by:")
    for place, name in enumerate(NAMES):
        less = weights.copy()
        less[place] = 0
        changed = means(questions, by_weights(less))
        print(
            f"{name:14s} {weights[place]:5.2f}", *(f"{data} {changed[data][3] - whole[data][3]:+.3f}" for data in whole)
        )
    print('\n[[rerank]]\nname = "additive"')
    print("\n".join(f"{term.name} = {value:.2f}" for term, value in zip(TERMS, weights[:-1], strict=True)))
    print(f'\n[[rerank]]\nname = "{READS}"\n`weight` and `overtaken`: {weights[-1]:.2f} times as much')


def add_data_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lives", action="store_true", help="the six everyday lives to choose by")
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--haystacks", type=Path, help="LongMemEval-S")
    parser.add_argument("--pooled", type=Path, help="LongMemEval's oracle file, all sessions in one namespace")
    parser.add_argument("--beam", type=Path, help="the folder of BEAM's files")
    parser.add_argument("--stores", type=Path, help="a folder in which the stores are kept between runs")
    parser.add_argument("--keep", type=Path, help="a file in which what was recorded is kept between runs")


def data_sets(given: argparse.Namespace) -> dict[str, Dataset]:
    """The data that was given, by turn."""
    sets: dict[str, Dataset] = {"everyday": load_lives(shipped_lives("choose"))} if given.lives else {}
    if given.locomo:
        sets["locomo"] = locomo.load(given.locomo)
    if given.haystacks:
        sets["haystacks"] = longmemeval.load(given.haystacks, False, "turn")
    if given.pooled:
        sets["pooled"] = longmemeval.load(given.pooled, True, "turn")
    if given.beam:
        sets["beam"] = beam.load(given.beam)
    return sets


def asked_of(given: argparse.Namespace) -> list[Question]:
    """The questions of all data that was given."""
    with tempfile.TemporaryDirectory() as folder:
        stores = given.stores or Path(folder)
        return [
            question
            for name, data in data_sets(given).items()
            for question in record(name, data, stores / f"{name}.db")
        ]


if __name__ == "__main__":
    main()
