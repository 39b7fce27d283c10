"""Changes in plain words: a new memory that replaces an older one, found by a model that reads both.

What the model is sure of is marked as ended. What is only likely is linked with its chance and weighed when asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fivefold.models.change import Said, SaidPair, change_model
from fivefold.stores.protocol import Reader, Writer
from fivefold.text.lexemes import lexemes
from fivefold.values.extraction import Statement
from fivefold.values.memory import Memory
from fivefold.values.reports import Link
from fivefold.writing.change_candidates import Side, candidates, memory_of
from fivefold.writing.change_cues import is_doubtful, is_plain
from fivefold.writing.draft import Draft
from fivefold.writing.extract.statements import same_value
from fivefold.writing.report import ReportBuilder

SURE, SURE_IF_PLAIN, LIKELY = 0.9, 0.75, 0.25
"""From which chance on a memory is marked as ended, also where the words are plain, and from which on it is linked.

Of pairs of the choosing families that are no change, at most one in a hundred is marked by them.
"""

ENDABLE = 45
"""Words that a memory has at most to be ended as a whole; a longer one says more than what changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """A newer memory that replaces an older one with a chance; one of both is new."""

    older: Side
    newer: Side
    chance: float


def find_changes(drafts: Sequence[Draft], reader: Reader) -> list[Change]:
    """What the new memories replace, and what replaces them, among themselves and in the store; oldest change first."""
    ordered = [pair for pair in map(_in_time, candidates(drafts, reader)) if _comparable(*pair)]
    if not ordered:
        return []
    said = [SaidPair(_said(older), _said(newer)) for older, newer in ordered]
    found = [
        Change(older, newer, chances.replaces)
        for (older, newer), chances in zip(ordered, change_model().chances(said), strict=True)
        if chances.replaces >= LIKELY
    ]
    return sorted(found, key=lambda change: _at(change.newer))


def mark_changes(changes: Sequence[Change], txn: Writer, report: ReportBuilder) -> None:
    """End what is surely replaced and link what is likely, unless the statements of both have already decided."""
    decided = {(link.source, link.target) for link in report.linked}
    for change in changes:
        older, newer = _stored(change.older, txn), _stored(change.newer, txn)
        if older is None or newer is None or older.row == newer.row or older.superseded_by is not None:
            continue
        stated = txn.statements.of_memory(older.row)
        if (newer.id, older.id) in decided or _states_again(newer, stated, txn):
            continue
        if len(stated) < 2 and is_sure(change.chance, older, newer):
            _end(older, newer, change.chance, txn, report)
        else:
            why = f"{_short(newer.content)!r} may replace {_short(older.content)!r}"
            txn.memories.link(newer.row, older.row, "likely", why, change.chance)
            report.linked.append(Link(newer.id, older.id, "likely", why, change.chance))


def is_sure(chance: float, older: Memory, newer: Memory) -> bool:
    """Whether the older memory may be marked as ended, and not only linked; a long one says more than what changed."""
    if chance < SURE_IF_PLAIN or len(older.content.split()) > ENDABLE:
        return False
    if is_doubtful(older.content, newer.content, _said(newer).by_assistant):
        return False
    return chance >= SURE or is_plain(newer.content)


def _in_time(pair: tuple[Side, Draft]) -> tuple[Side, Side]:
    """The older first; of two at one moment, the one that was there or given first."""
    return pair if _at(pair[0]) <= _at(pair[1]) else (pair[1], pair[0])


def _comparable(older: Side, newer: Side) -> bool:
    """Equal texts say the same."""
    one, other = memory_of(older), memory_of(newer)
    return one.id != other.id and lexemes(one.content) != lexemes(other.content)


def _states_again(newer: Memory, stated: Sequence[Statement], txn: Writer) -> bool:
    """Whether the newer memory states an attribute of the older one with the same value, so that nothing changed."""
    values = {(item.subject, item.attribute): item.value for item in stated}
    return any(
        same_value(values[item.subject, item.attribute], item.value)
        for item in (txn.statements.of_memory(newer.row) if values else ())
        if (item.subject, item.attribute) in values
    )


def _end(older: Memory, newer: Memory, chance: float, txn: Writer, report: ReportBuilder) -> None:
    why = f"{_short(newer.content)!r} replaces {_short(older.content)!r}, chance {chance:.2f}"
    txn.statements.supersede(older, newer, why)
    report.superseded.append(Link(newer.id, older.id, "supersedes", why))


def _stored(side: Side, txn: Writer) -> Memory | None:
    """The memory as the transaction sees it; None where it was merged or is gone."""
    row = memory_of(side).row
    return txn.memories.by_row(row) if row else None


def _said(side: Side) -> Said:
    memory = memory_of(side)
    return Said(memory.content, memory.speaker or "")


def _at(side: Side) -> datetime:
    return memory_of(side).event_at


def _short(text: str) -> str:
    """The beginning of a text, for a reason in one line."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79].rpartition(" ")[0] + "…"
