"""Fit the chances of the default recipe on lives, talk and chats together, cross-validated by person and conversation.

    python -m training.fusion.chances --lives --locomo locomo.json --haystacks longmemeval_s.json --beam beam/ \\
        --stores stores/ --keep chances.pickle

A hit is right when its question expects it; a question that nothing answers has no right hit. Prints the calibration
error of each data set, how many never answered questions are recognised at a given share of wrong refusals, and the
constants.
"""

from __future__ import annotations

import argparse
import pickle
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from training.fusion.fit import add_data_options, data_sets
from training.reader.scenes import Asked, Scene, read_scenes

from fivefold.engine import Engine
from fivefold.evaluation import Life, Question
from fivefold.models.embedders import embedder
from fivefold.models.reader import Remark
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages import selection as chance
from fivefold.retrieval.stages.selection import HIT_TERMS, RECALL_TERMS, recall_terms
from fivefold.stores import open_store
from fivefold.text.display import bar
from fivefold.values.memory import Record
from fivefold.values.recall_trace import Candidate, Effort
from fivefold.values.vectors import Matrix
from fivefold_bench.cache import cached
from fivefold_bench.data import Dataset
from fivefold_bench.jsonl import dataset_of
from fivefold_bench.suites import cases_of, small_stores

Array = npt.NDArray[np.float64]

JUDGED = 5
"""Hits of a question that the fit looks at."""

NEVER = 0.35
"""How much all questions without an answer count against all with one."""

MAX_ASKED = 600
"""Questions of a data set that are asked; of others than the lives every second or third, if there are more."""

SMALL, NEW = "small", "new"
"""Small stores, and those of one to five memories; as much is asked in vain as users of a new store do."""

BOTH_EFFORTS = ("everyday", SMALL, NEW)
"""Data sets that are also asked at low effort, which reads nothing."""

OTHERS = {"locomo": 1.0, "haystacks": 1.0, "pooled": 1.0, "beam": 1.0}
HIT_SHARES = {"everyday": 10.0, "everyday unread": 3.0, SMALL: 2.0, f"{SMALL} unread": 0.6, **OTHERS}
HIT_SHARES |= {NEW: 2.0, f"{NEW} unread": 0.6}
RECALL_SHARES = {"everyday": 3.0, "everyday unread": 1.0, SMALL: 0.6, f"{SMALL} unread": 0.2, **OTHERS}
RECALL_SHARES |= {NEW: 1.5, f"{NEW} unread": 1.0}
"""How much each data set counts. The lives count most: few others have questions that nothing answers."""

SIZES = (1, 1, 2, 3, 4, 5)
"""The numbers of memories of new stores."""

SCENES = Path(__file__).parent / "scenes.jsonl.xz"
"""Scenes that the reader has not learned from."""

FIRST_DAY = datetime(2025, 1, 6, 9, tzinfo=UTC)

PENALTY = 1e-4
STEPS = 40
REFUSED = (0.02, 0.03, 0.05, 0.1)


@dataclass(frozen=True)
class Recorded:
    """A question: its data set and fold, what its best hits have, how its words are met, and which hits are right."""

    data: str
    fold: str
    table: Array
    words: tuple[float, float, float]
    right: Array
    answered: bool


