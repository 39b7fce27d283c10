"""Lists of candidates with the memory that is wanted, by which the decay and each result's weights are learned (D12).

Two kinds. Scenes were written for the reader: memories with dates, and questions with the memories that answer them.
They are stored and searched as in a recall. Simulated lists belong to the generated queries: their signals are drawn,
and the wanted memory is the one that the query's intent and its named time ask for. No text of a benchmark is in them.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from training.weights.examples import OUT, vectors
from training.weights.generate import Row

import fivefold
from fivefold.models.embedders import embedder
from fivefold.models.weights import Times
from fivefold.models.weights.features import features
from fivefold.stores.records import Composite
from fivefold.text.display import bar
from fivefold.text.time_grammar import EARLIEST, find_window
from fivefold.values.query import Decay, age_in_days

Array = npt.NDArray[np.float32]

SCENES = Path("training/reader/data/scenes.jsonl.xz")
TOGETHER = 8
"""How many scenes lie in one namespace, so that there is something to choose from."""

DEPTH = 50
NOW = datetime(2025, 6, 18, 10, tzinfo=UTC)
"""When all questions are asked. The dates of a scene are moved so that it ends shortly before."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Questions with their candidates. `signals` are similarity, age in days and frequency; `wanted` adds up to 1."""

    vectors: Array
    features: Array
    times: Array
    units: Array
    signals: Array
    mask: Array
    wanted: Array

    def __len__(self) -> int:
        return len(self.vectors)

    def arrays(self) -> tuple[Array, ...]:
        return (self.vectors, self.features, self.times, self.units, self.signals, self.mask, self.wanted)


@dataclass(frozen=True, slots=True)
class Listed:
    """One question with its candidates, before it becomes rows of arrays."""

    text: str
    times: Times
    signals: Array
    wanted: Array


def lists_of(listed: Sequence[Listed], given: Array) -> Lists:
    """The questions with their vectors as arrays, candidates filled up to the depth."""
    signals = np.zeros((len(listed), DEPTH, 3), np.float32)
    mask, wanted = np.zeros((2, len(listed), DEPTH), np.float32)
    for i, one in enumerate(listed):
        size = len(one.signals)
        signals[i, :size], mask[i, :size], wanted[i, :size] = one.signals, 1, one.wanted / one.wanted.sum()
    return Lists(
        given,
        np.stack([features(one.text) for one in listed]),
        np.stack([one.times.vector() for one in listed]),
        np.array([one.times.unit for one in listed], dtype=np.float32),
        signals,
        mask,
        wanted,
    )


def times_of(text: str, span: float, newest: float) -> Times:
    """What a question of that wording names, asked now over memories that reach so far back."""
    window = find_window(text, NOW)
    if window is None or window.start <= EARLIEST or window.start > NOW:
        return Times(None, 0.0, span, newest)
    return Times(age_in_days(window.start, NOW), max(0.0, age_in_days(window.end, NOW)), span, newest)


def join(parts: Sequence[Lists]) -> Lists:
    """All lists after one another."""
    return Lists(*(np.concatenate(each) for each in zip(*(part.arrays() for part in parts), strict=True)))


# Simulated lists


def simulated(rows: Sequence[Row], seed: int) -> Iterator[Listed]:
    """A list for each generated query, drawn by what it asks for."""
    rng = np.random.default_rng(seed)
    for row in rows:
        span = float(np.exp(rng.uniform(np.log(7), np.log(1_500))))
        bursts = span * rng.random(10) ** 1.5
        ages = np.clip(rng.choice(bursts, DEPTH) + rng.normal(0, span * 0.01, DEPTH), 0.02, span)
        times = times_of(row.text, float(ages.max()), float(ages.min()))
        if times.begins is not None and rng.random() < 0.8:
            inside = rng.choice(DEPTH, size=int(rng.integers(1, 5)), replace=False)
            ages[inside] = rng.uniform(times.ends, max(times.begins, times.ends + 0.05), len(inside))
        similarity = np.clip(0.2 + 0.4 * rng.beta(1.6, 3.5, DEPTH), 0, 1)
        spoken = rng.beta(0.8, 3.0, DEPTH)
        about = rng.choice(DEPTH, size=int(rng.integers(1, 5)), replace=False)
        if row.intent in ("semantic", "mixed"):
            similarity[about] = np.clip(similarity[about] + rng.uniform(0.1, 0.35, len(about)), 0, 1)
        signals = np.column_stack([similarity, ages, spoken / spoken.max()]).astype(np.float32)
        yield Listed(row.text, times, signals, _wanted(row.intent, signals, about, times))


