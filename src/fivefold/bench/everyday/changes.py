"""Whether a change of mind is linked to what it replaces when it is written, and what is true stays as it is."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fivefold.bench.cache import cached
from fivefold.bench.everyday.lives import PARTS, Part
from fivefold.bench.reading import Fields, lines
from fivefold.engine import Engine
from fivefold.models.embedders import Embedder
from fivefold.models.embedders import embedder as load_embedder
from fivefold.stores import open_store
from fivefold.stores.protocol import Store
from fivefold.text.progress import bar
from fivefold.values.reports import Report
from fivefold.values.serialize import Value

CASES = Path(__file__).with_name("data") / "changes"
PERSONS = ("first", "third")
RELATIONS = ("replaces", "continues", "apart")
SAID = datetime(2026, 1, 5, 9, tzinfo=UTC)
LATER = timedelta(days=30)
BATCH = 50
"""Namespaces in one store: each has tables of its own, and many of them make every write slower."""


@dataclass(frozen=True, slots=True)
class Case:
    """Two memories, whether the newer one replaces the older, and the person in which they are written."""

    older: str
    newer: str
    older_speaker: str
    newer_speaker: str
    replaces: bool
    person: str


@dataclass(frozen=True, slots=True)
class ChangeFigures(Value):
    """For one person: the share of changes that are linked or at least likely, and that of the others which are."""

    person: str
    changes: int
    linked: float
    likely: float
    others: int
    falsely_linked: float
    falsely_likely: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the write of the newer memory said of the older one."""

    case: Case
    linked: bool
    likely: bool


def shipped_cases(part: Part) -> list[Case]:
    """The labelled pairs of one part, or of both; no wording is in two parts, nor in what a model was trained by."""
    names = [name for name in PARTS[:2] if part in (name, "all")]
    return [_case(line) for name in names for line in lines(CASES / f"{name}.jsonl.xz")]


def measure_changes(cases: Sequence[Case], choice: str, progress: bool = False) -> list[ChangeFigures]:
    """Each pair is written in a namespace of its own, the older memory first."""
    model = cached(load_embedder(choice))
    verdicts: list[Verdict] = []
    with bar("Writing changes", len(cases), show=progress) as advance:
        for start in range(0, len(cases), BATCH):
            batch = cases[start : start + BATCH]
            verdicts += _write_batch(batch, model)
            advance(len(batch))
    by_person = {person: [each for each in verdicts if each.case.person == person] for person in PERSONS}
    return [_figures(person, each) for person, each in by_person.items() if each]


def _write_batch(cases: Sequence[Case], model: Embedder) -> list[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "changes.db"))
        try:
            return [_write(store, f"case-{number}", model, case) for number, case in enumerate(cases)]
        finally:
            store.close()


def _write(store: Store, namespace: str, model: Embedder, case: Case) -> Verdict:
    engine = Engine(store, namespace, model)
    older = engine.remember(case.older, speaker=case.older_speaker, event_at=SAID).id
    report = engine.remember(case.newer, speaker=case.newer_speaker, event_at=SAID + LATER)
    linked = any(link.target == older for link in report.superseded)
    return Verdict(case, linked, linked or _is_likely(report, older))


def _is_likely(report: Report, older: str) -> bool:
    return any(link.target == older and link.relation in ("likely", "supersedes") for link in report.linked)


def _figures(person: str, verdicts: Sequence[Verdict]) -> ChangeFigures:
    changes = [each for each in verdicts if each.case.replaces]
    others = [each for each in verdicts if not each.case.replaces]
    return ChangeFigures(
        person,
        len(changes),
        _share([each.linked for each in changes]),
        _share([each.likely for each in changes]),
        len(others),
        _share([each.linked for each in others]),
        _share([each.likely for each in others]),
    )


def _share(values: Sequence[bool]) -> float:
    return round(sum(values) / len(values), 6) if values else 0.0


def _case(line: Fields) -> Case:
    relation, person = line.name("relation"), line.name("person")
    for field, value, known in (("relation", relation, RELATIONS), ("person", person, PERSONS)):
        if value not in known:
            raise line.fault(field, f"{value!r} is unknown; known are {', '.join(known)}")
    return Case(
        older=line.text("older"),
        newer=line.text("newer"),
        older_speaker=line.name("older_speaker"),
        newer_speaker=line.name("newer_speaker"),
        replaces=relation == RELATIONS[0],
        person=person,
    )
