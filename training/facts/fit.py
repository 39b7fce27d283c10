"""Fit the weights of facts and of lines on the lists of the lives for choosing, and print them.

A clause counts as far as it has the keys of a listed fact, current or stale, of which its memory is a source. The
weights of marks are pulled towards what they mean, and those of words towards zero, since there are few lives. The
weights of lines are fitted to the current facts, with clauses weighed by the other lives:
`python training/facts/fit.py > …/data/fact_weights.txt`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from fivefold.engine import Engine
from fivefold.evaluation import read_life
from fivefold.models.embedders import embedder
from fivefold.retrieval.known import line_marks
from fivefold.stores import open_store
from fivefold.stores.interface import Reader, Store
from fivefold.stores.records import StoredFact, Succession
from fivefold.text.lexemes import lexemes
from fivefold.values.json_files import Fields, document
from fivefold.values.known import SECTIONS
from fivefold.values.memory import Memory
from fivefold.writing.extract.facts import features, lines, words_of
from fivefold_bench.everyday import shipped_lives
from fivefold_bench.profile import LISTS

MEANT = {
    "bias": -1.9,
    **dict.fromkeys(SECTIONS, 0.3),
    "code": 0.9,
    "number": 0.7,
    "name": 0.4,
    "given": 0.4,
    "own_state": 0.5,
    "often": 0.4,
    "small": -0.5,
    "reply": -0.6,
    "short": -0.3,
    "past": -0.3,
}
MEANT_OF_LINES = {"bias": -0.5, "weight": 1.0}
AGE = 1.4
"""Weight of the age of a line, far above the fitted one: with it, at most one line of 25 is stale in the lives."""
PULL = 5.0
"""How strongly a weight is held at what it means."""
WORD = 0.5
"""Value of a word as a mark; a smaller one is pulled to zero more strongly."""
MIN_LIVES = 5
"""A word has a weight if so many lives use it."""

Marks = dict[str, float]
Relations = tuple[Sequence[Succession], Reader]
"""The relations of a life, and what reads it."""


@dataclass
class Clause:
    life: int
    memory: Memory
    start: int
    text: str
    marks: Marks
    listed: float
    """The share of keys of a current or stale fact that it has."""
    current: float
    """The share of keys of a current fact, if it says nothing stale."""


def read(store: Store) -> tuple[list[Clause], list[Relations]]:
    """The clauses of the lives, and the relations between their memories."""
    found: list[Clause] = []
    relations = []
    model = embedder("fivefold-minilm")
    for number, path in enumerate(path for path in shipped_lives("choose") if (LISTS / path.name).exists()):
        life, lists = read_life(path), Fields.of(path.name, document(LISTS / path.name))
        engine = Engine(store, life.name, model)
        engine.remember_many(life.memories)
        reader = store.reader(life.name)
        memories = [memory for memory, _ in reader.memories.scan(0, 10_000) if memory.kind != "session"]
        found += [clause for memory in memories for clause in clauses_of(number, memory, lists)]
        relations.append((reader.memories.successions([memory.row for memory in memories]), reader))
    return found, relations


def clauses_of(life: int, memory: Memory, lists: Fields) -> Iterator[Clause]:
    text = memory.content
    for place, (start, end) in enumerate(lines(text)):
        clause = text[start:end].casefold()
        if "?" in text[end - 1 : end + 1]:
            continue
        current, stale = (
            max(
                (share(clause, entry["keys"]) for entry in lists.entries(kind) if memory.id in entry["sources"]),
                default=0.0,
            )
            for kind in ("facts", "stale")
        )
        yield Clause(
            life,
            memory,
            start,
            text[start:end],
            {"bias": 1.0, **features(text, start, end, words_of(text[start:end]), memory.speaker, memory.type, place)},
            max(current, stale if stale == 1 else stale / 2),
            current if stale < 1 else 0.3 * current,
        )


def share(clause: str, keys: Sequence[Sequence[str]]) -> float:
    return sum(any(word.casefold() in clause for word in key) for key in keys) / len(keys)


def fit(rows: Sequence[Marks], right: Sequence[float], meant: Marks, pull: float) -> Marks:
    """Logistic regression by Newton's method, with the meant weights as a prior."""
    names = sorted({name for marks in rows for name in marks})
    place = {name: number for number, name in enumerate(names)}
    matrix = np.zeros((len(rows), len(names)))
    for number, marks in enumerate(rows):
        for name, value in marks.items():
            matrix[number, place[name]] = value
    prior = np.array([meant.get(name, 0.0) for name in names])
    held = np.array([0.01 if name == "bias" else pull for name in names])
    weights = prior.copy()
    for _ in range(8):
        chance = 1 / (1 + np.exp(-(matrix @ weights)))
        gradient = matrix.T @ (chance - np.array(right)) + held * (weights - prior)
        curve = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + np.diag(held)
        weights = weights - np.linalg.solve(curve, gradient)
    return dict(zip(names, weights.tolist(), strict=True))


