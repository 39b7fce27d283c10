"""An operation that a process repeats until it is killed, and how its store is judged afterwards."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import perf_counter

import numpy as np

from fivefold.engine import Engine
from fivefold.errors import FivefoldError
from fivefold.models.embedders import Matrix, Progress
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.values.memory import Kind, Memory

# What a process says before it is killed, and what follows from it.


class EnoughDone(BaseException):
    """The process has done what was wanted of it."""


class Journal:
    """The side of the process: short lines into a pipe. The system has them, whatever happens to the process."""

    def __init__(self, pipe: int, is_enough: Callable[[int], bool] = lambda done: False) -> None:
        self._pipe = pipe
        self._is_enough = is_enough
        self._done = 0

    def ready(self) -> None:
        """The store is open and the work begins."""
        self._say("ready")

    @contextmanager
    def step(self, number: int) -> Iterator[None]:
        """One operation: it begins, and is acknowledged after the engine returned."""
        self._say(f"begin {number}")
        start = perf_counter()
        yield
        self._say(f"done {number} {perf_counter() - start:.6f}")
        self._done += 1
        if self._is_enough(self._done):
            raise EnoughDone

    def disk(self, operations: int) -> None:
        """Number of times the process has written, synced and truncated."""
        self._say(f"disk {operations}")

    def failed(self, error: Exception) -> None:
        """The engine refused; the process ends by itself."""
        self._say(f"failed {type(error).__name__}: {' '.join(str(error).split())[:500]}")

    def _say(self, line: str) -> None:
        os.write(self._pipe, f"{line}\n".encode())


@dataclass(slots=True)
class Account:
    """All that the processes said about one operation, over all kills."""

    done: list[int] = field(default_factory=list)
    """The numbers of those that were acknowledged, in order."""
    unsure: list[int] = field(default_factory=list)
    """The numbers of those that had begun when the process was killed."""
    failures: list[str] = field(default_factory=list)
    operations: int = 0
    """Number of writes, syncs and truncations of the last process that ended by itself."""
    seconds: float = 0.0
    """Duration of the last acknowledged operation."""

    @property
    def next(self) -> int:
        """The number after all that have begun."""
        return max([*self.done[-1:], *self.unsure[-1:], -1]) + 1

    @property
    def possible(self) -> set[int]:
        """Operations that may be the last that took effect: the last acknowledged, or one that was cut off since."""
        last = self.done[-1] if self.done else -1
        return {last, *(number for number in self.unsure if number > last)}

    def read(self, lines: list[str]) -> int:
        """Add what one process said; returns how many of its operations were cut off."""
        begun: set[int] = set()
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "begin":
                begun.add(int(rest))
            elif word == "done":
                number, seconds = rest.split()
                begun.discard(int(number))
                self.unsure = [other for other in self.unsure if other != int(number)]
                self.done.append(int(number))
                self.seconds = float(seconds)
            elif word == "disk":
                self.operations = int(rest)
            elif word == "failed":
                self.failures.append(rest)
        self.unsure += sorted(begun - set(self.unsure))
        return len(begun)


REOPENED = 8
"""After that many operations a process closes its store and opens it again, so that closing is cut off as well."""


class Letters:
    """Vectors that cost nothing: letters, counted."""

    def __init__(self, dimension: int = 16) -> None:
        self.dimension = dimension
        self.pin = f"letters-{dimension}@1"

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        rows = np.ones((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            letters, counts = np.unique(np.frombuffer(text.encode(), np.uint8) % self.dimension, return_counts=True)
            row[letters] += counts
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings of one look after a kill."""

    lost: int = 0
    """Acknowledged operations of which nothing, or not all, is there."""
    half_written: int = 0
    """Operations that were cut off and are there in part."""
    findings: tuple[str, ...] = ()
    """Complaints of the doctor."""


class Task(ABC):
    """One kind of operation. It is sent to the process that does it, so it has only plain fields."""

    name = ""
    again = False
    """True if an operation that was cut off is done again under its number, and continues from there."""
    writes_files = True
    """True if a failing disk disturbs it."""

    def prepare(self, folder: Path) -> None:
        """Make what the operation needs, before the first kill."""
        with opened(folder):
            pass

    @abstractmethod
    def work(self, folder: Path, start: int, journal: Journal) -> None:
        """In a process of its own: do the operations from that number on, without an end."""

    @abstractmethod
    def check(self, folder: Path, account: Account) -> Verdict:
        """After a kill: open the store again and look."""

    def clean_up(self, folder: Path) -> None:
        """Remove what lies outside the folder; most operations leave nothing there."""
        return


class EngineTask(Task):
    """An operation on the open engine of one store."""

    def work(self, folder: Path, start: int, journal: Journal) -> None:
        for number, engine in engines(folder, start, journal):
            self.act(engine, number, journal)

    @abstractmethod
    def act(self, engine: Engine, number: int, journal: Journal) -> None:
        """Do one operation."""

    def check(self, folder: Path, account: Account) -> Verdict:
        with opened(folder) as engine:
            lost, half = self.look(engine, account)
            return Verdict(lost, half, complaints(engine))

    @abstractmethod
    def look(self, engine: Engine, account: Account) -> tuple[int, int]:
        """Number of acknowledged operations that are lost, and of others that are there in part."""


def store_of(folder: Path) -> Path:
    return folder / "memory.db"


def opened(place: Path, namespace: str = "default", dimension: int = 16) -> Engine:
    """An engine on the store of a folder, or on a file, that loads no model."""
    path = store_of(place) if place.is_dir() else place
    store = SqliteStore(str(path))
    try:
        engine = Engine(store, namespace, embedder=Letters(dimension))
        if engine.settings.find_changes:
            engine.configure(find_changes=False, find_repeats=False, route_budget_ms=600_000)
    except FivefoldError:
        store.close()
        raise
    return engine


def engines(folder: Path, start: int, journal: Journal) -> Iterator[tuple[int, Engine]]:
    """Numbers from `start` on, each with an open engine."""
    engine = opened(folder)
    journal.ready()
    for number in count(start):
        if number % REOPENED == REOPENED - 1:
            engine.close()
            engine = opened(folder)
        yield number, engine


def complaints(engine: Engine) -> tuple[str, ...]:
    """The complaints of the doctor."""
    return tuple(f"{item.check}: {item.detail}" for item in engine.doctor() if not item.ok)


def finds(engine: Engine, word: str) -> list[str]:
    """The ids of the memories that the lexical index has for a word."""
    return [hit.memory.id for hit in engine.recall(word, k=20, recipe="lexical").hits]


def all_memories(engine: Engine, kind: Kind | None = None) -> Iterator[Memory]:
    """The memories of that kind; without one, all but those of sessions."""
    page = engine.memories(limit=1000, kind=kind)
    yield from page
    while page.cursor is not None:
        page = engine.memories(limit=1000, kind=kind, cursor=page.cursor)
        yield from page


def all_ids(engine: Engine) -> set[str]:
    return {memory.id for memory in all_memories(engine)}


def fill(engine: Engine, size: int, name: str = "old") -> set[str]:
    """Memories to work on: notes with tags and dates, and turns of sessions. Returns their ids."""
    engine.remember_many(
        {
            "id": f"{name}-{number}",
            "content": f"Parcel {name}{number}x came to Ines on 3 May 2024 at gate {number % 90}",
            "session_id": f"{name}-session-{number % 5}" if number % 2 else None,
            "tags": ["parcel", f"gate-{number % 7}"],
            "metadata": {"number": number},
        }
        for number in range(size)
    )
    return {f"{name}-{number}" for number in range(size)}
