"""The run: every memory stored once, every question put to every recipe and to the plain baselines."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from fivefold.engine import Engine
from fivefold.evaluation import Question, chances_of
from fivefold.models.embedders import Embedder, Matrix, Progress, TokenEmbedder, gives_tokens
from fivefold.models.embedders import embedder as load_embedder
from fivefold.retrieval.recipe import Recipe
from fivefold.stores import open_store
from fivefold.text.progress import bar
from fivefold.values.explain import explain_hit
from fivefold.values.memory import ROLES, Memory, Record
from fivefold.values.reading import Passage, QuestionReading, Reading, Span
from fivefold.values.recall import Hit
from fivefold_bench import contestants as baselines
from fivefold_bench.cache import cached
from fivefold_bench.contestants import Contestant
from fivefold_bench.data import Dataset, Unit, sessions_of

# Asking the questions of a run, in this process or in several side by side that share one store.

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
            chances_of(hits.values()),
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


ENCODED = 50
"""Questions whose encoding is timed."""

GROUP = 20_000
"""Memories in one store, or a namespace more: 40 haystacks of LongMemEval-S, and all of a small benchmark."""

MAX_FURTHER = 200
"""Memories beyond the depth of a run that help to rank sessions."""

BATCH = 200
"""Memories stored between two looks at the progress bar, or a session more."""


@dataclass(frozen=True, slots=True)
class Run:
    """All answers, by contestant and in the order of the questions, and how long encoding a question takes."""

    dataset: Dataset
    contestants: tuple[Contestant, ...]
    answers: Mapping[str, Sequence[Answer]]
    encode_ms: tuple[float, ...]
    embedder: str
    jobs: int
    notes: tuple[str, ...]

    def rankings(self, name: str) -> dict[str, tuple[str, ...]]:
        return {answer.question: answer.ranking for answer in self.answers[name]}


def run_contestants(
    dataset: Dataset, contestants: Sequence[Contestant], choice: str, depth: int, jobs: int = 1, progress: bool = False
) -> Run:
    """Store once, ask by all. Stores are temporary files; namespaces are stored, asked and dropped group by group."""
    bare = load_embedder(choice)
    model = cached(bare)
    encode_ms = tuple(_encode_times(bare, dataset.questions))
    _encode_all(model, dataset.questions, progress)
    recipes = {contestant.name: contestant.recipe for contestant in contestants if contestant.recipe is not None}
    jobs = min(jobs, len(dataset.questions)) if recipes else 1
    answers = {
        contestant.name: _baseline(contestant.name, dataset, model, depth, progress)
        for contestant in contestants
        if contestant.recipe is None
    }
    if recipes:
        setup = Setup(choice, depth, dataset.unit, MAX_FURTHER if dataset.sessions else 0)
        answers.update(_ask_recipes(dataset, recipes, setup, model, jobs, progress))
    return Run(dataset, tuple(contestants), answers, encode_ms, bare.pin, jobs, tuple(_degraded_notes(answers)))


def run_by_session(run: Run, choice: str, depth: int, progress: bool = False) -> Run:
    """The run counted by session: a recipe's session stands where its first turn does; the baselines rank sessions."""
    dataset = run.dataset.sessions
    assert dataset is not None
    model = cached(load_embedder(choice))
    of = {space: sessions_of(records) for space, records in run.dataset.memories.items()}
    answers = {
        contestant.name: [
            _in_sessions(answer, of[question.namespace], depth)
            for question, answer in zip(run.dataset.questions, run.answers[contestant.name], strict=True)
        ]
        if contestant.recipe
        else _baseline(contestant.name, dataset, model, depth, progress)
        for contestant in run.contestants
    }
    return replace(run, dataset=dataset, answers=answers)


def _in_sessions(answer: Answer, of: Mapping[str, str], depth: int) -> Answer:
    ranking = dict.fromkeys(of[id] for id in (*answer.ranking, *answer.further) if id in of)
    explained = {of.get(id, id): text for id, text in reversed(answer.explained)}
    return replace(answer, ranking=tuple(ranking)[:depth], explained=tuple(explained.items()), further=())


