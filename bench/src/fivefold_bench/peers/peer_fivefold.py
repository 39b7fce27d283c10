"""fivefold itself, in the same way as the others: a SQLite file, ready-made readings, one recipe at one effort."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from fivefold.engine import Engine
from fivefold.models.embedders import DEFAULT, Matrix, Progress, embedder
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.recall_trace import Effort
from fivefold.values.vectors import Passage, QuestionReading, Reading, Span
from fivefold_bench.cache import CachedTokenEmbedder, cached

_NUMBER = re.compile(r"(\d+)$")


class ReadyReadings:
    """Readings that were made before: of real turns from the cache, of varied ones by the number they end in."""

    def __init__(self, data: Path) -> None:
        cache = cached(embedder(DEFAULT))
        assert isinstance(cache, CachedTokenEmbedder)
        self.real = cache
        self.pin, self.dimension = cache.pin, cache.dimension
        sources = data / "sources.json"
        packed = json.loads(sources.read_text()) if sources.exists() else {}
        self._tokens = {int(place): b64decode(text) for place, text in packed.items()}
        self._questions = _question_readings(data)
        self.varied: dict[int, Reading] = {}
        """The readings of the varied turns of a batch."""

    def keep(self, numbers: Iterable[int | None], sources: Iterable[int | None], vectors: Matrix) -> None:
        self.varied = {
            number: Reading(vector, self._tokens[source])
            for number, source, vector in zip(numbers, sources, vectors, strict=True)
            if number is not None and source is not None
        }

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        return np.stack([reading.vector for reading in self.read([Passage(text) for text in texts])])

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        known = [self._varied(passage.text) for passage in passages]
        missing = [passage for passage, reading in zip(passages, known, strict=True) if reading is None]
        real = iter(self.real.read(missing) if missing else [])
        return [next(real) if reading is None else reading for reading in known]

    def _varied(self, text: str) -> Reading | None:
        found = _NUMBER.search(text) if self.varied else None
        return self.varied.get(int(found[1])) if found else None

    def read_question(self, question: str) -> QuestionReading:
        return self._questions[question]

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        return []


class FivefoldPeer:
    """No search for changes and repeats while writing: no other engine looks for them."""

    def __init__(self, folder: Path, data: Path, option: str) -> None:
        recipe, _, effort = option.partition(":")
        self._recipe, self._effort = load_recipe(recipe, {"unit": "turn"}), cast(Effort, effort or "normal")
        self._data, self._model = data, ReadyReadings(data)
        self._engine = Engine(SqliteStore(str(folder / "fivefold.db")), embedder=self._model)
        lines = (data / "questions.jsonl").read_text("utf-8").splitlines()
        self._now = {item["text"]: item["now"] for item in map(json.loads, lines)}

    def write(self, batches: Iterable[tuple[list[str], list[str], Any]]) -> None:
        self._engine.configure(find_changes=False, find_repeats=False)
        with (self._data / "records.jsonl").open(encoding="utf-8") as lines:
            for ids, _, vectors in batches:
                records = [json.loads(line) for line in islice(lines, len(ids))]
                sources = [record.pop("source", None) for record in records]
                self._model.keep([record.pop("number", None) for record in records], sources, vectors)
                self._engine.remember_many(records)

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        found = self._engine.recall(text, k, recipe=self._recipe, effort=self._effort, now=self._now[text])
        return [hit.memory.id for hit in found]

    @property
    def readings_made(self) -> int:
        """Texts that were not ready and were read by the model while the clock ran."""
        return self._model.real.misses

    def close(self) -> None:
        self._engine.close()


def _question_readings(data: Path) -> dict[str, QuestionReading]:
    lines = (data / "questions.jsonl").read_text("utf-8").splitlines()
    with np.load(data / "question_readings.npz") as file:
        return {
            json.loads(line)["text"]: QuestionReading(
                file[f"vector{number}"],
                file[f"tokens{number}"],
                file[f"weights{number}"],
                tuple((int(start), int(end)) for start, end in file[f"spans{number}"]),
            )
            for number, line in enumerate(lines)
        }


def open_peer(folder: Path, data: Path, option: str) -> FivefoldPeer:
    return FivefoldPeer(folder, data, option)
