"""Queries with the weights they should get: four intents, hundreds of wording families, all kinds of typing (D5)."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from training.weights.wordings import Family, families, said, slots

Target = tuple[float, float, float]
Split = Literal["train", "test"]

TARGETS: dict[str, Target] = {
    "semantic": (0.8, 0.1, 0.1),
    "temporal": (0.2, 0.7, 0.1),
    "frequency": (0.15, 0.1, 0.75),
    "mixed": (0.4, 0.4, 0.2),
}
"""Weights of similarity, recency and frequency for each intent (D5)."""

DOMINANT: dict[str, tuple[int, ...]] = {"semantic": (0,), "temporal": (1,), "frequency": (2,), "mixed": (0, 1)}
"""Which signals may lead. A mixed query is meant to be a tie of the first two, so either is right."""

ROWS = {"semantic": 10_100, "temporal": 5_200, "frequency": 4_700, "mixed": 5_200}
"""Topics are wider than the ways to ask for what is new or frequent, so there are more semantic rows."""

JITTER = 0.02
HELD_OUT = 0.15
"""Share of the wording families that training never sees."""

LATER = {"semantic": 131, "temporal": 92, "frequency": 77, "mixed": 71}
"""The first families of each intent whose held-out wordings nobody looked at, neither for keywords nor for errors."""

LAST = {"semantic": 159, "temporal": 116, "frequency": 98, "mixed": 91}
"""The first families that are all for training. Who wrote them did not know which of the others are held out."""

LATER_HELD_OUT = 0.35
"""More of these are held out: they alone say how good the network is on wordings that are new to its makers."""


@dataclass(frozen=True, slots=True)
class Row:
    """One query, the weights wanted for it, and the family its wording comes from."""

    text: str
    intent: str
    target: Target
    family: str


def generate(seed: int = 5) -> list[Row]:
    """Every row of the training and test sets; no text twice. A family's rows do not depend on other families."""
    rows: dict[str, Row] = {}
    for intent in TARGETS:
        group = families(intent)
        for family in group:
            chance = random.Random(f"{seed} {family.name}")
            for row in _drawn(family, ROWS[intent] // len(group), chance):
                rows.setdefault(row.text.casefold(), row)
    return list(rows.values())


def split_of(family: str) -> Split:
    """The side a family is on: fixed by its name, never by its rows."""
    number = int.from_bytes(hashlib.sha256(family.encode()).digest()[:4], "big")
    if _is_from(LAST, family):
        return "train"
    return "test" if number / 2**32 < (LATER_HELD_OUT if is_later(family) else HELD_OUT) else "train"


def is_later(family: str) -> bool:
    """Whether the family was written after the last look at errors of held-out families."""
    return _is_from(LATER, family)


def _is_from(first: Mapping[str, int], family: str) -> bool:
    intent, _, rest = family.partition("/")
    return int(rest[:3]) >= first[intent]


def consistent(intent: str, target: Target) -> bool:
    """Whether the weights say what the intent says: its signal leads clearly, or the two of a mixed query tie."""
    if abs(sum(target) - 1) > 1e-6 or min(target) <= 0:
        return False
    if intent == "mixed":
        return abs(target[0] - target[1]) <= 0.1 and min(target[:2]) > target[2]
    lead = DOMINANT[intent][0]
    return target[lead] >= 0.5 and all(target[lead] > weight for i, weight in enumerate(target) if i != lead)


def jittered(intent: str, chance: random.Random) -> Target:
    """The intent's weights, moved a little; drawn again in the rare case that they stop saying what they should."""
    while True:
        moved = [max(0.01, weight + chance.gauss(0, JITTER)) for weight in TARGETS[intent]]
        target = (moved[0] / sum(moved), moved[1] / sum(moved), moved[2] / sum(moved))
        if consistent(intent, target):
            return target


def save(rows: Iterable[Row], path: Path) -> None:
    """The rows as JSON lines, for a look at them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        json.dumps({"text": row.text, "intent": row.intent, "weights": row.target, "family": row.family})
        for row in rows
    )
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _drawn(family: Family, count: int, chance: random.Random) -> Iterable[Row]:
    """Up to `count` different rows; a narrow family gives fewer."""
    seen: set[str] = set()
    for number in range(count * 3):
        text = typed(dressed(said(family.patterns[number % len(family.patterns)], chance), chance), chance)
        if text.casefold() not in seen:
            seen.add(text.casefold())
            yield Row(text, family.intent, jittered(family.intent, chance), family.name)
        if len(seen) == count:
            return


def dressed(text: str, chance: random.Random) -> str:
    """The request with politeness, a filler or a sentence around it, as people talk."""
    manners = slots("manners.txt")
    if chance.random() < 0.2:
        text = f"{chance.choice(manners['before'])} {text}"
    if chance.random() < 0.12:
        text = f"{text}{chance.choice((',', ''))} {chance.choice(manners['after'])}"
    text += chance.choice(("?", "?", "", "", ".")) if not text.endswith("?") else ""
    if chance.random() < 0.06:
        text = chance.choice(manners["around"]).replace("{}", text[:1].upper() + text[1:])
    return text


def typed(text: str, chance: random.Random) -> str:
    """The request as fingers type it: letter case, missing apostrophes, typing errors."""
    case = chance.random()
    if case < 0.5:
        text = text[:1].upper() + text[1:]
    elif case < 0.72:
        text = text.lower()
    elif case < 0.74:
        text = text.upper()
    if chance.random() < 0.12:
        text = text.replace("'", chance.choice(("", "’")))
    for _ in range(chance.choices((0, 1, 2), (91, 7, 2))[0]):
        text = _mistyped(text, chance)
    return text


def _mistyped(text: str, chance: random.Random) -> str:
    """One slip in a longer word: a letter lost, doubled, or swapped with the next."""
    words = list(re.finditer(r"[A-Za-z]{4,}", text))
    if not words:
        return text
    word = chance.choice(words)
    at = chance.randrange(word.start() + 1, word.end() - 1)
    slip = chance.choice((text[at + 1], text[at] * 2 + text[at + 1], text[at + 1] + text[at]))
    return text[:at] + slip + text[at + 2 :]
