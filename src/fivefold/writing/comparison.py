"""New memories next to those like them: what they replace, and what they only say again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fivefold.errors import ReaderError
from fivefold.namespace import Namespace
from fivefold.settings import Settings
from fivefold.stores.protocol import Writer
from fivefold.writing.change import Change, changes_among, mark_changes
from fivefold.writing.change_candidates import Neighbourhood, neighbourhoods
from fivefold.writing.draft import Draft
from fivefold.writing.repeats import Repeat, find_repeats, mark_repeats
from fivefold.writing.report import ReportBuilder


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
