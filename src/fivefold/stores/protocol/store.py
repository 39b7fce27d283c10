"""A store as a whole: its namespaces, what it keeps for all of them, and its maintenance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from fivefold.stores.protocol.reading import Reader
from fivefold.stores.protocol.shared import AuditStore, KeyStore, RequestStore
from fivefold.stores.protocol.snapshot import Snapshot
from fivefold.stores.protocol.values import LoggedRecall
from fivefold.stores.protocol.write_queue import QueueStore
from fivefold.stores.protocol.writing import Writer
from fivefold.values.reports import Erasure, Finding, MaintenanceResult


class Store(Protocol):
    """Namespaces in one file, one database or one process."""

    @property
    def location(self) -> str:
        """Where it is, as it may be shown: without a password."""

    @property
    def keys(self) -> KeyStore: ...
    @property
    def audit(self) -> AuditStore: ...
    @property
    def requests(self) -> RequestStore: ...
    @property
    def queue(self) -> QueueStore: ...

    def reader(self, namespace: str) -> Reader:
        """Reads a namespace, which need not exist."""

    def write(self, namespace: str) -> AbstractContextManager[Writer]:
        """A transaction: durable when the block ends, undone when it raises. Only one at a time in a namespace."""

    def snapshot(self, namespace: str) -> AbstractContextManager[Snapshot]:
        """The namespace as it is at one moment, for a copy."""

    def log(self, recall: LoggedRecall) -> None:
        """Log a recall without waiting for other writers; a crash may lose the last ones."""

    def namespaces(self) -> tuple[str, ...]:
        """The names of all namespaces, sorted."""

    def delete_namespace(self, namespace: str) -> int | None:
        """Delete a namespace with everything that belongs to it, all or nothing; gives how many memories it had.

        None where there is no such namespace, and nothing of it waits to be stored. What waits and stored responses go
        too, but not the leases of requests under way; keys and the audit log stay. Other users of the store see that it
        is gone, or the empty one that follows it.
        """

    def checkpoint(self) -> None:
        """After a removal: deleted text leaves the write-ahead log too, where the store has one."""

    def erasure(self) -> Erasure:
        """Whether the bytes of what was removed are gone, and if not, until when they may remain."""

    def check(self, namespace: str) -> Iterator[Finding]:
        """Compare everything derived with the memories; one finding for each part."""

    def maintain(self) -> Iterator[MaintenanceResult]:
        """Renew indexes and statistics, and delete expired responses."""

    def close(self) -> None:
        """Write what waits and release everything; later calls raise `StoreClosed`, a second close does nothing."""


@runtime_checkable
class ModelStore(Protocol):
    """A store that keeps learned rerankers itself; for any other they are files."""

    def load_model(self, namespace: str, seen: int) -> tuple[int, bytes | None]:
        """When the model last changed, and the model itself unless that is the change already seen."""

    def save_model(self, namespace: str, data: bytes | None) -> None:
        """Save a model; None deletes it."""
