"""What each of the document's four directions is worth in recipe `ditto`, against not having it (D12).

python -m training.weights.directions                 # the everyday lives to choose by
python -m training.weights.directions --locomo FILE   # LoCoMo

Decay and weights by result are asked with every question. What learns from use is given feedback on every other
question and asked the ones between: the memories that answer count as used, where they were among the ten shown.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import fivefold
from fivefold.evaluation import Question
from fivefold.retrieval.recipe import Recipe, recipe_data
from fivefold.retrieval.recipe_file import load_recipe, override, parse_recipe
from fivefold_bench import locomo
from fivefold_bench.data import Dataset
from fivefold_bench.everyday import load_lives, shipped_lives
from fivefold_bench.scores import Scores, compare, score

METRICS = ("recall@1", "recall@5", "recall@10", "ndcg@10")
K = 10
PLAIN = "ditto"
HALF = "ditto, half"
BY_RESULT = "weights by result"
HALVES = {HALF: PLAIN, f"{BY_RESULT}, half": BY_RESULT}
"""What every other question finds without learning, by what all find."""

Rankings = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction: what it changes in the recipe, or that it learns from use, and what it is compared with."""

    name: str
    changes: Mapping[str, object]
    learns: bool = False
    against: str = PLAIN


DIRECTIONS = (
    Direction("decay by rule", {"routes.recency.per_query": True}),
    Direction("decay learned", {"routes.recency.predicted": True}),
    Direction(BY_RESULT, {"fusion.per_result": True}),
    Direction(f"decay learned, {BY_RESULT}", {"routes.recency.predicted": True, "fusion.per_result": True}),
    Direction("adaptation", {}, learns=True, against=HALF),
    Direction("adaptation, preferences", {}, learns=True, against="adaptation"),
    Direction(
        "weights by result, adaptation", {"fusion.per_result": True}, learns=True, against="weights by result, half"
    ),
)


def recipes() -> dict[str, Recipe]:
    """The recipe as it is, and with each direction; preferences add the stage that learns from use."""
    plain = load_recipe(PLAIN)
    off = override(plain, {"routes.recency.predicted": False, "fusion.per_result": False})
    made = {PLAIN: off} | {each.name: override(off, each.changes) for each in DIRECTIONS}
    data = recipe_data(off)
    made["adaptation, preferences"] = parse_recipe(PLAIN, {**data, "rerank": [{"name": "learned"}]})
    return made


def asked(engine: fivefold.Engine, questions: Sequence[Question], recipe: Recipe) -> Iterator[tuple[str, list[str]]]:
    """Each question's id and the ids it finds."""
    for question in questions:
        answer = engine.recall(question.text, k=K, recipe=recipe, now=question.now, history=question.history)
        yield question.id, [hit.memory.id for hit in answer]


def learn(engine: fivefold.Engine, questions: Sequence[Question], recipe: Recipe) -> str:
    """Feedback on these questions, and the verdict of the training that follows."""
    for question in questions:
        answer = engine.recall(question.text, k=K, recipe=recipe, now=question.now, history=question.history)
        used = [hit.memory.id for hit in answer if hit.memory.id in question.relevant]
        if used:
            engine.feedback(answer, used=used)
    return engine.train_reranker().describe()


def run(dataset: Dataset, store: str) -> tuple[dict[str, Rankings], list[str]]:
    """What every direction finds, and the verdicts of what was trained."""
    made = recipes()
    found: dict[str, Rankings] = {name: {} for name in (*made, *HALVES)}
    verdicts = []
    for name, memories in dataset.memories.items():
        questions = [each for each in dataset.questions if each.namespace == name and each.relevant]
        lessons, measured = questions[::2], questions[1::2]
        with fivefold.open(store, namespace=name) as engine:
            engine.configure(find_changes=False, find_repeats=False)  # the recipe reads neither
            engine.remember_many(memories)
            for each in (PLAIN, *(part.name for part in DIRECTIONS if not part.learns)):
                found[each] |= asked(engine, questions, made[each])
            for half, whole in HALVES.items():
                found[half] |= {each.id: found[whole][each.id] for each in measured}
            verdicts.append(f"{name}: {learn(engine, lessons, made[PLAIN])}")
            found["adaptation"] |= asked(engine, measured, made[PLAIN])
            found["adaptation, preferences"] |= asked(engine, measured, made["adaptation, preferences"])
            engine.unlearn()
            learn(engine, lessons, made[BY_RESULT])
            found[f"{BY_RESULT}, adaptation"] |= asked(engine, measured, made[BY_RESULT])
    return found, verdicts


def table(dataset: Dataset, found: Mapping[str, Rankings]) -> list[str]:
    """One line a direction: the figures with it, and the difference to the recipe without it."""
    scored: dict[str, Scores] = {}
    for name, rankings in found.items():
        questions = [question for question in dataset.questions if question.id in rankings]
        scored[name] = score(questions, rankings, METRICS)
    head = f"{'':<34}{'questions':>10}" + "".join(f"{metric:>11}" for metric in METRICS)
    lines = [head + f"{'Δ ' + METRICS[-1]:>12}{'better':>8}{'worse':>7}{'p':>8}"]
    for learns, plain in ((False, PLAIN), (True, HALF)):
        lines.append(_line(plain, scored, plain))
        lines += [_line(part.name, scored, part.against) for part in DIRECTIONS if part.learns == learns]
    return lines


def _line(name: str, scored: Mapping[str, Scores], against: str) -> str:
    of = scored[name]
    means = "".join(f"{sum(each[metric] for each in of.values()) / len(of):>11.3f}" for metric in METRICS)
    if name == against:
        return f"{name:<34}{len(of):>10}{means}"
    found = compare(name, against, scored, METRICS[-1], 1)
    return f"{name:<34}{len(of):>10}{means}{found.difference:>+12.4f}{found.better:>8}{found.worse:>7}{found.p:>8.3f}"


def main() -> None:
    """Store, ask, print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--locomo", type=Path, help="a file of LoCoMo instead of the lives")
    chosen = options.parse_args()
    dataset = locomo.load(chosen.locomo) if chosen.locomo else load_lives(shipped_lives("choose"))
    with tempfile.TemporaryDirectory() as folder:
        found, verdicts = run(dataset, f"{folder}/lives.db")
    print(*table(dataset, found), *verdicts, sep="\n")


if __name__ == "__main__":
    main()
