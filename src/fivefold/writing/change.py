"""Changes in plain words: a new memory that replaces an older one, found by a model that reads both.

What is sure is marked as ended. What is only likely is linked with its chance and weighed when asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fivefold.models.reader import Said, SaidPair, pair_reader
from fivefold.stores.protocol import Reader, Writer
from fivefold.text.lexemes import lexemes
from fivefold.values.extraction import Statement
from fivefold.values.memory import Memory
from fivefold.values.reports import Link
from fivefold.writing.change_candidates import (
    Neighbourhood,
    Side,
    candidates,
    in_time,
    memory_of,
    neighbourhoods,
    stored_memory,
)
from fivefold.writing.change_cues import is_doubtful, is_numbered, is_plain, is_repeated
from fivefold.writing.draft import Draft
from fivefold.writing.extract.statements import same_value
from fivefold.writing.report import ReportBuilder

READ = 0.25
"""From which chance of the model on a pair counts at all."""

SURE, SURE_IF_PLAIN, SURE_IF_SHORT = 0.95, 0.945, 0.5
"""From which chance of the model on a memory is marked as ended: in general, where the text plainly says that something
changed, and where both texts are short as well."""

SHARED = 0.25
"""The share of common words without which a change is not sure, unless both texts are short."""

SHORT, NEAR = 10, 0.4
"""Words of a short text, and how like the vectors of two of them must be."""

ENDABLE = 45
"""Words that a memory has at most to be ended as a whole; a longer one says more than what changed."""

LIKELY = 0.08
"""From which chance on two memories are linked."""

WEIGHTS = (0.6507, 2.165, 2.7599, -0.0025, -4.4488)
"""What makes a change likely in a life: the model's log odds, the likeness of the vectors, the share of common words,
the number of words; and the start of the sum. Fitted on the six lives to choose by (`training/reader/weigh.py`)."""


@dataclass(frozen=True, slots=True)
class Change:
    """A newer memory that may replace an older one; one of both is new."""

    older: Side
    newer: Side
    read: float
    """The chance that the model gives, which knows only the two texts."""
    likeness: float
    shared: float

    @property
    def chance(self) -> float:
        """The chance among all memories that are near, most of which are about something else.

        It is rounded, so that every store gives the same; likeness differs between them in its last digits.
        """
        odds = math.log(self.read / max(1 - self.read, 1e-6))
        signs = (odds, self.likeness, self.shared, _words(self.older) + _words(self.newer), 1)
        return round(1 / (1 + math.exp(-sum(weight * sign for weight, sign in zip(WEIGHTS, signs, strict=True)))), 4)

    @property
    def is_sure(self) -> bool:
        """Whether the older memory may be marked as ended, and not only linked."""
        older, newer = _said(self.older), _said(self.newer)
        if _words(self.older) > ENDABLE or is_doubtful(older.text, newer.text) or is_repeated(older, newer):
            return False
        short = max(_words(self.older), _words(self.newer)) <= SHORT
        if self.shared < SHARED and not (short and self.likeness >= NEAR):
            return False
        limit = SURE_IF_SHORT if short else SURE_IF_PLAIN
        return self.read >= (limit if is_plain(newer.text) else SURE)


def find_changes(drafts: Sequence[Draft], reader: Reader) -> list[Change]:
    """What the new memories replace, and what replaces them, among themselves and in the store; oldest change first."""
    return changes_among(neighbourhoods(drafts, reader))


def changes_among(compared: Sequence[Neighbourhood]) -> list[Change]:
    """The same of new memories whose nearest ones are known."""
    ordered = [(*in_time(near.side, item), near) for near, item in candidates(compared)]
    ordered = [(older, newer, near) for older, newer, near in ordered if _differ(older, newer)]
    chances = pair_reader().relations([SaidPair(_said(older), _said(newer)) for older, newer, _ in ordered])
    found = [
        Change(older, newer, each.replaces, near.likeness, near.shared)
        for (older, newer, near), each in zip(ordered, chances, strict=True)
        if each.replaces >= READ
    ]
    return sorted(found, key=lambda change: memory_of(change.newer).event_at)


def mark_changes(changes: Sequence[Change], txn: Writer, report: ReportBuilder) -> None:
    """End what is surely replaced and link what is likely, unless the statements of both have already decided."""
    decided = {(link.source, link.target) for link in report.linked}
    for change in changes:
        older, newer = stored_memory(change.older, txn), stored_memory(change.newer, txn)
        if older is None or newer is None or older.row == newer.row or older.superseded_by is not None:
            continue
        stated = txn.statements.of_memory(older.row)
        if (newer.id, older.id) in decided or _states_again(newer, stated, txn) or _states_other(newer, stated, txn):
            continue
        if change.is_sure and len(stated) < 2 and not older.pinned:
            why = f"{_short(newer.content)!r} replaces {_short(older.content)!r}, chance {change.read:.2f}"
            txn.statements.supersede(older, newer, why)
            report.superseded.append(Link(newer.id, older.id, "supersedes", why))
        elif change.chance >= LIKELY:
            why = f"{_short(newer.content)!r} may replace {_short(older.content)!r}"
            txn.memories.link(newer.row, older.row, "likely", why, change.chance)
            report.linked.append(Link(newer.id, older.id, "likely", why, change.chance))


def _differ(older: Side, newer: Side) -> bool:
    """Equal texts say the same."""
    one, other = memory_of(older), memory_of(newer)
    if is_numbered(one.content, other.content):
        return False
    return one.id != other.id and lexemes(one.content) != lexemes(other.content)


def _states_again(newer: Memory, stated: Sequence[Statement], txn: Writer) -> bool:
    """Whether the newer memory states an attribute of the older one with the same value, so that nothing changed."""
    values = {(item.subject, item.attribute): item.value for item in stated}
    return any(
        same_value(values[item.subject, item.attribute], item.value)
        for item in (txn.statements.of_memory(newer.row) if values else ())
        if (item.subject, item.attribute) in values
    )


def _states_other(newer: Memory, stated: Sequence[Statement], txn: Writer) -> bool:
    """Whether both memories state something, and nothing of the same: a new home is no new employer."""
    said = _attribute_words(txn.statements.of_memory(newer.row)) if stated else set()
    return bool(said) and said.isdisjoint(_attribute_words(stated))


def _attribute_words(statements: Sequence[Statement]) -> set[str]:
    """The words of what is stated, apart from the user's part in it."""
    return {word for item in statements for word in f"{item.subject} {item.attribute}".split()} - {"user"}


def _said(side: Side) -> Said:
    memory = memory_of(side)
    return Said(memory.content, memory.speaker or "")


def _words(side: Side) -> int:
    return len(memory_of(side).content.split())


def _short(text: str) -> str:
    """The beginning of a text, for a reason in one line."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79].rpartition(" ")[0] + "…"
