"""Records that were accepted and are stored later: what waits, and what became of the writes that brought it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fivefold.values.reports import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """One record that waits."""

    write: str
    """The id of the write that brought it."""
    place: int
    """Its place among the records of that write."""
    memory_id: str
    session_id: str | None
    key_id: str | None
    """The key under which it came."""
    added_at: datetime
    record: str
    """The record as JSON."""
    tries: int = 0
    """How often it could not be stored."""


@dataclass(frozen=True, slots=True)
class QueueLength:
    """How much of a namespace waits: records, and the bytes of their JSON."""

    namespace: str
    records: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedState:
    """What became of a write: its records that still wait, and the report of those that are stored."""

    done: bool
    waiting: tuple[str, ...]
    """Ids of the memories that are not stored yet."""
    ahead: int
    """Records that are stored before the first of them."""
    report: str | None
    """JSON; None where nothing is stored yet, or what was stored has been forgotten."""
    problem: str | None = None
    """Why the last try failed."""
    next_try_at: datetime | None = None


class QueueStore(Protocol):
    """Records that wait, in the order they came. What is added is durable, as any write is."""

    def add(self, namespace: str, write: str, entries: Sequence[QueueEntry], most: QueueLength) -> bool:
        """Add the records of a write; false where this write was added before. `QueueFull` beyond `most`."""

    def lengths(self) -> list[QueueLength]:
        """The namespaces of which something waits."""

    def length(self, namespace: str) -> QueueLength:
        """How much of one namespace waits."""

    def first(self, namespace: str, most: int, now: datetime) -> list[QueueEntry]:
        """The first records that may be tried now."""

    def oldest(self, namespace: str) -> datetime | None:
        """When the first record that waits was added."""

    def holds(self, namespace: str, memory_id: str) -> bool:
        """Whether a record with this id waits."""

    def state(self, namespace: str, write: str) -> QueuedState | None:
        """What became of a write; None where it is not known, or was done long ago."""

    def postpone(self, namespace: str, entry: QueueEntry, problem: str, until: datetime) -> None:
        """A record could not be stored: try it again later."""

    def cancel(self, namespace: str, write: str) -> int:
        """Drop what waits of a write; gives how many records that were."""


class QueueWriter(Protocol):
    """The records that wait, as a part of a transaction on their namespace."""

    def take(self, entries: Sequence[QueueEntry], reports: Sequence[tuple[str, Report]]) -> bool:
        """Take stored records out, and add to the report of each write; false where one of them is gone already.

        The report of a write that is done stays for a day.
        """

    def forget(self, memory_id: str) -> str | None:
        """Drop a record by its id; gives its JSON."""

    def forget_session(self, session_id: str) -> int:
        """Drop the records of a session; gives how many."""
