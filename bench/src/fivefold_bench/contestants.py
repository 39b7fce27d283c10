"""The contestants of a run, and its questions."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import apsw
import numpy as np

from fivefold.errors import InvalidInput
from fivefold.evaluation import Question
from fivefold.models.embedders import Embedder, Progress, unit
from fivefold.retrieval.recipe import RACED, Recipe
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.text.lexemes import lexemes
from fivefold.values.fields import Count, check
from fivefold_bench.data import Dataset, Unit, by_session

BASELINES = ("dense", "bm25")
"""Plain searches without the engine, by their names in a run."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A recipe in a run, or without one the plain baseline of that name."""

    name: str
    recipe: Recipe | None = None


def contestants_for(
    choice: str, overrides: Mapping[str, object], unit: Unit, seed: int = 0
) -> tuple[list[Contestant], list[str]]:
    """The chosen contestants, baselines first, and a note for every change that does not apply to one of them.

    Noise is drawn by `seed`, so that a run gives the same each time and in any number of processes.
    """
    names = [*BASELINES, *RACED] if choice.strip() == "all" else [part.strip() for part in choice.split(",")]
    names = list(dict.fromkeys(name for name in names if name))
    if not names:
        raise InvalidInput("is empty; name some, separated by commas, or all", field="recipes")
    running = [Contestant(name) for name in BASELINES if name in names]
    recipes = {name: load_recipe(name.removeprefix("recipe:")) for name in names if name not in BASELINES}
    _check_overrides(overrides, list(recipes.values()))
    notes: list[str] = []
    for name, recipe in recipes.items():
        applicable = {key: value for key, value in overrides.items() if _has_place(key, recipe)}
        notes += [
            f"{key} does not apply to {name} and changed nothing there" for key in overrides if key not in applicable
        ]
        fixed: dict[str, object] = {f"{part}.seed": seed for part in recipe.parts() if part.endswith(".noise")}
        if "rerank.cross_encoder" in recipe.parts():  # else what is read would depend on how busy the machine is
            fixed["rerank.cross_encoder.budget_ms"] = 0
        short = Path(name).stem if name.endswith(".toml") or "/" in name else name  # a file without folder and ending
        own = name if any(contestant.name == short for contestant in running) else short
        running.append(Contestant(own, load_recipe(recipe, {**fixed, **applicable, "unit": unit})))
    return running, notes


def _check_overrides(overrides: Mapping[str, object], recipes: Sequence[Recipe]) -> None:
    """A change must apply to some recipe; the unit is the same for all and set elsewhere."""
    if "unit" in overrides:
        raise InvalidInput("cannot change unit, which is the same for every recipe", field="overrides")
    if overrides and not recipes:
        raise InvalidInput("changes recipes, and only baselines are named", field="overrides")
    for key in overrides:
        if not any(_has_place(key, recipe) for recipe in recipes):
            parts = sorted({part for recipe in recipes for part in recipe.parts()})
            raise InvalidInput(
                f"{key} changes nothing in any of the recipes; their parts are {', '.join(parts)}", field="overrides"
            )


def _has_place(key: str, recipe: Recipe) -> bool:
    """True if the part that a change names is in the recipe; other mistakes are reported when the recipe is built."""
    group, _, rest = key.partition(".")
    return group not in {"routes", "boosts", "select"} or f"{group}.{rest.partition('.')[0]}" in recipe.parts()


def select_questions(
    dataset: Dataset, unit: Unit | None = None, limit: int | None = None, seed: int | None = None
) -> Dataset:
    """The part of a dataset to run: the first questions or a sample, and their namespaces.

    With `unit` it is scored by turn or by session alone.
    """
    questions = [question for question in dataset.questions if question.relevant]
    notes = list(dataset.notes)
    if len(questions) < len(dataset.questions):
        notes.append(f"questions left out because they have no gold: {len(dataset.questions) - len(questions)}")
    if limit is not None and limit < len(questions):
        chosen = (
            set(random.Random(seed).sample(range(len(questions)), limit)) if seed is not None else set(range(limit))
        )
        notes.append(
            f"{limit} of {len(questions)} questions, " + ("the first" if seed is None else f"drawn by seed {seed}")
        )
        questions = [question for place, question in enumerate(questions) if place in chosen]
    if not questions:
        raise InvalidInput(f"{dataset.name} has no question with gold to find")
    selection = _restrict(dataset, {question.id for question in questions}, tuple(notes))
    if unit is None:
        return selection
    if unit == selection.unit:
        return replace(selection, sessions=None)
    if unit == "turn":
        raise InvalidInput(f"the gold of {dataset.name} names sessions, so it cannot be scored by {unit}")
    return selection.sessions or by_session(selection)


def _restrict(dataset: Dataset, ids: set[str], notes: tuple[str, ...]) -> Dataset:
    """The questions of these ids, and nothing that only others need."""
    questions = tuple(question for question in dataset.questions if question.id in ids)
    spaces = {question.namespace for question in questions}
    return replace(
        dataset,
        questions=questions,
        notes=notes,
        memories={name: records for name, records in dataset.memories.items() if name in spaces},
        plain={name: texts for name, texts in dataset.plain.items() if name in spaces},
        sessions=_restrict(dataset.sessions, ids, notes) if dataset.sessions else None,
    )


