"""New memories next to those like them: what they replace, and what they only say again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fivefold.errors import ReaderError
from fivefold.namespace import Namespace
from fivefold.settings import Settings
from fivefold.stores.interface import Writer
from fivefold.values.entities import Correction, Statement
from fivefold.values.memory import Memory
from fivefold.values.reports import Link
from fivefold.writing.change import Change, Neighbourhood, changes_among, mark_changes, neighbourhoods
from fivefold.writing.draft import Draft, ReportBuilder
from fivefold.writing.extract.statements import same_value, single_valued
from fivefold.writing.repeats import Repeat, find_repeats, mark_repeats


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found before the transaction; the transaction marks what still holds then."""

    changes: Sequence[Change] = ()
    repeats: Sequence[Repeat] = ()

    def mark(self, txn: Writer, report: ReportBuilder) -> None:
        """Changes first: what has ended is no near-duplicate."""
        mark_changes(self.changes, txn, report)
        mark_repeats(self.repeats, txn, report)


def compare(
    drafts: Sequence[Draft], namespace: Namespace, report: ReportBuilder, settings: Settings | None = None
) -> Comparison:
    """One search for both, as far as the settings want them."""
    settings = settings or namespace.settings
    if not (settings.find_changes or settings.find_repeats):
        return Comparison()
    compared = neighbourhoods(drafts, namespace.reader)
    return Comparison(
        _changes(compared, report) if settings.find_changes else (),
        find_repeats(compared) if settings.find_repeats else (),
    )


def _changes(compared: Sequence[Neighbourhood], report: ReportBuilder) -> Sequence[Change]:
    """Without its model nothing is found, which a note says; the write goes on."""
    try:
        return changes_among(compared)
    except ReaderError as error:
        report.notes.append(f"changes were not looked for: {error}")
        return ()


# Statements that replace earlier ones, and corrections that refer back to one.

LOOK_BACK = 6
"""How many turns back 'actually it's 45 now' may refer."""

REPLACEABLE = 400
"""A longer text says more than the one statement, so a new value of that statement does not end all of it."""


def replace_statements(item: Draft, txn: Writer, report: ReportBuilder) -> None:
    """End what a new statement replaces. Of two statements the older one ends, also when it is stored later."""
    for statement in item.extraction.statements:
        if not _replaces(statement):
            continue  # others may be as many as there are memories
        for row, stated in txn.statements.current(statement.subject, statement.attribute):
            other = txn.memories.by_row(row)
            if other is not None and _contradicts(item.memory, statement, other, stated):
                if item.memory.event_at >= other.event_at:
                    _end(txn, report, other, stated, item.memory, statement)
                else:
                    _end(txn, report, item.memory, statement, other, stated)


def corrected_statement(correction: Correction, memory: Memory, txn: Writer) -> Statement | None:
    """The statement that a correction makes: of the old value it repeats, else of the last one in its session."""
    if correction.old:
        stated = txn.statements.current_with_value(correction.old)
        one = len({(statement.subject, statement.attribute) for statement in stated}) == 1
        return Statement(stated[0].subject, stated[0].attribute, correction.value, True) if one else None
    if memory.session_id is None:
        return None
    numeric = _has_digit(correction.value)
    for turn in reversed(txn.sessions.turns(memory.session_id)[-LOOK_BACK:]):
        if turn.speaker == memory.speaker:
            for statement in txn.statements.of_memory(turn.row):
                if _has_digit(statement.value) == numeric:
                    return Statement(statement.subject, statement.attribute, correction.value, True)
    return None


def _end(
    txn: Writer, report: ReportBuilder, old: Memory, replaced: Statement, new: Memory, replacement: Statement
) -> None:
    """End one statement of `old`. The whole memory ends when nothing else that it states still holds."""
    why = f"{replacement.attribute}: {replacement.value!r} replaces {replaced.value!r}"
    if old.pinned:
        why = f"{why}; the older memory is pinned and stays"
        txn.memories.link(new.row, old.row, "likely", why)
        report.linked.append(Link(new.id, old.id, "likely", why))
        return
    remaining = txn.statements.end(old.row, replaced, new.row)
    if remaining == 0 and len(old.content) <= REPLACEABLE:
        txn.statements.supersede(old, new, why)
        report.superseded.append(Link(new.id, old.id, "supersedes", why))
    else:
        txn.memories.link(new.row, old.row, "supersedes", why)
        report.linked.append(Link(new.id, old.id, "supersedes", f"{why}; the rest of it still holds"))


def _contradicts(memory: Memory, statement: Statement, other: Memory, stated: Statement) -> bool:
    if other.row == memory.row or same_value(statement.value, stated.value):
        return False
    return _replaces(statement)


def _replaces(statement: Statement) -> bool:
    """Whether the statement can only mean that the one before it has ended."""
    return statement.update or single_valued(statement.attribute)


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))
