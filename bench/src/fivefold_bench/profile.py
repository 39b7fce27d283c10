"""Measures the known facts: the expected lines of a life's profile, agenda and histories, and the unwanted ones.

The lists were written from the lives, those of the lives that report by authors who have not seen the engine. A key is
a set of words of which a line must contain one, in any letter case. One line, or the lines of one source together,
must meet all keys of an entry.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.evaluation import Life, read_life
from fivefold.models.embedders import embedder as load_embedder
from fivefold.stores import open_store
from fivefold.text.display import bar
from fivefold.values.json_files import Fields, document
from fivefold.values.known import Fact
from fivefold.values.serialize import Json, Value
from fivefold.version import VERSION
from fivefold_bench.cache import cached
from fivefold_bench.everyday import shipped_lives

LISTS = Path(__file__).with_name("everyday_data") / "profiles"
DEFAULT_TOKENS = 600

Keys = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class SectionFigures(Value):
    """The listed facts of a section, and how many of them the profiles have."""

    section: str
    facts: int
    found: int

    @property
    def share(self) -> float:
        return self.found / self.facts if self.facts else 0.0


@dataclass(frozen=True, slots=True)
class ProfileFigures(Value):
    """A life, or several: what was found of what is listed, and what should not be there."""

    name: str
    facts: int
    found: int
    lines: int
    stale: int
    """Lines that say what no longer holds."""
    wrong: int
    """Lines whose words their source does not have."""
    dated: int
    dated_found: int
    cancelled: int
    cancelled_shown: int
    values: int
    """Values that changed, of all histories."""
    in_order: int
    """Values that a history has in their order."""
    history_lines: int

    @classmethod
    def total(cls, name: str, parts: Sequence[ProfileFigures]) -> ProfileFigures:
        names = [each for each in cls.__slots__ if each != "name"]
        return cls(name, *(sum(getattr(part, each) for part in parts) for each in names))


@dataclass(frozen=True, slots=True)
class ProfileReport(Value):
    """All figures of a run."""

    embedder: str
    fivefold: str
    budget: int
    lives: tuple[ProfileFigures, ...]
    overall: ProfileFigures
    sections: tuple[SectionFigures, ...]


def run_profiles(part: str, budget: int, choice: str, progress: bool = False) -> ProfileReport:
    """Measure the profile, the agenda and the histories of the shipped lives that have lists."""
    lives = [path for path in shipped_lives(part) if _list_of(path).exists()]
    if not lives:
        raise InvalidInput(f"no shipped life for {part!r} has a list of facts", field="lives")
    model = cached(load_embedder(choice))
    figures: list[ProfileFigures] = []
    sections: dict[str, list[int]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_store(f"{folder}/lives.db")) as store,
        bar("Reading lives", len(lives), show=progress) as advance,
    ):
        for path in lives:
            life, lists = read_life(path), Fields.of(_list_of(path).name, document(_list_of(path)))
            engine = Engine(store, life.name, model)
            engine.remember_many(life.memories)
            figures.append(measure(engine, life, lists, budget, sections))
            advance(1)
    of_sections = (SectionFigures(name, len(found), sum(found)) for name, found in sorted(sections.items()))
    overall = ProfileFigures.total("all", figures)
    return ProfileReport(model.pin, VERSION, budget, tuple(figures), overall, tuple(of_sections))


def _list_of(life: Path) -> Path:
    return LISTS / life.name


def measure(engine: Engine, life: Life, lists: Fields, budget: int, sections: dict[str, list[int]]) -> ProfileFigures:
    """One life; `sections` gathers for each listed fact whether it was found."""
    now = max(question.now for question in life.questions if question.now is not None)
    profile = engine.profile(token_budget=budget, now=now, secrets=True)
    texts = [*(fact.text for fact in profile), *_joined(profile)]
    found = 0
    for entry in _entries(lists, "facts"):
        there = any(_has(text, entry["keys"]) for text in texts)
        sections.setdefault(str(entry["section"]), []).append(there)
        found += int(there)
    agenda = engine.agenda(now, limit=100, secrets=True).facts
    dated = [entry for entry in _entries(lists, "dated") if not entry["cancelled"]]
    cancelled = [entry for entry in _entries(lists, "dated") if entry["cancelled"]]
    values = [_order(engine, entry) for entry in _entries(lists, "changed")]
    contents = {memory.id: " ".join(memory.content.split()) for memory in life.memories}
    return ProfileFigures(
        name=life.name,
        facts=len(_entries(lists, "facts")),
        found=found,
        lines=len(profile),
        stale=sum(any(_has(fact.text, entry["keys"]) for entry in _entries(lists, "stale")) for fact in profile),
        wrong=sum(not any(fact.text in contents.get(id, "") for id in fact.sources) for fact in profile),
        dated=len(dated),
        dated_found=sum(_is_on(agenda, entry) for entry in dated),
        cancelled=len(cancelled),
        cancelled_shown=sum(_is_on(agenda, entry) for entry in cancelled),
        values=sum(len(entry["values"]) for entry in _entries(lists, "changed")),
        in_order=sum(each[0] for each in values),
        history_lines=sum(each[1] for each in values),
    )


def _entries(lists: Fields, name: str) -> list[Json]:
    return lists.entries(name) if name in lists.data else []


def _joined(facts: Iterable[Fact]) -> list[str]:
    """The lines of each source as one text."""
    by_source: dict[tuple[str, ...], list[str]] = {}
    for fact in facts:
        by_source.setdefault(fact.sources, []).append(fact.text)
    return [" ".join(texts) for texts in by_source.values()]


def _has(text: str, keys: Keys) -> bool:
    folded = text.casefold()
    return all(any(word.casefold() in folded for word in key) for key in keys)


def _is_on(agenda: Sequence[Fact], entry: Json) -> bool:
    """True if the agenda has an entry on its day, or in a stretch that has the day."""
    day = date.fromisoformat(str(entry["when"])[:10])
    return any(_has(fact.text, entry["keys"]) and fact.first_day <= day <= fact.last_day for fact in agenda)


def _order(engine: Engine, entry: Json) -> tuple[int, int]:
    """The number of values a history has in their order, and of its lines."""
    try:
        facts = engine.history(str(entry["question"])).facts
    except NotFound:
        facts = ()
    places = [
        [place for place, fact in enumerate(facts) if any(word.casefold() in fact.text.casefold() for word in value)]
        for value in entry["values"]
    ]
    return _longest(places), len(facts)


def _longest(places: Sequence[Sequence[int]]) -> int:
    """The most values that can be read in their order from rising places."""
    best: dict[int, int] = {}  # the number of values so far, by the place of the last one
    for each in places:
        found = {at: 1 + max((n for last, n in best.items() if last < at), default=0) for at in each}
        for at, number in found.items():
            best[at] = max(best.get(at, 0), number)
    return max(best.values(), default=0)
