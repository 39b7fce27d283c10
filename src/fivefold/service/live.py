"""Live events for those who watch: the latest writes and recalls of one server, a bounded number."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from fivefold import observers
from fivefold.observers import Write
from fivefold.service.shared_tables import MemoryTable, Table
from fivefold.stores.interface import Store
from fivefold.values.recall import Recall
from fivefold.values.validate import shorten

MAX_EVENTS = 500
"""Events that are kept, over all namespaces; a new one takes the place of the oldest."""

REMOVALS = ("forget", "forget_session", "sweep", "delete_namespace")
"""Writes after which events may name memories that are gone."""

MAX_QUESTION_CHARS = 500
"""Characters of a question that an event keeps."""


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """A recall or a write that has ended."""

    number: int
    """Higher for a later event, also after a restart of the server."""
    namespace: str
    action: str
    """`recall`, or the name of the write."""
    at: datetime
    ms: float
    memories: int = 0
    """Number of memories that came back, or were stored."""
    ids: tuple[str, ...] = ()
    """Those that came back, or the first of those that were stored."""
    question: str = ""
    chance: float | None = None
    failed: str = ""
    """The type of the error of a write that failed."""


class LiveFeed:
    """Observes the engines of one store and keeps the latest events for those who ask.

    An event goes with any of the memories that it names, as a recall leaves the log.
    """

    def __init__(self, store: Store, most: int = MAX_EVENTS, table: Table | None = None) -> None:
        self._store = store
        self._events = table or MemoryTable(most)
        observers.add(self)

    def close(self) -> None:
        observers.remove(self)

    def after(self, number: int, namespace: str) -> list[LiveEvent]:
        """The events of a namespace after that number, oldest first; what another process has removed goes first."""
        kept = self._events_of(namespace)
        ids = sorted({id for event in kept.values() for id in event.ids})
        stored = self._store.reader(namespace).memories.existing_ids(ids) if ids else set()
        gone = {event for event in kept.values() if not stored.issuperset(event.ids)}
        if gone:
            self._events.remove([row for row, event in kept.items() if event in gone])
        return [event for event in kept.values() if event.number > number and event not in gone]

    def _events_of(self, namespace: str) -> dict[str, LiveEvent]:
        events = {row: _read(row) for row in self._events.values()}
        return {row: event for row, event in events.items() if event.namespace == namespace}

    def recalled(self, store: Store, recall: Recall, ended_ns: int) -> None:
        event = LiveEvent(
            number=ended_ns // 1000,
            namespace=recall.namespace,
            action="recall",
            at=datetime.fromtimestamp(ended_ns / 1e9, UTC),
            ms=sum(timing.ms for timing in recall.timings),
            memories=len(recall),
            ids=tuple(hit.memory.id for hit in recall.hits),
            question=shorten(recall.query.text, MAX_QUESTION_CHARS),
            chance=recall.chance,
        )
        self._add(store, event)

    def wrote(self, store: Store, write: Write) -> None:
        event = LiveEvent(
            number=write.ended_ns // 1000,
            namespace=write.namespace,
            action=write.operation,
            at=datetime.fromtimestamp(write.ended_ns / 1e9, UTC),
            ms=(write.ended_ns - write.began_ns) / 1e6,
            memories=write.stored,
            ids=write.ids,
            failed=write.failed,
        )
        self._add(store, event)
        if store is self._store and write.operation == "delete_namespace":
            self._events.remove(
                [row for row, known in self._events_of(write.namespace).items() if known.ids or known.question]
            )
        elif store is self._store and write.operation in REMOVALS:
            self.after(0, write.namespace)

    def _add(self, store: Store, event: LiveEvent) -> None:
        """Adds an event. Numbers are microseconds; an event of the same microsecond as the last gets the next
        number."""
        if store is not self._store:
            return

        def row(last: str | None) -> tuple[str, str]:
            numbered = replace(event, number=max(event.number, int(last or 0) + 1))
            return str(numbered.number), json.dumps({**asdict(numbered), "at": numbered.at.isoformat()})

        self._events.append(row)


def _read(row: str) -> LiveEvent:
    fields = json.loads(row)
    return LiveEvent(**{**fields, "at": datetime.fromisoformat(fields["at"]), "ids": tuple(fields["ids"])})
