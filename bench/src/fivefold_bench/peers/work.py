"""The work that every engine gets: memories with texts and vectors, questions with theirs, as files."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np

from fivefold import sample
from fivefold.engine import Engine
from fivefold.evaluation import Question
from fivefold.models.embedders import DEFAULT, TokenEmbedder, embedder, unit
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.text.display import bar
from fivefold.text.passages import attributed_text, passages_of
from fivefold.values.memory import Record
from fivefold.values.serialize import Json, plain
from fivefold.values.times import spoken_date
from fivefold.values.vectors import Passage, QuestionReading, Reading, Vector
from fivefold.writing.draft import centre
from fivefold_bench.cache import cached
from fivefold_bench.data import Dataset
from fivefold_bench.measures import MINUTE, START, varied_texts

WARM = 3
"""Questions of the sample that are asked first and not counted."""

FIRST = 10_000_000
"""The number of the first varied turn; no real one ends in such a number."""

MOVED = 0.04
"""Normal noise that is added to each number of a varied turn's vector."""

SEED = 13


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A memory as the engines get it: the text with speaker and date, its vector, and the record for fivefold."""

    id: str
    text: str
    vector: Vector
    record: Json


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """Conversations and questions, all read once by fivefold's embedder."""

    talks: Mapping[str, Sequence[Turn]]
    questions: Sequence[Question]
    readings: Mapping[str, QuestionReading]
    model: TokenEmbedder

    @property
    def turns(self) -> int:
        return sum(len(turns) for turns in self.talks.values())


@dataclass(frozen=True, slots=True)
class Work:
    """A task for all engines: its folder of files, how many memories it has, and what its questions should find."""

    name: str
    folder: Path
    memories: int
    relevant: Mapping[str, frozenset[str]]


def sample_dataset() -> Dataset:
    """The shipped sample year as a benchmark, for a run without other data."""
    names = ("id", "session_id", "speaker", "content")
    records = [
        Record(
            **{name: item[name] for name in names if name in item}, event_at=datetime.fromisoformat(item["event_at"])
        )
        for item in sample.memories()
    ]
    questions = [
        Question(item.id, "sample", item.query, item.relevant, item.category, datetime.fromisoformat(item.now))
        for item in sample.questions()
    ]
    return Dataset("sample", "turn", {"sample": records}, questions, {})


def prepare(dataset: Dataset, progress: bool = False) -> Material:
    """Read every turn and every question once. Vectors stay in the cache of the benchmarks for the next run."""
    model = cast(TokenEmbedder, cached(embedder(DEFAULT)))
    talks: dict[str, list[Turn]] = {}
    total = sum(len(records) for records in dataset.memories.values())
    with bar("Reading memories", total, show=progress) as advance:
        for space, records in dataset.memories.items():
            talks[space] = _read_talk(space, records, model)
            advance(len(records))
    questions = [question for question in dataset.questions if question.relevant]
    texts = dict.fromkeys([*(item.text for item in questions), *(item.query for item in sample.questions()[:WARM])])
    with bar("Reading questions", len(texts), show=progress) as advance:
        readings = {}
        for text in texts:
            readings[text] = model.read_question(text)
            advance(1)
    return Material(talks, questions, readings, model)


def _read_talk(space: str, records: Sequence[Record], model: TokenEmbedder) -> list[Turn]:
    """A conversation written into fivefold in memory, so that the texts and vectors are those it would have there."""
    engine = Engine(SqliteStore(":memory:"), embedder=model)
    try:
        engine.configure(find_changes=False, find_repeats=False)
        engine.remember_many(list(records))
        turns, last = [], ("", "")
        for record in records:
            memory = engine.get(record.id or "")
            before = last[1] if memory.session_id == last[0] else ""
            vector = centre([reading.vector for reading in model.read(passages_of(memory, before))])
            turns.append(
                Turn(f"{space}/{memory.id}", attributed_text(memory, memory.content), vector, _row(space, record))
            )
            last = (memory.session_id or "", memory.content)
    finally:
        engine.close()
    return turns


def _row(space: str, record: Record) -> Json:
    session = f"{space}/{record.session_id}" if record.session_id else None
    fields = {"content": record.content, "speaker": record.speaker, "event_at": record.event_at}
    row: Json = plain({**fields, "id": f"{space}/{record.id}", "session_id": session})
    return row


