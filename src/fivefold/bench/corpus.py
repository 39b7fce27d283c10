"""Memories in any number for speed measurements: the sample's words and vectors, varied, with a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np

from fivefold import sample
from fivefold.models.embedders import DEFAULT, Matrix, Progress, embedder, read_passages, read_question, unit
from fivefold.values.reading import Passage, QuestionReading, Reading, Span

Readings = tuple[Matrix, list[bytes]]
"""Vectors, and the token vectors of each as they are stored."""

WORDS = 30
SESSION = 20
"""Words of a turn and turns of a session where writing with the model is measured."""

PARTS = 100
"""A filter on `metadata.part` leaves one in so many notes."""

START = datetime(2015, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def records(count: int, seed: int = 5) -> Iterator[dict[str, Any]]:
    """Notes that read like the sample's turns with a third of the words changed, so that no two are equal."""
    for number, (_, text) in enumerate(varied_texts(count, seed)):
        yield {
            "content": f"{text} {number}",
            "speaker": "user",
            "event_at": START + 7 * number * MINUTE,
            "metadata": {"part": number % PARTS},
        }


def varied_texts(count: int, seed: int = 5) -> Iterator[tuple[int, str]]:
    """Texts of the sample's turns with a third of the words changed, each with the place of its turn in the sample."""
    chance = random.Random(seed)
    texts = [item["content"] for item in sample.memories()]
    words = [word for text in texts for word in text.split()]
    for _ in range(count):
        place = chance.randrange(len(texts))
        spoken_words = texts[place].split()[:40]
        for _ in range(len(spoken_words) // 3):
            spoken_words[chance.randrange(len(spoken_words))] = chance.choice(words)
        yield place, " ".join(spoken_words)


def turns(count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Turns of 30 words in sessions of 20, user and assistant in turn, made of the sample's words."""
    chance = random.Random(seed)
    words = [word for item in sample.memories() for word in item["content"].split()]
    for number in range(count):
        session, place = divmod(number, SESSION)
        yield {
            "content": f"{' '.join(chance.choice(words) for _ in range(WORDS - 1))} {number}",
            "speaker": "assistant" if place % 2 else "user",
            "session_id": f"session {session}",
            "turn_index": place,
            "event_at": START + (60 * session + place) * MINUTE,
        }


def new_questions(count: int, seed: int = 11) -> list[str]:
    """The sample's questions, each with a word of its own at the end, so that no two are equal."""
    chance = random.Random(seed)
    queries = [question.query for question in sample.questions()]
    words = [word for item in sample.memories() for word in item["content"].split()]
    return [f"{chance.choice(queries)} {chance.choice(words)} {number}" for number in range(count)]


class VariedSample:
    """Readings without a model's cost: a real one of the sample, moved a little. Questions are really read.

    For timing only: what a memory holds, vector and token vectors, has its real size, and a recall its real work.
    """

    pin = "bench-varied-sample@2"
    dimension = 384

    def __init__(self, real: Readings | None = None) -> None:
        """`real` are the sample's readings where they are at hand; else they are made once."""
        self._given = real

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        vectors, _ = self._varied(texts)
        return vectors

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        vectors, tokens = self._varied([passage.text for passage in passages])
        return [Reading(vector, packed) for vector, packed in zip(vectors, tokens, strict=True)]

    def read_question(self, question: str) -> QuestionReading:
        return read_question(embedder(DEFAULT), question)

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        """A reading here is another text's, so that no token has characters of its own."""
        return []

    def _varied(self, texts: Sequence[str]) -> Readings:
        chance = np.random.default_rng(crc32("\n".join(texts).encode()))  # no two batches get equal vectors
        vectors, tokens = real_readings() if self._given is None else self._given
        chosen = chance.integers(len(vectors), size=len(texts))
        moved = vectors[chosen] + 0.04 * chance.standard_normal((len(texts), self.dimension), dtype=np.float32)
        return unit(moved), [tokens[place] for place in chosen]


@cache
def real_readings() -> Readings:
    """By the default embedder, which the plain install has."""
    readings = read_passages(embedder(DEFAULT), [Passage(item["content"]) for item in sample.memories()])
    return np.stack([reading.vector for reading in readings]), [reading.tokens for reading in readings]
