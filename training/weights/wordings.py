"""Wording families read from plain text: paragraphs of patterns with [choices] and {slots}."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "families"

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")
_SPACES = re.compile(r"\s+")
_LOOSE = re.compile(r"\s+([,.!?:])")


@dataclass(frozen=True, slots=True)
class Family:
    """Ways to say one thing. All of them go to the same side of a split, so that a held-out wording is unseen."""

    name: str
    intent: str
    patterns: tuple[str, ...]


def families(intent: str) -> list[Family]:
    """The families of one intent; a paragraph of the file is a family, named by its first words."""
    paragraphs = "\n".join(_lines(f"{intent}.txt")).split("\n\n")
    found = [tuple(line for line in paragraph.splitlines() if line) for paragraph in paragraphs]
    return [
        Family(f"{intent}/{number:03d} {patterns[0][:40]}", intent, patterns)
        for number, patterns in enumerate((patterns for patterns in found if patterns), 1)
    ]


@cache
def slots(name: str = "slots.txt") -> dict[str, tuple[str, ...]]:
    """What may fill each slot."""
    table: dict[str, tuple[str, ...]] = {}
    for line in _lines(name):
        if line:
            slot, _, fillings = line.partition(":")
            table[slot.strip()] = tuple(filling.strip() for filling in fillings.split(" | "))
    return table


def said(pattern: str, chance: random.Random) -> str:
    """One utterance of a pattern. Slots are filled first, for a choice may hold one."""
    text = _SLOT.sub(lambda slot: chance.choice(slots()[slot[1]]), pattern)
    text = _CHOICE.sub(lambda choice: chance.choice(choice[1].split("|")), text)
    return _LOOSE.sub(r"\1", _SPACES.sub(" ", text)).strip()


def _lines(name: str) -> list[str]:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [line.strip() for line in lines if not line.startswith("#")]