def write_talks(material: Material, folder: Path, limit: int) -> Work:
    """Each conversation a collection of its own, as the benchmark means it."""
    chosen = _draw(material.questions, limit)
    for space, turns in material.talks.items():
        asked = [question for question in chosen if question.namespace == space]
        if asked:
            _write(folder / space, turns, asked, material)
    spaces = {question.namespace for question in chosen}
    count = sum(len(turns) for space, turns in material.talks.items() if space in spaces)
    name = f"in {len(spaces)} {'conversation' if len(spaces) == 1 else 'conversations'}"
    return Work(name, folder, count, _gold(chosen))


def write_pool(material: Material, folder: Path, size: int, limit: int) -> Work:
    """One collection of `size` memories: as many turns of the conversations as fit, then varied turns of the sample."""
    turns = list(chain.from_iterable(material.talks.values()))[:size]
    known = {turn.id for turn in turns}
    chosen = _draw([question for question in material.questions if _ids(question) <= known], limit)
    texts = list(varied_texts(size - len(turns)))
    places, year = sorted({place for place, _ in texts}), sample.memories()
    read = material.model.read([Passage(year[place]["content"]) for place in places])
    sources = dict(zip(places, read, strict=True))
    _write(folder / "pool", chain(turns, _varied(texts, sources)), chosen, material)
    tokens = {place: b64encode(reading.tokens).decode() for place, reading in sources.items()}
    (folder / "pool" / "sources.json").write_text(json.dumps(tokens))
    return Work(f"{size:,}", folder, size, _gold(chosen))


def _varied(texts: Sequence[tuple[int, str]], sources: Mapping[int, Reading]) -> Iterator[Turn]:
    chance = np.random.default_rng(SEED)
    for place, (source, text) in enumerate(texts):
        number, when = FIRST + place, START + 7 * place * MINUTE
        near = sources[source].vector
        moved = near + MOVED * chance.standard_normal(near.shape, dtype=np.float32)
        record = {"id": f"varied/{number}", "content": f"{text} {number}", "speaker": "user", "event_at": when}
        yield Turn(
            f"varied/{number}",
            f"{spoken_date(when)} {text} {number}",
            unit(moved[None])[0],
            plain({**record, "number": number, "source": source}),
        )


def _write(folder: Path, turns: Sequence[Turn] | Iterator[Turn], questions: Sequence[Question], of: Material) -> None:
    folder.mkdir(parents=True)
    vectors = []
    with (
        (folder / "memories.jsonl").open("w", encoding="utf-8") as memories,
        (folder / "records.jsonl").open("w", encoding="utf-8") as records,
    ):
        for turn in turns:
            memories.write(_line({"id": turn.id, "text": turn.text}))
            records.write(_line(turn.record))
            vectors.append(turn.vector)
    np.save(folder / "vectors.npy", np.stack(vectors).astype(np.float32))
    warm = [
        Question("", "", item.query, (), now=datetime.fromisoformat(item.now)) for item in sample.questions()[:WARM]
    ]
    asked = [*warm, *questions]
    rows = [_line(plain({"id": item.id, "text": item.text, "now": item.now})) for item in asked]
    (folder / "questions.jsonl").write_text("".join(rows), "utf-8")
    _write_readings(folder, [of.readings[item.text] for item in asked])


def _write_readings(folder: Path, readings: Sequence[QuestionReading]) -> None:
    np.save(folder / "question_vectors.npy", np.stack([reading.vector for reading in readings]).astype(np.float32))
    arrays: dict[str, Any] = {}
    for number, reading in enumerate(readings):
        arrays[f"vector{number}"], arrays[f"tokens{number}"] = reading.vector, reading.tokens
        arrays[f"weights{number}"] = reading.weights
        arrays[f"spans{number}"] = np.array(reading.spans, dtype=np.int64).reshape(-1, 2)
    np.savez(folder / "question_readings.npz", **arrays)


def _draw(questions: Sequence[Question], limit: int) -> list[Question]:
    """Some questions of all kinds, in an order of chance, so that a run that is cut short has some of all kinds too."""
    return random.Random(SEED).sample(questions, min(limit, len(questions)))


def _gold(questions: Sequence[Question]) -> dict[str, frozenset[str]]:
    return {question.id: _ids(question) for question in questions}


def _ids(question: Question) -> frozenset[str]:
    return frozenset(f"{question.namespace}/{id}" for id in question.relevant)


def _line(row: Json) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