def ask_all(name: str, data: Dataset, store: Path) -> list[Recorded]:
    """Every question with the terms that the stage reads."""
    seen: list[tuple[Matrix, list[str]]] = []
    words: list[tuple[float, float, float]] = []
    table_of, words_of = chance.chance_table, chance.word_terms

    def record(
        candidates: Sequence[Candidate], context: SearchContext, answers: Mapping[int, float] | None = None
    ) -> Matrix:
        table = table_of(candidates, context, answers)
        seen.append((table, [one.memory.id for one in candidates]))
        return table

    def record_words(best: Candidate, table: Matrix, context: SearchContext) -> tuple[float, float, float]:
        words.append(words_of(best, table, context))
        return words[-1]

    chance.chance_table, chance.word_terms = record, record_words
    opened, reader, asked = open_store(str(store)), cached(embedder("fivefold-minilm")), []
    engines = {space: Engine(opened, space, reader) for space in data.memories}
    for space, records in data.memories.items():
        if not engines[space].exists():
            engines[space].remember_many(records)
    questions = data.questions[:: 1 if name in BOTH_EFFORTS else 1 + len(data.questions) // MAX_ASKED]
    efforts: Sequence[Effort] = ("normal", "low") if name in BOTH_EFFORTS else ("normal",)
    with bar(f"Asking {name}", len(questions) * len(efforts), show=True) as advance:
        for question, effort in product(questions, efforts):
            engine = engines[question.namespace]
            engine.recall(question.text, k=10, now=question.now, history=question.history, effort=effort)
            table, ids = seen.pop()
            right = np.array([float(id in question.relevant) for id in ids])
            data_set = name if effort == "normal" else f"{name} unread"
            fold = f"{name} {question.namespace}"
            asked.append(Recorded(data_set, fold, table.astype(float), words.pop(), right, bool(question.relevant)))
            advance(1)
    opened.close()
    chance.chance_table, chance.word_terms = table_of, words_of
    return asked


def new_stores(scenes: Sequence[Scene], dice: random.Random) -> Iterator[Life]:
    """Two small parts of each scene, with one or two questions that they answer and two that they do not."""
    for number, scene in product(range(2), scenes):
        size, places = dice.choice(SIZES), range(len(scene.memories))
        first = dice.choice([asked for asked in scene.questions if 0 < len(asked.answers) <= size])
        rest = dice.sample([place for place in places if place not in first.answers], size - len(first.answers))
        kept = {*first.answers, *rest}
        answered = [asked for asked in scene.questions if asked.answers and kept.issuperset(asked.answers)]
        never = [asked for asked in scene.questions if kept.isdisjoint(asked.answers)]
        also = [asked for asked in answered if asked is not first]
        chosen = [first, *dice.sample(also, min(1, len(also))), *dice.sample(never, min(2, len(never)))]
        name = f"{scene.name}-{number}"
        records = [_record(name, place, scene.memories[place]) for place in sorted(kept)]
        yield Life(name, tuple(records), tuple(_question(name, asked, kept) for asked in chosen), frozenset())


def _record(name: str, place: int, said: Remark) -> Record:
    return Record(
        content=said.text, id=f"{name}-{place}", speaker=said.speaker, event_at=FIRST_DAY + place * timedelta(days=9)
    )


def _question(name: str, asked: Asked, kept: Set[int]) -> Question:
    relevant = tuple(f"{name}-{place}" for place in asked.answers if place in kept)
    return Question(f"{name}-{asked.text}", name, asked.text, relevant, now=FIRST_DAY + timedelta(days=300))


def shares_of(asked: Sequence[Recorded], shares: Mapping[str, float]) -> Array:
    """How much each question counts, so that a data set counts by its share."""
    counts = {name: sum(one.data == name for one in asked) for name in {one.data for one in asked}}
    share = np.array([shares[one.data] / counts[one.data] for one in asked])
    return share * len(asked) / share.sum()


def fit_hits(asked: Sequence[Recorded]) -> Array:
    counts = np.repeat(shares_of(asked, HIT_SHARES), [len(one.table[:JUDGED]) for one in asked])
    return logistic(
        np.concatenate([one.table[:JUDGED] for one in asked]),
        np.concatenate([one.right[:JUDGED] for one in asked]),
        counts,
    )


def fit_recalls(asked: Sequence[Recorded], weights: Array) -> Array:
    """Questions that nothing answers count as a share of those of their data set that something answers.

    In small stores they count as they are.
    """
    counts, answered = shares_of(asked, RECALL_SHARES), np.array([one.answered for one in asked])
    for name in {one.data for one in asked}:
        mine = np.array([one.data == name for one in asked])
        never = mine & ~answered
        if not name.startswith((SMALL, NEW)):
            counts[never] *= NEVER * (mine & answered).sum() / max(1, never.sum())
    return logistic(recall_table(asked, weights), answered.astype(float), counts)


def recall_table(asked: Sequence[Recorded], weights: Array) -> Array:
    tables = [(one.table.astype(np.float32), (one.table @ weights).astype(np.float32), one.words) for one in asked]
    return np.array([recall_terms(*each) for each in tables], dtype=float)


def logistic(table: Array, right: Array, counts: Array) -> Array:
    """Weights of the greatest likelihood by Newton's method, with a small penalty."""
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


def constants(asked: Sequence[Recorded], left_out: Set[str] = frozenset()) -> tuple[Array, Array]:
    """The weights of the hits and of the recall, fitted on all folds but these."""
    rest = [one for one in asked if one.fold not in left_out]
    weights = fit_hits(rest)
    return weights, fit_recalls(rest, weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    given = parser.parse_args()
    if given.keep and given.keep.exists():
        asked = pickle.loads(given.keep.read_bytes())
    else:
        with tempfile.TemporaryDirectory() as folder:
            stores = given.stores or Path(folder)
            sets = data_sets(given)
            if given.lives:
                sets[SMALL] = small_stores(cases_of("absence", ["choose"]))
                sets[NEW] = dataset_of(list(new_stores(read_scenes(SCENES), random.Random(11))))
            asked = [one for name, data in sets.items() for one in ask_all(name, data, stores / f"{name}.db")]
        if given.keep:
            given.keep.write_bytes(pickle.dumps(asked))
    folds = sorted({one.fold for one in asked})
    whole, hits = np.zeros(len(asked)), [np.zeros(0)] * len(asked)
    for part in range(6):
        left_out = set(folds[part::6])
        weights, recall = constants(asked, left_out)
        for i, one in enumerate(asked):
            if one.fold in left_out:
                hits[i] = probabilities(one.table[:JUDGED] @ weights)
                whole[i] = probabilities(recall_table([one], weights) @ recall)[0]
    answered = np.array([one.answered for one in asked])
    for name in dict.fromkeys(one.data for one in asked):
        mine = [i for i, one in enumerate(asked) if one.data == name]
        error = calibration_error(
            np.concatenate([hits[i] for i in mine]), np.concatenate([asked[i].right[:JUDGED] for i in mine])
        )
        said, never = whole[[i for i in mine if answered[i]]], whole[[i for i in mine if not answered[i]]]
        print(f"{name:16s} calibration error {error:.4f}")
        for share in REFUSED if len(never) else ():
            limit = float(np.quantile(said, share))
            print(f"  refused {share:.2f}: from {limit:.2f} on, never answered recognised {(never < limit).mean():.2f}")
        for limit in (0.25, 0.3, 0.35, 0.4, 0.45, 0.5):
            recognised = f", never answered recognised {(never < limit).mean():.2f}" if len(never) else ""
            print(f"  from {limit:.2f} on: refused {(said < limit).mean():.3f}{recognised}")
    weights, recall = constants(asked)
    known, new = np.split(recall, 2)
    for name, names, values in (
        ("weights", HIT_TERMS, weights),
        ("recall", RECALL_TERMS, known),
        ("new", RECALL_TERMS, new),
    ):
        print(f"{name} = {{ {', '.join(f'{key} = {value:.2f}' for key, value in zip(names, values, strict=True))} }}")


if __name__ == "__main__":
    main()