# The plain baselines every recipe is measured against: cosine alone and BM25 alone, without the engine.

Hits = list[tuple[str, float]]
"""Ids with their scores, best first; equal scores are in the order of their ids."""


SHOWN = 5
"""First hits whose text is returned with them."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of a baseline for each question, the milliseconds each search took, and the texts of the first hits."""

    name: str
    hits: Mapping[str, Hits]
    ms: Mapping[str, float]
    texts: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Index:
    """The texts of a namespace, ready to be searched; `speaking` gives the text that speaks for an id."""

    search: Callable[[Question], Hits]
    speaking: Callable[[Question, str], str]


IndexTexts = Callable[[Sequence[tuple[str, str]]], Index]


def dense(dataset: Dataset, model: Embedder, k: int, progress: Progress | None = None) -> Ranking:
    """Exact cosine; the best text of an id speaks for it. Times leave out the encoding of the question."""
    check(k, Count, "k")
    question_vectors = unit(model.embed([question.text for question in dataset.questions], progress))
    vector_of = {question.id: vector for question, vector in zip(dataset.questions, question_vectors, strict=True)}

    def index_texts(texts: Sequence[tuple[str, str]]) -> Index:
        ids = list(dict.fromkeys(id for id, _ in texts))
        place = {id: number for number, id in enumerate(ids)}
        owner = np.array([place[id] for id, _ in texts], dtype=np.intp)
        vectors = unit(model.embed([text for _, text in texts], progress))

        def search(question: Question) -> Hits:
            best = np.full(len(ids), -np.inf, dtype=np.float32)
            np.maximum.at(best, owner, vectors @ vector_of[question.id])
            return _top(zip(ids, best.tolist(), strict=True), k)

        def speaking(question: Question, id: str) -> str:
            rows = np.flatnonzero(owner == place[id])
            return texts[int(rows[np.argmax(vectors[rows] @ vector_of[question.id])])][1]

        return Index(search, speaking)

    return _run("dense", dataset, index_texts)


def bm25(dataset: Dataset, k: int) -> Ranking:
    """SQLite's BM25 (k1 1.2, b 0.75) over stemmed lexemes; all texts of an id are one document.

    For a session that finds more than its best turn does, and a baseline should be as strong as it can be.
    """
    check(k, Count, "k")

    def index_texts(texts: Sequence[tuple[str, str]]) -> Index:
        documents: dict[str, list[str]] = {}
        for id, text in texts:
            documents.setdefault(id, []).extend(lexemes(text))
        ids, index = list(documents), _index(documents.values())

        def search(question: Question) -> Hits:
            expression = " OR ".join(f'"{lexeme}"' for lexeme in dict.fromkeys(lexemes(question.text)))
            if not expression:
                return []
            rows = index.execute("SELECT rowid, -rank FROM plain WHERE plain MATCH ?", (expression,))
            return _top(((ids[row], score) for row, score in rows), k)

        def speaking(question: Question, id: str) -> str:
            words = set(lexemes(question.text))
            return max((text for own, text in texts if own == id), key=lambda text: len(words & set(lexemes(text))))

        return Index(search, speaking)

    return _run("bm25", dataset, index_texts)


def _index(documents: Iterable[list[str]]) -> apsw.Connection:
    """An FTS5 table in memory; lexemes come ready made, so its tokenizer only splits at spaces."""
    index = apsw.Connection(":memory:")
    index.execute(
        "CREATE VIRTUAL TABLE plain USING fts5(lexemes, content='', tokenize=\"ascii tokenchars '-._/@:+#&~=?%\\'\")"
    )
    with index:
        rows = ((row, " ".join(document)) for row, document in enumerate(documents))
        index.executemany("INSERT INTO plain(rowid, lexemes) VALUES (?, ?)", rows)
    return index


def _run(name: str, dataset: Dataset, index_texts: IndexTexts) -> Ranking:
    """All questions of a namespace after its texts are indexed, so that only one index is in memory at a time."""
    hits: dict[str, Hits] = {}
    ms: dict[str, float] = {}
    shown: dict[str, tuple[str, ...]] = {}
    by_namespace: dict[str, list[Question]] = {}
    for question in dataset.questions:
        by_namespace.setdefault(question.namespace, []).append(question)
    for namespace, questions in by_namespace.items():
        index = index_texts(list(dataset.plain[namespace]))
        for question in questions:
            start = perf_counter()
            hits[question.id] = index.search(question)
            ms[question.id] = (perf_counter() - start) * 1000
            shown[question.id] = tuple(index.speaking(question, id) for id, _ in hits[question.id][:SHOWN])
    return Ranking(name, hits, ms, shown)


def _top(scored: Iterable[tuple[str, float]], k: int) -> Hits:
    return heapq.nsmallest(k, scored, key=lambda hit: (-hit[1], hit[0]))
