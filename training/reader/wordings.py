"""Pairs made from wordings: a state, and what is said later about the same or another person, value or thing."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training.reader.pairs import Pair

FILE = Path(__file__).parent / "wordings.txt"
PERSONS = re.compile(r"<([^|>]*)\|([^>]*)>")
SINGLE = frozenset("home employer phone email partner boss weight doctor browser".split())
"""States of which a person has one at a time, so that a second statement replaces the first."""

OTHERS = (
    "my sister",
    "my brother",
    "a friend",
    "my colleague",
    "my neighbour",
    "mum",
    "dad",
    "my cousin",
    "my flatmate",
)
DAYS = ("last week", "yesterday", "in March", "on Monday", "this spring", "last month", "today", "over the weekend")


@dataclass
class Section:
    """The wordings about one kind of state, by their mark."""

    name: str
    values: str
    lines: dict[str, list[str]] = field(default_factory=dict)

    @property
    def aligned(self) -> bool:
        """Whether each change belongs to the state in the same place."""
        return "+" in self.lines


@dataclass(frozen=True)
class Person:
    """Whom a sentence is about: None for the speaker, else how the person is called."""

    name: str | None
    speaker: str


def read_wordings() -> tuple[list[Section], dict[str, list[str]]]:
    """All sections, and the values they draw from."""
    sections: list[Section] = []
    values: dict[str, list[str]] = {}
    for line in FILE.read_text("utf-8").splitlines():
        if line.startswith("["):
            name, _, kind = line[1:].partition("] ")
            sections.append(Section(name, kind))
        elif sections and sections[-1].name.startswith("values"):
            kind, _, listed = line.partition(": ")
            values[kind] = listed.split(" / ")
        elif sections and line[:2] in {"= ", "> ", "x ", "~ ", "? ", "+ "}:
            sections[-1].lines.setdefault(line[0], []).extend(line[2:].split(" / "))
    return [section for section in sections if section.lines], values


def said(wording: str, person: Person, value: str, old: str, names: Sequence[str], dice: random.Random) -> str:
    """A wording as that person's sentence."""
    place = 1 if person.name is None else 2
    text = PERSONS.sub(lambda found: found[place], wording).replace("@", person.name or "")
    other = dice.choice(names) if dice.random() < 0.5 else dice.choice(OTHERS)
    text = text.replace("{v}", value).replace("{o}", old).replace("{d}", dice.choice(DAYS)).replace("{p}", other)
    return text[:1].upper() + text[1:] if dice.random() < 0.9 else text.lower().rstrip(".")


def persons(names: Sequence[str], dice: random.Random) -> tuple[Person, Person, Person]:
    """One person in two sentences, and somebody else."""
    one, other = dice.sample(list(names), 2)
    user = [Person(None, "user"), Person("the user", "assistant"), Person("user", "assistant")]
    kind = dice.random()
    if kind < 0.25:
        return Person(one, "user"), Person(one, "user"), dice.choice([Person(other, "user"), *user[:2]])
    if kind < 0.35:
        return Person(None, one), Person(None, one), Person(None, other)
    return dice.choice(user), dice.choice(user), Person(other, dice.choice(["user", "assistant"]))


def worded(
    sections: Sequence[Section], values: dict[str, list[str]], names: Sequence[str], dice: random.Random
) -> Iterator[Pair]:
    """Pairs without end, each with the relation that its marks give it."""
    while True:
        section = dice.choice(sections)
        value, other = dice.sample(values[section.values], 2)
        at = dice.randrange(len(section.lines["="]))
        state, later = section.lines["="][at], _later(section, at, dice)
        if later is None:
            continue
        mark, wording = later
        relation, same_value, same_person = _relation(section, mark, state, wording, dice)
        if not relation:
            continue
        before, after, somebody = persons(names, dice)
        whose = after if same_person else somebody
        older = said(state, before, value, other, names, dice)
        newer = said(wording, whose, value if same_value else other, value, names, dice)
        yield Pair(f"worded-{section.name}", relation, older, newer, before.speaker, whose.speaker)


def _relation(section: Section, mark: str, state: str, wording: str, dice: random.Random) -> tuple[str, bool, bool]:
    """The relation, and whether the later wording has the same value and person; no relation where it is unclear."""
    chance, personal = dice.random(), "@" in state and "@" in wording
    if mark == "?":
        return "apart", False, True
    if personal and chance < 0.2:
        return "apart", mark in "x~", False
    if mark == "~":
        return "continues", True, True
    if mark == "x":
        return ("apart", False, True) if chance < 0.3 and "{v}" in wording else ("replaces", True, True)
    if mark == "=":
        replaced = "replaces" if section.name in SINGLE else ""
        return ("continues", True, True) if chance < 0.6 else (replaced, False, True)
    return ("continues", True, True) if chance < 0.3 and "{o}" not in wording else ("replaces", False, True)


def _later(section: Section, at: int, dice: random.Random) -> tuple[str, str] | None:
    """What is said later: its mark and its wording, in the place of the state where places count."""
    mark = dice.choices("+>x~?=", weights=(3, 3, 2, 2, 3, 1))[0]
    if mark not in section.lines or (mark == "=" and section.aligned):
        return None
    lines = section.lines[mark]
    wording = lines[at] if section.aligned and mark in "+x~" and at < len(lines) else dice.choice(lines)
    return None if wording == "-" else (mark, wording)
