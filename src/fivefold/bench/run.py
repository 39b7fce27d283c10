"""The run: every memory stored once, every question put to every recipe and to the plain baselines."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from time import perf_counter

from fivefold.bench import baselines
from fivefold.bench.cache import cached
from fivefold.bench.contestants import Contestant
from fivefold.bench.data import Dataset, Question, sessions_of
from fivefold.bench.runner import MOST_SHOWN, Answer, Setup, ask_all, runners
from fivefold.engine import Engine
from fivefold.models.embedders import Embedder
from fivefold.models.embedders import embedder as load_embedder
from fivefold.retrieval.recipe import Recipe
from fivefold.stores import open_store
from fivefold.text.progress import bar
from fivefold.values.memory import Record

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
