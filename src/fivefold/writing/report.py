"""The report of a write while it is under way."""

from __future__ import annotations

from dataclasses import dataclass, field

from fivefold.values.reports import Link, Merged, Report


@dataclass(slots=True)
class ReportBuilder:
    """Collects what a write stores, merges, links and supersedes; `build` makes the report."""

    stored: list[str] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)
    linked: list[Link] = field(default_factory=list)
    superseded: list[Link] = field(default_factory=list)
    entities: dict[str, None] = field(default_factory=dict)
    sessions: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def include(self, part: ReportBuilder | Report) -> None:
        """Add what another transaction did."""
        self.stored.extend(part.stored)
        self.merged.extend(part.merged)
        self.linked.extend(part.linked)
        self.superseded.extend(part.superseded)
        self.entities.update(dict.fromkeys(part.entities))
        self.sessions.update(dict.fromkeys(part.sessions))
        self.notes.extend(part.notes)

    def build(self) -> Report:
        return Report(
            stored=tuple(self.stored),
            merged=tuple(self.merged),
            linked=tuple(self.linked),
            superseded=tuple(self.superseded),
            entities=tuple(self.entities),
            sessions=tuple(self.sessions),
            notes=tuple(dict.fromkeys(self.notes)),
        )