def _wanted(intent: str, signals: Array, about: npt.NDArray[np.int64], times: Times) -> Array:
    """The chances of being wanted: the frequent, the newest, what is of the named time, what is like the question."""
    similarity, ages, spoken = signals.T
    chances = np.zeros(len(signals), np.float32)
    if intent == "frequency":
        chances[np.argsort(-spoken)[:2]] = 1
        return chances
    inside = np.ones(len(signals), bool)
    if times.begins is not None:
        inside = (ages <= times.begins) & (ages >= times.ends)
    pool = np.arange(len(signals)) if intent == "temporal" else about
    pool = pool[inside[pool]] if inside[pool].any() else pool
    if intent == "semantic":
        chances[pool[np.argmax(similarity[pool])]] = 1
    elif times.begins is not None and inside[pool].any():
        chances[pool] = 1
    else:
        chances[pool[np.argsort(ages[pool])[: 2 if intent == "temporal" else 1]]] = 1
    return chances


# Scenes


def scene_lists(choice: str, most: int | None = None, *, show: bool = True) -> Lists:
    """The answered questions of scenes, of all or of the first groups; what was searched once is read back."""
    path = OUT / f"scenes-{hashlib.sha256(embedder(choice).pin.encode()).hexdigest()[:12]}-{most or 'all'}.npz"
    if not path.exists():
        with lzma.open(SCENES, "rt", encoding="utf-8") as lines:
            scenes = [json.loads(line) for line in lines]
        random.Random(1).shuffle(scenes)
        groups = [scenes[start : start + TOGETHER] for start in range(0, len(scenes), TOGETHER)]
        _save(path, groups[:most], choice, show)
    with np.load(path) as kept:
        return Lists(*(kept[f"part{i}"] for i in range(7)))


def _save(path: Path, groups: Sequence[list[dict[str, Any]]], choice: str, show: bool) -> None:
    listed: list[Listed] = []
    with tempfile.TemporaryDirectory() as folder, bar("searching scenes", len(groups), show=show) as advance:
        for number, group in enumerate(groups):
            listed += _search(group, f"{folder}/{number}.db", choice, number)
            advance(1)
    whole = lists_of(listed, vectors([one.text for one in listed], choice, show=show))
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {f"part{i}": part for i, part in enumerate(whole.arrays())}
    np.savez(path, **arrays)


def _search(group: list[dict[str, Any]], store: str, choice: str, seed: int) -> list[Listed]:
    """Store the scenes in one namespace and search the nearest of each answered question."""
    chance = random.Random(seed)
    with fivefold.open(store, embedder=choice) as engine:
        engine.configure(find_changes=False, find_repeats=False)
        for number, scene in enumerate(group):
            last = max(memory["when"] for memory in scene["memories"])
            moved = NOW - timedelta(days=chance.uniform(0.2, 20)) - datetime.fromisoformat(last).replace(tzinfo=UTC)
            engine.remember_many(
                {
                    "id": f"{number}/{memory['id']}",
                    "content": memory["text"],
                    "speaker": memory["speaker"],
                    "event_at": datetime.fromisoformat(memory["when"]).replace(tzinfo=UTC) + moved,
                }
                for memory in scene["memories"]
            )
        asked = [(i, item) for i, scene in enumerate(group) for item in scene["questions"] if item["answers"]]
        given = vectors([item["q"] for _, item in asked], choice, show=False)
        found = [
            _one(engine, item["q"], {f"{i}/{id}" for id in item["answers"]}, vector)
            for (i, item), vector in zip(asked, given, strict=True)
        ]
    return [one for one in found if one is not None]


def _one(engine: fivefold.Engine, text: str, answers: set[str], vector: Array) -> Listed | None:
    """The candidates of a question; None where no answer is among them."""
    reader = engine._namespace.reader
    space = reader.search.vector_space()
    assert space is not None
    how = Composite(DEPTH, ("similarity", 1.0), None, ("frequency", 1.0), Decay(), NOW)
    scores: dict[int, dict[str, float]] = {}
    for hit in reader.search.composite(space, vector, how):
        scores.setdefault(hit.row, {})[hit.route] = hit.score
    memories = reader.memories.fetch(list(scores))
    ages = {row: age_in_days(memory.event_at, NOW) for row, memory in memories.items()}
    signals = [[scores[row]["similarity"], ages[row], scores[row]["frequency"]] for row in memories]
    wanted = np.array([memory.id in answers for memory in memories.values()], dtype=np.float32)
    if not wanted.any():
        return None
    times = times_of(text, max(ages.values()), min(ages.values()))
    return Listed(text, times, np.array(signals, dtype=np.float32), wanted)