def with_words(clauses: Sequence[Clause]) -> list[Marks]:
    lives: dict[str, set[int]] = {}
    for clause in clauses:
        for word in words_of(clause.text):
            lives.setdefault(word, set()).add(clause.life)
    known = {word for word, of in lives.items() if len(of) >= MIN_LIVES}
    return [
        {**clause.marks, **{f"word {word}": WORD for word in words_of(clause.text) if word in known}}
        for clause in clauses
    ]


def chance(marks: Marks, weights: Marks) -> float:
    return float(1 / (1 + np.exp(-sum(weights.get(name, 0.0) * value for name, value in marks.items()))))


def stored_fact(clause: Clause, weight: float) -> StoredFact:
    memory = clause.memory
    return StoredFact(
        row=memory.row,
        id=memory.id,
        section="who",
        weight=weight,
        text=clause.text,
        start=clause.start,
        event_at=memory.event_at,
        speaker=memory.speaker,
        valid_to=None,
        superseded_by=None,
        expires_at=None,
        pinned=False,
        tags="[]",
    )


def lines_of(clauses: Sequence[Clause], weights: Sequence[float], relations: Relations) -> list[Marks]:
    """The marks of the clauses of a life as lines."""
    stored = [stored_fact(clause, weight) for clause, weight in zip(clauses, weights, strict=True)]
    older: dict[int, list[Succession]] = {}
    newer: dict[int, list[Succession]] = {}
    links, reader = relations
    for link in links:
        older.setdefault(link.newer, []).append(link)
        newer.setdefault(link.older, []).append(link)
    words = [frozenset(lexemes(fact.text)) for fact in stored]
    return list(line_marks(stored, words, older, newer, reader.memories.event_span()))


def fit_lines(clauses: Sequence[Clause], marks: Sequence[Marks], relations: Sequence[Relations]) -> Marks:
    """The weights of lines, from clauses that other lives have weighed."""
    rows: list[Marks] = []
    right: list[float] = []
    for life, of_life in enumerate(relations):
        others = [number for number, clause in enumerate(clauses) if clause.life != life]
        own = [n for n, clause in enumerate(clauses) if clause.life == life and clause.memory.superseded_by is None]
        weights = fit([marks[n] for n in others], [clauses[n].listed for n in others], MEANT, PULL)
        chances = [chance(marks[n], weights) for n in own]
        rows += lines_of([clauses[n] for n in own], chances, of_life)
        right += [clauses[n].current for n in own]
    return fit(rows, right, MEANT_OF_LINES, 1.0)


def show(name: str, weights: Marks) -> None:
    print(f"\n[{name}]")
    for mark, weight in weights.items():
        if round(weight, 2):
            print(mark, f"{weight:.2f}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, closing(open_store(f"{folder}/lives.db")) as store:
        clauses, relations = read(store)
        marks = with_words(clauses)
        weights = fit(marks, [clause.listed for clause in clauses], MEANT, PULL)
        of_lines = fit_lines(clauses, marks, relations)
    words = {name.removeprefix("word "): WORD * weight for name, weight in weights.items() if name.startswith("word ")}
    print("# The weights of the marks and words of a clause and of a line, fitted by training/facts/fit.py.")
    show("marks", {name: weight for name, weight in weights.items() if not name.startswith("word ")})
    show("words", words)
    show("lines", {**of_lines, "age": AGE})


if __name__ == "__main__":
    main()
