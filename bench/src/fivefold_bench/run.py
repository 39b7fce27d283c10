"""The run: every memory stored once, every question put to every recipe and to the plain baselines."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from fivefold.engine import Engine
from fivefold.evaluation import Question, chances_of
from fivefold.models.embedders import Embedder
from fivefold.models.embedders import embedder as load_embedder
from fivefold.retrieval.recipe import Recipe
from fivefold.stores import open_store
from fivefold.text.display import bar
from fivefold.values.explain import explain_hit
from fivefold.values.memory import Record
from fivefold.values.recall import Hit
from fivefold_bench import contestants as baselines
from fivefold_bench.cache import cached
from fivefold_bench.contestants import Contestant
from fivefold_bench.data import Dataset, Unit, sessions_of, spoken

# Asking the questions of a run, in this process or in several side by side that share one store.

EXPLAINED = 3
"""First hits of each recall whose arithmetic is stored with that of the gold, to explain why two runs differ."""

SHOWN_TEXT = 120
"""Characters of a memory in a stored explanation."""

CHUNK = 25
"""Questions that go to a process together at most."""

SHOWN = 5
"""First hits whose text is returned with an answer."""

MAX_SHOWN_CHARS = 2_000
"""Characters of each such text; what reads them reads no more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One recall of the run: what was found, best first, how long it took without encoding, and why.

    `texts` are those of the first hits, for measures that read them. `found` is True if the recall says that something
    answers, and `chances` are those of the hits, if it gives them. `further` are the next memories of the ranking,
    beyond the depth of the run.
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


Ask = Callable[[str, Recipe, Sequence[Sequence[Question]]], Iterator[list[Answer]]]
"""Answers chunks of questions by a recipe over the store at a location."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Setup that every recall of a run shares."""

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
        self.model = cached(load_embedder(setup.embedder))
        self.setup = setup
        self._engines: dict[str, Engine] = {}
        self._warm: set[tuple[str, str]] = set()

    def answer(self, recipe: Recipe, question: Question) -> Answer:
        space, depth, further = question.namespace, self.setup.depth, self.setup.further
        engine = self._engines.get(space) or self._engines.setdefault(space, Engine(self.store, space, self.model))
        recall = partial(engine.recall, question.text, depth, recipe=recipe, now=question.now, history=question.history)
        if (space, recipe.name) not in self._warm:  # the first recall of all fills caches; it is not timed
            recall()
            self._warm.add((space, recipe.name))
        before = self.model.calls
        start = perf_counter()
        answer = recall()
        whole = (perf_counter() - start) * 1000
        encode = sum(timing.ms for timing in answer.timings if timing.stage == "encode")
        hits: dict[str, Hit] = {}
        for hit in answer:
            by_session = self.setup.unit == "session" and hit.memory.session_id
            hits.setdefault(by_session or hit.memory.id, hit)
        explained = [  # the arithmetic of the first hits and of the gold, each with a glimpse of its text
            (id, explain_hit(hit.rank, hit.candidate, SHOWN_TEXT, hit.composite))
            for place, (id, hit) in enumerate(hits.items())
            if place < EXPLAINED or id in question.relevant
        ]
        return Answer(
            question.id,
            tuple(hits),
            whole - encode,
            self.model.calls > before,
            tuple(explained),
            answer.degraded,
            tuple(spoken(hit.memory)[:MAX_SHOWN_CHARS] for hit in list(answer)[:SHOWN]),
            answer.found,
            chances_of(hits.values()),
            tuple(item.id for item in answer.dropped if item.stage == "select")[:further],
        )

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        self.store.close()


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


def timed_questions(dataset: Dataset) -> list[Question]:
    """The questions with their times; one without a time gets that of its namespace's last memory."""
    last = {
        space: max((record.event_at for record in dataset.memories[space] if record.event_at), default=None)
        for space in {question.namespace for question in dataset.questions if question.now is None}
    }
    return [replace(item, now=item.now or last.get(item.namespace)) for item in dataset.questions]


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
"""The setup for the runs of this process."""

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


def _ask(location: str, recipe: Recipe, questions: Sequence[Question]) -> list[Answer]:
    global _runner  # noqa: PLW0603
    if _runner is None or _runner.location != location:
        _close()
        _runner = Runner(location, _setup)
    return [_runner.answer(recipe, question) for question in questions]


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
    bare.embed([dataset.questions[0].text])  # the model loads with it
    encode_ms = []
    for question in dataset.questions[:: max(1, len(dataset.questions) // ENCODED)][:ENCODED]:
        start = perf_counter()
        bare.embed([question.text])
        encode_ms.append((perf_counter() - start) * 1000)
    with bar("Encoding questions", len(dataset.questions), show=progress) as advance:
        for question in dataset.questions:  # one by one, as a recall does it: no vector depends on the rest of a batch
            model.embed([question.text])
            advance(1)
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
    notes = []
    for name, each in answers.items():  # a route that failed or was late makes a recall worse than its recipe is
        if short := [answer for answer in each if answer.degraded]:
            routes = ", ".join(sorted({route for answer in short for route in answer.degraded}))
            notes.append(f"{name}: {len(short)} recalls without all of their routes ({routes} failed or late)")
    return Run(dataset, tuple(contestants), answers, tuple(encode_ms), bare.pin, jobs, tuple(notes))


def run_by_session(run: Run, choice: str, depth: int, progress: bool = False) -> Run:
    """The run counted by session: a recipe's session takes the place of its first turn; the baselines rank sessions."""
    dataset = run.dataset.sessions
    assert dataset is not None
    model = cached(load_embedder(choice))
    of = {space: sessions_of(records) for space, records in run.dataset.memories.items()}

    def in_sessions(answer: Answer, of: Mapping[str, str]) -> Answer:
        ranking = dict.fromkeys(of[id] for id in (*answer.ranking, *answer.further) if id in of)
        explained = {of.get(id, id): text for id, text in reversed(answer.explained)}
        return replace(answer, ranking=tuple(ranking)[:depth], explained=tuple(explained.items()), further=())

    answers = {
        contestant.name: [
            in_sessions(answer, of[question.namespace])
            for question, answer in zip(run.dataset.questions, run.answers[contestant.name], strict=True)
        ]
        if contestant.recipe
        else _baseline(contestant.name, dataset, model, depth, progress)
        for contestant in run.contestants
    }
    return replace(run, dataset=dataset, answers=answers)


def _ask_recipes(
    dataset: Dataset, recipes: Mapping[str, Recipe], setup: Setup, model: Embedder, jobs: int, progress: bool
) -> dict[str, list[Answer]]:
    """The answers of every recipe; a store holds one group of namespaces, so that room and memory stay bounded."""
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
        if number < len(parts):  # where a process still reads its files, they go with their folder
            for path in folder.glob(f"{location.name}*"):
                with suppress(OSError):
                    path.unlink()


def groups(dataset: Dataset) -> Iterator[Dataset]:
    """The namespaces in groups of about so many memories, each with its questions."""
    parts: list[list[str]] = [[]]
    memories = 0
    for space, records in dataset.memories.items():
        parts[-1].append(space)
        memories += len(records)
        if memories >= GROUP:
            parts.append([])
            memories = 0
    for spaces in filter(None, parts):
        chosen = frozenset(spaces)
        yield replace(
            dataset,
            memories={space: dataset.memories[space] for space in spaces},
            questions=[question for question in dataset.questions if question.namespace in chosen],
        )


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
            texts=tuple(text[:MAX_SHOWN_CHARS] for text in ranking.texts[item.id]),
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
