"""Small suites besides the lives: each asks one thing of the engine, of its own memories or of none."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.evaluation import NEVER, K, Outcome, life_of, outcome
from fivefold.models.embedders import embedder as load_embedder
from fivefold.stores import open_store
from fivefold.values.json_files import Fields, document
from fivefold.values.serialize import Value
from fivefold_bench.cache import cached
from fivefold_bench.contestants import contestants_for
from fivefold_bench.data import Dataset
from fivefold_bench.jsonl import dataset_of
from fivefold_bench.run import run_contestants

FILES = Path(__file__).with_name("everyday_data") / "suites"
ENGLISH = "en"
NEAR = 3
"""An answer counts among so many first hits, if the recall says that something answers."""


@dataclass(frozen=True, slots=True)
class SuiteFigure(Value):
    """One figure of a suite: the share of its `n` cases that are as they should be."""

    suite: str
    figure: str
    n: int
    value: float


Score = Callable[[str, Sequence[Fields], str], list[SuiteFigure]]
"""Scores the cases of one part with an embedder."""


def chosen(names: str | None) -> list[str]:
    """The suites of an option: all of them, or those it names."""
    found = list(SUITES) if names == "all" else [name.strip() for name in (names or "").split(",") if name.strip()]
    unknown = next((name for name in found if name not in SUITES), None)
    if unknown is not None:
        raise InvalidInput(f"{unknown!r} is unknown; known are {', '.join(SUITES)} and all", field="suites")
    return found


def measure_suites(names: Sequence[str], parts: Sequence[str], choice: str) -> list[SuiteFigure]:
    """Every figure of the suites named, over the cases of these parts."""
    return [figure for name in names for figure in SUITES[name](name, cases_of(name, parts), choice)]


def cases_of(name: str, parts: Sequence[str]) -> list[Fields]:
    """The cases of a suite that belong to these parts."""
    file = Fields.of(f"{name}.json", document(FILES / f"{name}.json"))
    return [
        Fields.of(f"{file.where} {part} {number}", each)
        for part in parts
        for number, each in enumerate(file.entries(part), 1)
    ]


def small_stores(stores: Sequence[Fields]) -> Dataset:
    """A namespace for each store of the suite `absence`."""
    return dataset_of([life_of(store.name("name"), store) for store in stores])


def _share(suite: str, figure: str, each: Sequence[bool]) -> SuiteFigure:
    return SuiteFigure(suite, figure, len(each), round(sum(each) / len(each), 6) if each else 0.0)


def times(suite: str, cases: Sequence[Fields], choice: str) -> list[SuiteFigure]:
    """Number of questions that are read as asking about the days a person would mean."""
    with tempfile.TemporaryDirectory() as folder, closing(open_store(f"{folder}/times.db")) as store:
        engine = Engine(store, suite, cached(load_embedder(choice)))
        return [_share(suite, "windows as meant", [_meant(engine, case) for case in cases])]


def _meant(engine: Engine, case: Fields) -> bool:
    """True if the first and the last day are those meant, or as near to them as the case allows."""
    window = engine.understand(case.text("q"), now=case.value("now")).window
    if window is None:
        return False
    slack = timedelta(days=case.data.get("slack", 0))
    first, last = window.start.date(), (window.end - timedelta(microseconds=1)).date()
    ends = (first, date.fromisoformat(case.value("start"))), (last, date.fromisoformat(case.value("end")))
    return all(abs(found - meant) <= slack for found, meant in ends)


def absence(suite: str, stores: Sequence[Fields], choice: str) -> list[SuiteFigure]:
    """The share of small stores that say that nothing answers, and of those that answer if they can."""
    outcomes = _outcomes(stores, choice)
    never = [each.found is False for each in outcomes if each.kind == NEVER]
    answered = [each.found is not False and each.rank <= NEAR for each in outcomes if each.kind != NEVER]
    return [_share(suite, "recognised", never), _share(suite, "answered", answered)]


def who(suite: str, stores: Sequence[Fields], choice: str) -> list[SuiteFigure]:
    """The share of questions whose first hits are about the person meant, among others of the same name."""
    places = [each.rank for each in _outcomes(stores, choice)]
    return [_share(suite, f"hit@{depth}", [place <= depth for place in places]) for depth in (1, NEAR)]


def _outcomes(stores: Sequence[Fields], choice: str) -> list[Outcome]:
    """The outcome of each question of small stores, asked by the default recipe."""
    dataset = small_stores(stores)
    contestants, _ = contestants_for("default", {}, dataset.unit)
    answers = run_contestants(dataset, contestants, choice, K).answers["default"]
    return [
        outcome(question, answer.ranking, answer.found, answer.chances)
        for question, answer in zip(dataset.questions, answers, strict=True)
    ]


def restatements(suite: str, cases: Sequence[Fields], choice: str) -> list[SuiteFigure]:
    """The share of pairs in which one text stands for the other: those that mean the same, and those that only look
    like it."""
    with tempfile.TemporaryDirectory() as folder, closing(open_store(f"{folder}/restatements.db")) as store:
        engine = Engine(store, suite, cached(load_embedder(choice)))
        for side in ("older", "newer"):
            texts = [{"id": f"{side}-{number}", "content": case.text(side)} for number, case in enumerate(cases)]
            engine.remember_many(texts)
        folded = [_folded(engine, number, case.text("q")) for number, case in enumerate(cases)]
    same = [case.data["same"] is True for case in cases]
    return [
        _share(suite, "folded", [each for each, equal in zip(folded, same, strict=True) if equal]),
        _share(suite, "kept apart", [not each for each, equal in zip(folded, same, strict=True) if not equal]),
    ]


def _folded(engine: Engine, number: int, question: str) -> bool:
    """True if one text of a pair is among the hits, and stands for the other."""
    pair = {f"older-{number}", f"newer-{number}"}
    stands = [{hit.memory.id, *(one.id for one in hit.folded)} for hit in engine.recall(question, k=K)]
    return any(pair <= each for each in stands)


def languages(suite: str, facts: Sequence[Fields], choice: str) -> list[SuiteFigure]:
    """Questions whose first hit is right: asked in a language over English memories, and in English over its own."""
    texts = [fact.data for fact in facts]
    model, figures = cached(load_embedder(choice)), []
    for language in (name for name in texts[0] if name != ENGLISH):
        for asked, told in ((language, ENGLISH), (ENGLISH, language)):
            with tempfile.TemporaryDirectory() as folder, closing(open_store(f"{folder}/languages.db")) as store:
                engine = Engine(store, suite, model)
                engine.remember_many({"id": str(at), "content": each[told][0]} for at, each in enumerate(texts))
                answers = [engine.recall(each[asked][1], k=1) for each in texts]
            right = [bool(answer) and answer[0].memory.id == str(at) for at, answer in enumerate(answers)]
            figures.append(_share(suite, f"{asked} over {told}", right))
    return figures


SUITES: Mapping[str, Score] = {
    "times": times,
    "absence": absence,
    "who": who,
    "restatements": restatements,
    "languages": languages,
}
