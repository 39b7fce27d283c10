"""What is written and recalled now, for those who watch: the latest events of one server, a bounded number."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from fivefold import observers
from fivefold.observers import Write
from fivefold.service.shared_tables import MemoryTable, Table
from fivefold.stores.protocol import Store
from fivefold.values.recall import Recall
from fivefold.values.shorten import shorten

MOST_EVENTS = 500
"""Events that are kept, over all namespaces; a new one takes the place of the oldest."""

MOST_IDS = 3
"""Memories that an event names."""

MOST_QUESTION = 500
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
    """How many came back, or were stored."""
    ids: tuple[str, ...] = ()
    """The first of them."""
    question: str = ""
    chance: float | None = None
    failed: str = ""
    """The type of the error of a write that failed."""


class LiveFeed:
    """Observes the engines of one store and keeps the latest events for those who ask."""

    def __init__(self, store: Store, most: int = MOST_EVENTS, table: Table | None = None) -> None:
        self._store = store
        self._events = table or MemoryTable(most)
        observers.add(self)

    def close(self) -> None:
        observers.remove(self)

    def after(self, number: int, namespace: str) -> list[LiveEvent]:
        """The events of a namespace after that number, oldest first."""
        events = map(_read, self._events.values())
        return [event for event in events if event.number > number and event.namespace == namespace]

    def recalled(self, store: Store, recall: Recall, ended_ns: int) -> None:
        event = LiveEvent(
            number=ended_ns // 1000,
            namespace=recall.namespace,
            action="recall",
            at=datetime.fromtimestamp(ended_ns / 1e9, UTC),
            ms=sum(timing.ms for timing in recall.timings),
            memories=len(recall),
            ids=tuple(hit.memory.id for hit in recall.hits[:MOST_IDS]),
            question=shorten(recall.query.text, MOST_QUESTION),
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
            ids=write.ids[:MOST_IDS],
            failed=write.failed,
        )
        self._add(store, event)

    def _add(self, store: Store, event: LiveEvent) -> None:
        """Numbers are microseconds, and one more than the last where two events have the same."""
        if store is not self._store:
            return

        def row(last: str | None) -> tuple[str, str]:
            numbered = replace(event, number=max(event.number, int(last or 0) + 1))
            return str(numbered.number), json.dumps({**asdict(numbered), "at": numbered.at.isoformat()})

        self._events.append(row)


def _read(row: str) -> LiveEvent:
    fields = json.loads(row)
    return LiveEvent(**{**fields, "at": datetime.fromisoformat(fields["at"]), "ids": tuple(fields["ids"])})
