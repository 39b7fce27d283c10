"""Simulated users: a namespace of small notes, questions about them, and people who use what they secretly prefer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from fivefold.engine import Engine
from fivefold.learning.reranker import LearnedReranker
from fivefold.retrieval.protocols import Pool
from fivefold.retrieval.recipe_file import load_recipe, without_part
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.reading import LearnedConstants, learned
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.memory import TYPES, Memory
from fivefold.values.query import age_in_days
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import Plan
from tests.support.toy_engine import Toy

NOW = datetime(2025, 6, 1, tzinfo=UTC)
WORDS = ("harbour", "garden", "piano", "bicycle", "kitchen", "train", "letter", "winter", "market", "lantern")

STAGE = "rerank.learned"

User = Callable[[Recall, np.random.Generator], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Seeing(SearchContext):
    """A search context with what was learned."""

    learned: LearnedReranker | None = None
    plan: Plan | None = None


def furnished(path: str, namespace: str = "default", notes: int = 150, seed: int = 3) -> Engine:
    """Notes of all types from the last year, each with three of the words."""
    engine = Engine(SqliteStore(path), namespace, Toy(), clock=lambda: NOW)
    chance = np.random.default_rng(seed)
    engine.remember_many(
        {
            "id": f"note-{i:03}",  # ties go by id, and a test must not turn on a random one
            "content": f"{' '.join(chance.choice(WORDS, 3, replace=False))} number {i}",
            "type": TYPES[i % len(TYPES)],
            "event_at": NOW - timedelta(days=float(chance.uniform(0, 365))),
            "importance": float(chance.uniform(0, 1)),
        }
        for i in range(notes)
    )
    return engine


def questions(count: int, seed: int) -> list[str]:
    chance = np.random.default_rng(seed)
    return [" ".join(chance.choice(WORDS, 2, replace=False)) for _ in range(count)]


def talk(engine: Engine, user: User, count: int, seed: int = 11) -> None:
    """So many recalls, each followed by what the user made of it."""
    chance = np.random.default_rng(seed)
    for question in questions(count, seed):
        answer = engine.recall(question)
        engine.feedback(answer, used=user(answer, chance))


def preferred(memory: Memory) -> bool:
    """What our users are after: events, and what is new."""
    return memory.type == "event" or age_in_days(memory.event_at, NOW) < 60


def after_the_preferred(answer: Recall, chance: np.random.Generator) -> list[str]:
    """Uses one of those it prefers, wherever it stands; where there is none, any."""
    wanted = [hit.memory.id for hit in answer if preferred(hit.memory)] or [hit.memory.id for hit in answer]
    return [str(chance.choice(wanted))]


def at_random(answer: Recall, chance: np.random.Generator) -> list[str]:
    return [str(chance.choice([hit.memory.id for hit in answer]))]


def by_place(answer: Recall, chance: np.random.Generator) -> list[str]:
    """Cares for nothing but where a memory stands: uses it by 1 / rank."""
    pull = 1 / np.arange(1, len(answer) + 1)
    return [str(chance.choice([hit.memory.id for hit in answer], p=pull / pull.sum()))]


def reranked(engine: Engine, question: str, known: LearnedReranker, k: int = 30) -> tuple[list[Hit], Pool]:
    """What a recall gave without the reranker, and its candidates after the stage has seen them."""
    recipe = load_recipe("default")
    answer = engine.recall(question, k, recipe=without_part(recipe, STAGE) if STAGE in recipe.parts() else recipe)
    reader = engine.store.reader(engine.namespace)
    search = Seeing(answer.query, reader, engine.settings, None, None, k, answer.id, learned=known, plan=answer.plan)
    return list(answer), learned(Pool([hit.candidate for hit in answer]), search, LearnedConstants())
