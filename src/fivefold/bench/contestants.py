"""The contestants of a run, and its questions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fivefold.bench.data import Dataset, Unit, by_session
from fivefold.errors import InvalidInput
from fivefold.retrieval.recipe import RACED, Recipe
from fivefold.retrieval.recipe_file import load_recipe

BASELINES = ("dense", "bm25")
"""What these two names mean in a run: plain searches without the engine."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who runs: a recipe, or without one the plain baseline of that name."""

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
        running.append(
            Contestant(_unique_name(name, running), load_recipe(recipe, {**fixed, **applicable, "unit": unit}))
        )
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
    """Whether the part a change names is in the recipe; other mistakes are reported when the recipe is built."""
    group, _, rest = key.partition(".")
    return group not in {"routes", "boosts", "select"} or f"{group}.{rest.partition('.')[0]}" in recipe.parts()


def _unique_name(name: str, running: Sequence[Contestant]) -> str:
    """A file goes by its name without folder and ending, unless another contestant does."""
    short = Path(name).stem if name.endswith(".toml") or "/" in name else name
    return name if any(contestant.name == short for contestant in running) else short


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
