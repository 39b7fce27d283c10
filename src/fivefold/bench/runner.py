"""Asking the questions of a run, in this process or in several side by side that share one store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from multiprocessing import get_context
from time import perf_counter

from fivefold.bench.cache import cached
from fivefold.bench.data import Dataset, Question, Unit
from fivefold.engine import Engine
from fivefold.models.embedders import Embedder, Matrix, Progress, TokenEmbedder, gives_tokens
from fivefold.models.embedders import embedder as load_embedder
from fivefold.retrieval.recipe import Recipe
from fivefold.stores import open_store
from fivefold.values.explain import explain_hit
from fivefold.values.memory import ROLES, Memory
from fivefold.values.reading import Passage, QuestionReading, Reading, Span
from fivefold.values.recall import Hit

EXPLAINED = 3
"""First hits of each recall whose arithmetic is stored with that of the gold, to explain why two runs differ."""

SHOWN_TEXT = 120
"""Characters of a memory in a stored explanation."""

CHUNK = 25
"""Questions that go to a process together at most."""

SHOWN = 5
"""First hits whose text is returned with an answer."""

MOST_SHOWN = 2_000
"""Characters of each such text; what reads them reads no more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One recall of the run: what was found, best first, how long it took without encoding, and why.

    `texts` are those of the first hits, for what is measured by reading them. `found` is whether the recall says that
    something answers, and `chances` are those of the hits, where it gives them. `further` are the next memories of the
    ranking, beyond the depth of the run.
    """

    question: str
    ranking: tuple[str, ...]
    ms: float
    encoded: bool = False
    explained: tuple[tuple[str, str], ...] = ()
    degraded: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    found: bool | None = None
    chances: tuple[float, ...] = ()
    further: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimedQuestion:
    """A question and its time."""

    question: Question
    now: datetime | None


Ask = Callable[[str, Recipe, Sequence[Sequence[TimedQuestion]]], Iterator[list[Answer]]]
"""Answers chunks of questions by a recipe over the store at a location."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What every recall of a run has in common."""

    embedder: str
    depth: int
    unit: Unit
    further: int = 0
    """Memories of each ranking that are returned beyond the depth."""


class Runner:
    """A store opened for questions; one engine a namespace."""

    def __init__(self, location: str, setup: Setup) -> None:
        self.location = location
        self.store = open_store(location)
        self.model = _counting(cached(load_embedder(setup.embedder)))
        self.depth, self.unit, self.further = setup.depth, setup.unit, setup.further
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
            tuple(_spoken(hit.memory) for hit in list(answer)[:SHOWN]),
            answer.found,
            _chances(hits.values()),
            tuple(item.id for item in answer.dropped if item.stage == "select")[: self.further],
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


def _chances(hits: Iterable[Hit]) -> tuple[float, ...]:
    """The chance of each hit, or nothing where a recipe gives none."""
    chances = [hit.chance for hit in hits]
    return tuple(chance for chance in chances if chance is not None) if None not in chances else ()


def _spoken(memory: Memory) -> str:
    """The text of a memory as the plain baselines have it: with its speaker if that is a person, without a date."""
    has_name = memory.speaker and memory.speaker.casefold() not in ROLES
    return (f"{memory.speaker}: {memory.content}" if has_name else memory.content)[:MOST_SHOWN]


def _counting(inner: Embedder) -> CountingEmbedder:
    return CountingTokenEmbedder(inner) if gives_tokens(inner) else CountingEmbedder(inner)


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


class CountingTokenEmbedder(CountingEmbedder):
    """The same for an embedder that gives token vectors."""

    def __init__(self, inner: TokenEmbedder) -> None:
        super().__init__(inner)
        self._reader = inner

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        return self._reader.read(passages, progress)

    def read_question(self, question: str) -> QuestionReading:
        self.calls += 1
        return self._reader.read_question(question)

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        return self._reader.spans(passage)


def _explanations(hits: Mapping[str, Hit], gold: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The arithmetic of the first hits and of the gold, each with a glimpse of its text."""
    for place, (id, hit) in enumerate(hits.items()):
        if place < EXPLAINED or id in gold:
            yield id, explain_hit(hit.rank, hit.candidate, SHOWN_TEXT, hit.composite)


def ask_all(
    ask: Ask, location: str, recipe: Recipe, dataset: Dataset, jobs: int, advance: Callable[[int], None]
) -> list[Answer]:
    """Every question's answer, in order."""
    timed = timed_questions(dataset)
    size = max(1, min(CHUNK, -(-len(timed) // jobs)))
    answers: list[Answer] = []
    for part in ask(location, recipe, [timed[start : start + size] for start in range(0, len(timed), size)]):
        answers += part
        advance(len(part))
    return answers


def timed_questions(dataset: Dataset) -> list[TimedQuestion]:
    """The questions with their times; one without a time gets that of its namespace's last memory."""
    timeless = {question.namespace for question in dataset.questions if question.now is None}
    last = {space: _last(dataset, space) for space in timeless}
    return [TimedQuestion(question, question.now or last.get(question.namespace)) for question in dataset.questions]


def _last(dataset: Dataset, space: str) -> datetime | None:
    return max((record.event_at for record in dataset.memories[space] if record.event_at), default=None)


@contextmanager
def runners(setup: Setup, jobs: int) -> Iterator[Ask]:
    """The function that answers chunks of questions in order, here or in `jobs` processes."""
    if jobs == 1:
        _open(setup)
        try:
            yield lambda location, recipe, chunks: (_ask(location, recipe, chunk) for chunk in chunks)
        finally:
            _close()
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_open, initargs=(setup,)) as pool:
        yield lambda location, recipe, chunks: pool.map(_ask, [location] * len(chunks), [recipe] * len(chunks), chunks)


_setup: Setup
"""How the runs of this process are set up."""

_runner: Runner | None = None
"""The runner of the store that this process asks now."""


def _open(setup: Setup) -> None:
    global _setup  # noqa: PLW0603
    _setup = setup


def _close() -> None:
    global _runner  # noqa: PLW0603
    if _runner is not None:
        _runner.close()
    _runner = None


def _ask(location: str, recipe: Recipe, questions: Sequence[TimedQuestion]) -> list[Answer]:
    global _runner  # noqa: PLW0603
    if _runner is None or _runner.location != location:
        _close()
        _runner = Runner(location, _setup)
    return _runner.ask(recipe, questions)
