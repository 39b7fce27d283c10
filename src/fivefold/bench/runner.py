"""Asking the questions of a run, in this process or in several side by side that share one store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from multiprocessing import get_context
from time import perf_counter

from fivefold.bench.cache import CachedEmbedder
from fivefold.bench.data import Dataset, Question, Unit
from fivefold.engine import Engine
from fivefold.models.embedders import Embedder, Matrix, Progress
from fivefold.models.embedders import embedder as load_embedder
from fivefold.retrieval.recipe import Recipe
from fivefold.stores import open_store
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit
from fivefold.values.shorten import shorten

EXPLAINED = 3
"""First hits of each recall whose arithmetic is stored with that of the gold, to explain why two runs differ."""

SHOWN_TEXT = 120
"""Characters of a memory in a stored explanation."""

CHUNK = 25
"""Questions that go to a process together."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One recall of the run: what was found, best first, how long it took without encoding, and why."""

    question: str
    ranking: tuple[str, ...]
    ms: float
    encoded: bool = False
    explained: tuple[tuple[str, str], ...] = ()
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimedQuestion:
    """A question and its time."""

    question: Question
    now: datetime | None


Ask = Callable[[Recipe, Sequence[Sequence[TimedQuestion]]], Iterator[list[Answer]]]


class Runner:
    """A store opened for questions; one engine a namespace."""

    def __init__(self, location: str, embedder: str, depth: int, unit: Unit) -> None:
        self.store = open_store(location)
        self.model = CountingEmbedder(CachedEmbedder(load_embedder(embedder)))
        self.depth, self.unit = depth, unit
        self._engines: dict[str, Engine] = {}
        self._warm: set[tuple[str, str]] = set()

    def ask(self, recipe: Recipe, questions: Sequence[TimedQuestion]) -> list[Answer]:
        return [self._answer(recipe, item.question, item.now) for item in questions]

    def _answer(self, recipe: Recipe, question: Question, now: datetime | None) -> Answer:
        engine = self._engine(question.namespace)
        if (question.namespace, recipe.name) not in self._warm:  # the first recall of all fills caches; it is not timed
            engine.recall(question.text, self.depth, recipe=recipe, now=now, history=question.history)
            self._warm.add((question.namespace, recipe.name))
        before = self.model.calls
        start = perf_counter()
        answer = engine.recall(question.text, self.depth, recipe=recipe, now=now, history=question.history)
        whole = (perf_counter() - start) * 1000
        encode = sum(timing.ms for timing in answer.timings if timing.stage == "encode")
        hits: dict[str, Hit] = {}
        for hit in answer:
            hits.setdefault(self._counted_by(hit.memory), hit)
        return Answer(
            question.id,
            tuple(hits),
            whole - encode,
            self.model.calls > before,
            tuple(_explanations(hits, question.relevant)),
            answer.degraded,
        )

    def _counted_by(self, memory: Memory) -> str:
        return (memory.session_id or memory.id) if self.unit == "session" else memory.id

    def _engine(self, namespace: str) -> Engine:
        if namespace not in self._engines:
            self._engines[namespace] = Engine(self.store, namespace, self.model)
        return self._engines[namespace]

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        self.store.close()


class CountingEmbedder:
    """An embedder that counts its calls, which shows whether a recall needed a vector."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.calls = 0

    @property
    def pin(self) -> str:
        return self._inner.pin

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        self.calls += 1
        return self._inner.embed(texts, progress)


def _explanations(hits: Mapping[str, Hit], gold: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The arithmetic of the first hits and of the gold, each with a glimpse of its text."""
    for place, (id, hit) in enumerate(hits.items()):
        if place < EXPLAINED or id in gold:
            yield id, hit.explain().replace(hit.memory.content, shorten(hit.memory.content, SHOWN_TEXT), 1)


def ask_all(ask: Ask, recipe: Recipe, dataset: Dataset, advance: Callable[[int], None]) -> list[Answer]:
    """Every question's answer, in order. A question without a time gets that of its namespace's last memory."""
    last = {space: _last(dataset, space) for space in dataset.memories}
    timed = [TimedQuestion(question, question.now or last.get(question.namespace)) for question in dataset.questions]
    answers: list[Answer] = []
    for part in ask(recipe, [timed[start : start + CHUNK] for start in range(0, len(timed), CHUNK)]):
        answers += part
        advance(len(part))
    return answers


def chunks(questions: int) -> int:
    """How many parts there are to distribute; more processes than that would be idle."""
    return -(-questions // CHUNK)


def _last(dataset: Dataset, space: str) -> datetime | None:
    return max((record.event_at for record in dataset.memories[space] if record.event_at), default=None)


@contextmanager
def runners(location: str, embedder: str, depth: int, unit: Unit, jobs: int) -> Iterator[Ask]:
    """The function that answers chunks of questions in order, here or in `jobs` processes."""
    if jobs == 1:
        runner = Runner(location, embedder, depth, unit)
        try:
            yield lambda recipe, chunks: (runner.ask(recipe, chunk) for chunk in chunks)
        finally:
            runner.close()
        return
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_open, initargs=(location, embedder, depth, unit)
    ) as pool:
        yield lambda recipe, chunks: pool.map(_ask, [recipe] * len(chunks), chunks)


_runner: Runner
"""The runner of a process that was started for it."""


def _open(location: str, embedder: str, depth: int, unit: Unit) -> None:
    global _runner  # noqa: PLW0603
    _runner = Runner(location, embedder, depth, unit)


def _ask(recipe: Recipe, questions: Sequence[TimedQuestion]) -> list[Answer]:
    return _runner.ask(recipe, questions)
