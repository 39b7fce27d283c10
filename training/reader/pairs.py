"""Pairs of statements with what the newer does to the older, and what is drawn from them for training."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fivefold.models.reader import Remark, SaidPair

RELATIONS = ("replaces", "continues", "apart")
DATA = Path(__file__).parent / "data"
NAMES = Path(__file__).parents[1] / "embedder" / "names.txt"
SPEAKERS = {"u": "user", "a": "assistant"}
NAMED = re.compile(r"\b[A-Z][a-zà-ÿ]{2,}\b")
FIRST_PERSON = re.compile(
    r"\b(i|i'm|i've|my|me|mine|we|our|us|ich|mein\w*|wir|je|j'\w+|mon|ma|yo|mi|me|mio|mia)\b", re.I
)
THE_USER = re.compile(r"\b(the user|user)\b", re.I)
COMMON = frozenset("The User Our We My This That Not Since After From Now Still They She When And But".split())


@dataclass(frozen=True)
class Pair:
    """Two memories in the order they were said, and the relation of the newer to the older."""

    family: str
    relation: str
    older: str
    newer: str
    older_speaker: str = "user"
    newer_speaker: str = "user"

    @property
    def said(self) -> SaidPair:
        """Both texts as the model reads them."""
        return SaidPair(Remark(self.older, self.older_speaker), Remark(self.newer, self.newer_speaker))

    @property
    def third_person(self) -> bool:
        """Whether neither text speaks of its speaker."""
        return not (FIRST_PERSON.search(self.older) or FIRST_PERSON.search(self.newer))


def read_pairs(part: str) -> list[Pair]:
    """The pairs of a part: train, choose or report."""
    lines = (DATA / f"{part}.jsonl").read_text("utf-8").splitlines()
    return [_pair(*json.loads(line)) for line in lines]


def _pair(family: str, relation: str, speakers: str, older: str, newer: str) -> Pair:
    return Pair(family, relation, older, newer, SPEAKERS[speakers[0]], SPEAKERS[speakers[1]])


def given_names() -> list[str]:
    """Common given names, for texts in which a person may be anybody."""
    lines = NAMES.read_text("utf-8").splitlines()
    return " ".join(line for line in lines if not line.startswith("#")).split()


def names_in(text: str) -> set[str]:
    """Capitalised words that are no usual first word of a sentence."""
    return set(NAMED.findall(text)) - COMMON


def renamed(pair: Pair, names: Sequence[str], dice: random.Random) -> Pair:
    """The same pair with a name that both texts share given to another person or place, in both."""
    shared = sorted(names_in(pair.older) & names_in(pair.newer))
    if not shared:
        return pair
    old, new = dice.choice(shared), dice.choice(names)
    swap = re.compile(rf"\b{re.escape(old)}\b")
    return replace(pair, older=swap.sub(new, pair.older), newer=swap.sub(new, pair.newer))


def misspelt(text: str, dice: random.Random) -> str:
    """A text in lower case, or with two letters in the wrong order."""
    return text.lower().rstrip(".") if dice.random() < 0.5 else swap_letters(text, dice)


def swap_letters(text: str, dice: random.Random) -> str:
    """Two neighbouring letters in the wrong order; short texts stay as they are."""
    if len(text) < 12:
        return text
    at = dice.randrange(1, len(text) - 2)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :] if text[at : at + 2].isalpha() else text


def other_person(pair: Pair, names: Sequence[str], dice: random.Random) -> Pair | None:
    """A change that concerns somebody else than the older statement, and so leaves it alone."""
    shared = [name for name in names_in(pair.older) & names_in(pair.newer) if name in names]
    apart = replace(pair, family="other-person", relation="apart")
    if shared:
        known = dice.choice(sorted(shared))
        other = dice.choice([name for name in names if name != known])
        return replace(apart, newer=re.sub(rf"\b{known}\b", other, pair.newer))
    if THE_USER.search(pair.older) and THE_USER.search(pair.newer):
        return replace(apart, newer=THE_USER.sub(dice.choice(names), pair.newer))
    if FIRST_PERSON.search(pair.older) and FIRST_PERSON.search(pair.newer) and pair.older_speaker == pair.newer_speaker:
        one, other = dice.sample(list(names), 2)
        return replace(apart, older_speaker=one, newer_speaker=other)
    return None


def unrelated(pairs: Sequence[Pair], dice: random.Random) -> Pair:
    """Two statements of different families, put together."""
    one, other = dice.choice(pairs), dice.choice(pairs)
    while one.family == other.family:
        other = dice.choice(pairs)
    return Pair("unrelated", "apart", one.older, other.newer, one.older_speaker, other.newer_speaker)


def drawn(pairs: Sequence[Pair], names: Sequence[str], dice: random.Random) -> Iterator[Pair]:
    """Pairs without end: as written, renamed, misspelt, about somebody else, or put together."""
    while True:
        pair, chance = dice.choice(pairs), dice.random()
        if chance < 0.08:
            yield unrelated(pairs, dice)
            continue
        if chance < 0.16 and pair.relation == "replaces" and (moved := other_person(pair, names, dice)) is not None:
            yield moved
            continue
        if dice.random() < 0.4:
            pair = renamed(pair, names, dice)
        if dice.random() < 0.15:
            pair = replace(pair, older=misspelt(pair.older, dice), newer=misspelt(pair.newer, dice))
        if pair.older_speaker == pair.newer_speaker == "user" and dice.random() < 0.25:
            name = dice.choice(names)
            pair = replace(pair, older_speaker=name, newer_speaker=name)
        yield pair