def _ask_recipes(
    dataset: Dataset, recipes: Mapping[str, Recipe], setup: Setup, model: Embedder, jobs: int, progress: bool
) -> dict[str, list[Answer]]:
    """What every recipe answers; a store holds one group of namespaces, so that room and memory stay bounded."""
    found: dict[str, dict[str, Answer]] = {name: {} for name in recipes}
    with tempfile.TemporaryDirectory() as folder, runners(setup, jobs) as ask:
        for part, location, title in stored_groups(dataset, Path(folder), model, progress):
            for name, recipe in recipes.items():
                with bar(f"Asking {name}{title}", len(part.questions), show=progress) as advance:
                    each = ask_all(ask, location, recipe, part, jobs, advance)
                found[name].update((answer.question, answer) for answer in each)
    return {name: [each[question.id] for question in dataset.questions] for name, each in found.items()}


def stored_groups(
    dataset: Dataset, folder: Path, model: Embedder, progress: bool
) -> Iterator[tuple[Dataset, str, str]]:
    """Each group of namespaces, the store it lies in, and what progress bars add; the next group drops the store."""
    parts = list(groups(dataset))
    for number, part in enumerate(parts, 1):
        location = folder / f"run-{number}.db"
        title = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        _store(part, str(location), model, title, progress)
        yield part, str(location), title
        if number < len(parts):
            _drop(location)


def groups(dataset: Dataset) -> Iterator[Dataset]:
    """The namespaces in groups of about so many memories, each with its questions."""
    spaces: list[str] = []
    memories = 0
    for space, records in dataset.memories.items():
        spaces.append(space)
        memories += len(records)
        if memories >= GROUP:
            yield _part(dataset, spaces)
            spaces, memories = [], 0
    if spaces:
        yield _part(dataset, spaces)


def _part(dataset: Dataset, spaces: Sequence[str]) -> Dataset:
    chosen = frozenset(spaces)
    return replace(
        dataset,
        memories={space: dataset.memories[space] for space in spaces},
        questions=[question for question in dataset.questions if question.namespace in chosen],
    )


def _drop(location: Path) -> None:
    """The files of a store. Where a process still reads them they go with their folder."""
    for path in location.parent.glob(f"{location.name}*"):
        with suppress(OSError):
            path.unlink()


def _encode_times(model: Embedder, questions: Sequence[Question]) -> Iterator[float]:
    """Real encoding of some of the questions, spread over all; one more goes first, since the model loads with it."""
    model.embed([questions[0].text])
    for question in questions[:: max(1, len(questions) // ENCODED)][:ENCODED]:
        start = perf_counter()
        model.embed([question.text])
        yield (perf_counter() - start) * 1000


def _encode_all(model: Embedder, questions: Sequence[Question], progress: bool) -> None:
    """One by one, as a recall does it, so that no vector depends on the rest of its batch."""
    with bar("Encoding questions", len(questions), show=progress) as advance:
        for question in questions:
            model.embed([question.text])
            advance(1)


def _baseline(name: str, dataset: Dataset, model: Embedder, depth: int, progress: bool) -> list[Answer]:
    if name == "bm25":
        ranking = baselines.bm25(dataset, depth)
    else:
        texts = len(dataset.questions) + sum(len(entries) for entries in dataset.plain.values())
        with bar(f"Asking {name}", texts, show=progress) as advance:
            ranking = baselines.dense(dataset, model, depth, advance)
    return [
        Answer(
            item.id,
            tuple(id for id, _ in ranking.hits[item.id]),
            ranking.ms[item.id],
            encoded=name == "dense",
            texts=tuple(text[:MOST_SHOWN] for text in ranking.texts[item.id]),
        )
        for item in dataset.questions
    ]


def _store(dataset: Dataset, location: str, model: Embedder, title: str, progress: bool) -> None:
    """Every namespace, a few hundred memories at a time."""
    store = open_store(location)
    total = sum(len(records) for records in dataset.memories.values())
    try:
        with bar(f"Storing memories{title}", total, show=progress) as advance:
            for space, records in dataset.memories.items():
                engine = Engine(store, space, model)
                for batch in _batches(list(records)):
                    engine.remember_many(batch)
                    advance(len(batch))
    finally:
        store.close()


def _batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Sessions stay whole."""
    batch: list[Record] = []
    for _, turns in groupby(records, key=lambda record: record.session_id):
        batch += turns
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _degraded_notes(answers: Mapping[str, Sequence[Answer]]) -> Iterator[str]:
    """A route that failed or was late makes a recall worse than its recipe is, so a note says it."""
    for name, each in answers.items():
        short = [answer for answer in each if answer.degraded]
        if short:
            routes = ", ".join(sorted({route for answer in short for route in answer.degraded}))
            yield f"{name}: {len(short)} recalls without all of their routes ({routes} failed or late)"
