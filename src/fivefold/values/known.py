"""Views of the known facts: a profile, an agenda, changes, and the recap of a session, all with sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, get_args

from fivefold.values.serialize import Value
from fivefold.values.times import WEEKDAYS

Section = Literal[
    "who",
    "home",
    "work",
    "people",
    "health",
    "tastes",
    "habits",
    "projects",
    "things",
    "avoid",
    "decisions",
    "commands",
    "open",
]
SECTIONS: tuple[Section, ...] = get_args(Section)

HIDDEN = "hidden"
"""The tag of a memory that no profile, agenda, list of changes or recap shows."""


@dataclass(frozen=True, slots=True)
class FactSpan(Value):
    """A clause of a text that states something lasting: its span, its section, and the chance that it is a fact."""

    start: int
    end: int
    section: Section
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Value):
    """A line of what is known, in the words of its sources.

    `chance` is how likely it still holds. `replaces` are the ids of memories that said otherwise before; `until` is
    when it ended. A fact of an agenda has the day it is meant for, and one of a session the turn that says it.
    """

    text: str
    section: Section
    sources: tuple[str, ...]
    since: datetime
    chance: float = 1.0
    pinned: bool = False
    until: datetime | None = None
    replaces: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    repeats: str | None = None
    overdue: bool = False
    turn: int | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def first_day(self) -> date:
        """The day it is meant for: a day of any time zone has its noon within twelve hours of that of UTC."""
        at = self.start or self.since
        return (at + HALF_DAY if self._whole_days else at).date()

    @property
    def last_day(self) -> date:
        """The last day of a stretch of time."""
        return (self.end - HALF_DAY).date() if self.end and self._whole_days else self.first_day

    @property
    def _whole_days(self) -> bool:
        return self.start is not None and self.end is not None and self.end - self.start >= 2 * HALF_DAY


HALF_DAY = timedelta(hours=12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Value):
    """The known facts about the user, or about a person, place or project, as far as they fit; `str()` of it is a text.

    `earlier` has facts that no longer hold; they are not part of the text. `left_out` counts the facts that did not
    fit.
    """

    about: str
    at: datetime
    facts: tuple[Fact, ...]
    earlier: tuple[Fact, ...]
    left_out: int
    tokens: int
    budget: int

    def __str__(self) -> str:
        return profile_text(self.facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def section(self, name: Section) -> tuple[Fact, ...]:
        """The facts of one section."""
        return tuple(fact for fact in self.facts if fact.section == name)


def profile_text(facts: Iterable[Fact]) -> str:
    """The facts, indented, under the names of their sections."""
    lines: list[str] = []
    section = ""
    for fact in facts:
        if fact.section != section:
            section = fact.section
            lines.append(f"{section}:")
        lines.append(f" {fact.text}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda(Value):
    """The dated facts in a stretch of time, in the order of their days; `str()` of it is a text."""

    start: datetime
    end: datetime | None
    facts: tuple[Fact, ...]
    moved: tuple[Fact, ...] = ()
    """Facts that were dated in it, and were moved or cancelled since."""

    def __str__(self) -> str:
        return "\n".join(f"{_day(fact)} {fact.text}" for fact in self.facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)


def _day(fact: Fact) -> str:
    day = fact.first_day
    return f"{WEEKDAYS[day.weekday()][:3]} {day}" + (" (overdue)" if fact.overdue else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes(Value):
    """The facts that are new, that replaced others, and that ended since a time; the latest first."""

    since: datetime
    new: tuple[Fact, ...]
    replaced: tuple[Fact, ...]
    """Facts that hold now; `replaces` names the memories that said otherwise, which `ended` has."""
    ended: tuple[Fact, ...]

    def __str__(self) -> str:
        parts = (("new", self.new), ("changed", self.replaced), ("no longer", self.ended))
        return "\n".join(
            line for name, facts in parts if facts for line in (f"{name}:", *(f"- {fact.text}" for fact in facts))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recap(Value):
    """The results of a session, as extracts of its turns."""

    session_id: str
    started_at: datetime
    ended_at: datetime
    turns: int
    decisions: tuple[Fact, ...]
    facts: tuple[Fact, ...]
    promises: tuple[Fact, ...]
    questions: tuple[Fact, ...]
    """Questions that nothing answered."""

    def __str__(self) -> str:
        parts = (
            ("decisions", self.decisions),
            ("facts", self.facts),
            ("promises", self.promises),
            ("open questions", self.questions),
        )
        return "\n".join(
            line for name, facts in parts if facts for line in (f"{name}:", *(f"- {fact.text}" for fact in facts))
        )
