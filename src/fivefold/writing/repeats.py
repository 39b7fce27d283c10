"""Near-duplicates: a new memory that says in nearly the same words what the same speaker said before. Both stay."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from fivefold.stores.protocol import Writer
from fivefold.values.memory import Memory
from fivefold.values.reports import Link
from fivefold.writing.change_candidates import Near, Neighbourhood, Side, in_time, memory_of, stored_memory
from fivefold.writing.change_cues import changes_sense
from fivefold.writing.report import ReportBuilder

ALIKE = 0.7
"""How like the vectors of two memories must be."""

COVERED = 0.75
"""The share of the words of the longer text that the shorter one has at least; it has no others."""

FEWEST = 2
"""Words that a text has at least, apart from those that say little."""

MOST = 3
"""How many earlier memories a new one is linked with, the nearest of them."""

SAME_EVENT = timedelta(days=1)
"""How far apart two events in the same words are at most; what happens on another day is another event."""

WHY = "says nearly the same as an earlier memory"

_WORD = re.compile(r"[^\W_]+")
_NOT = re.compile(r"n['’]t\b", re.IGNORECASE)
_NUMBER = re.compile(r"[-−+$€£¥#]?\d[\d.,:/-]*\s?[%$€£¥°]?")
_LITTLE = frozenset(
    "a an the is are am be been being do does did have has had that this it its i me my mine myself m s re ve ll d "
    "user users just really very so well oh hey hi hello yes yeah ok okay please actually btw fyi note remember".split()
)
"""Words that two texts may differ in and still say the same."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A newer memory that says nearly the same as an older one; one of both is new."""

    older: Side
    newer: Side
    shared: float
    """The share of the longer text's words that the shorter one has."""


def find_repeats(compared: Sequence[Neighbourhood]) -> list[Repeat]:
    """What the new memories say again, of what is stored and of what was given before them."""
    return [repeat for each in compared for repeat in repeats_of(each.item, each.around)]


def repeats_of(item: Side, around: Sequence[Near]) -> list[Repeat]:
    """What one memory says again of the nearest around it."""
    return list(islice(_repeated(item, around), MOST))


def mark_repeats(repeats: Sequence[Repeat], txn: Writer, report: ReportBuilder) -> None:
    """Link near-duplicates, unless one of both has ended, or they are equal and linked as that."""
    for repeat in repeats:
        older, newer = stored_memory(repeat.older, txn), stored_memory(repeat.newer, txn)
        if older is None or newer is None or older.row == newer.row or older.content == newer.content:
            continue
        if older.superseded_by is None and newer.superseded_by is None:
            txn.memories.link(newer.row, older.row, "repeats", WHY, repeat.shared)
            report.linked.append(Link(newer.id, older.id, "repeats", WHY, repeat.shared))


def same_share(one: str, other: str) -> float:
    """The share of common words where two texts differ in a few words that change nothing of what is said; else 0.

    Numbers and names must be the same in the same order. What one text has more may not deny, date or count anything,
    nor speak of somebody else.
    """
    if ("?" in one) != ("?" in other) or _numbers(one) != _numbers(other):
        return 0
    words, others = _words(one), _words(other)
    less, more = sorted((words, others), key=len)
    if len(less) < FEWEST or not less.keys() <= more.keys() or len(less) < COVERED * len(more):
        return 0
    added = [more[word] for word in more if word not in less]
    if any(not word.islower() for word in added) or changes_sense(" ".join(added)):
        return 0
    names = {word for each in (words, others) for word, written in each.items() if not written.islower()}
    in_order = [word for word in less if word in names] == [word for word in more if word in names and word in less]
    return round(len(less) / len(more), 4) if in_order else 0


def _repeated(item: Side, around: Sequence[Near]) -> Iterator[Repeat]:
    memory = memory_of(item)
    for near in around:
        other = memory_of(near.side)
        if near.likeness >= ALIKE and _comparable(memory, other):
            shared = same_share(memory.content, other.content)
            if shared:
                yield Repeat(*in_time(near.side, item), shared)


def _comparable(one: Memory, other: Memory) -> bool:
    if (one.kind, one.speaker) != (other.kind, other.speaker) or other.superseded_by is not None:
        return False
    return one.type != "event" or abs(one.event_at - other.event_at) <= SAME_EVENT


def _words(text: str) -> dict[str, str]:
    """The words that say something in their order, each by its form without an ending in s, as it is written."""
    words: dict[str, str] = {}
    for word in _WORD.findall(_NOT.sub(" not", unicodedata.normalize("NFKC", text))):
        if word.casefold() not in _LITTLE:
            words.setdefault(_form(word), word)
    return words


def _form(word: str) -> str:
    folded = word.casefold()
    return folded[:-1] if len(folded) > 3 and folded.endswith("s") and not folded.endswith("ss") else folded


def _numbers(text: str) -> list[str]:
    return [number.replace(" ", "").rstrip(".,:/-") for number in _NUMBER.findall(text)]
