"""The interface of a store: a class that has these parts and passes the conformance suite is one.

A memory has an id, which callers use, and a row: a whole number that the store gives out in the order of writing. All
other references inside a namespace are such numbers too: entities, edges, vector spaces. Moments are aware datetimes.

The parts are defined beside the code for the SQL databases, by noun, each with its reads and its writes. A store that
is not built on them has the same methods; at run time only these count. Its classes may derive from the parts, and
override their methods, for a type checker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Protocol, runtime_checkable

from fivefold.stores.records import LoggedRecall
from fivefold.stores.sql.admin import (
    AdminReader,
    AdminWriter,
    AuditStore,
    KeyStore,
    RequestStore,
    erase_bodies,
    forget_requests,
)
from fivefold.stores.sql.entities import EntityWriter
from fivefold.stores.sql.feedback import FeedbackReader, FeedbackWriter, RecallLog
from fivefold.stores.sql.graph import EdgeWriter, GraphReader
from fivefold.stores.sql.index import FactReader, IndexWriter, LexemeWriter, StatementWriter
from fivefold.stores.sql.memories import ForgottenMarks, MemoryReader, MemoryWriter, QuarantineReader, QuarantineWriter
from fivefold.stores.sql.scope import ReadScope, Transaction
from fivefold.stores.sql.search import SearchReader
from fivefold.stores.sql.sessions import SessionReader, SessionWriter
from fivefold.stores.sql.snapshot import Snapshot, SnapshotImporter
from fivefold.stores.sql.vectors import VectorWriter
from fivefold.stores.sql.write_queue import QueueStore, QueueWriter, drop_queue
from fivefold.values.reports import Erasure, Finding, MaintenanceResult


class Reader:
    """A namespace as a recall sees it, empty if nothing was written to it; no method can name another (R12)."""

    def __init__(
        self, scope: ReadScope, search: SearchReader, graph: GraphReader, log: RecallLog, size: Callable[[], int]
    ) -> None:
        self.namespace: str = scope.namespace
        self.search = search
        self.graph = graph
        self.memories: MemoryReader = MemoryReader(scope)
        self.sessions: SessionReader = SessionReader(scope)
        self.quarantine: QuarantineReader = QuarantineReader(scope)
        self.feedback: FeedbackReader = FeedbackReader(scope, log)
        self.admin: AdminReader = AdminReader(scope, search, log, size)
        self._scope = scope

    @cached_property
    def facts(self) -> FactReader:
        return FactReader(self._scope)

    def exists(self) -> bool:
        """True if anything was ever written to the namespace."""
        return self._scope.exists()


class Writer:
    """One transaction on a namespace: all of it happens, or nothing. The first one creates the namespace."""

    def __init__(
        self,
        txn: Transaction,
        lexemes: LexemeWriter,
        vectors: VectorWriter,
        importer: Callable[[], SnapshotImporter],
        requests: Transaction,
    ) -> None:
        """`requests` is the same transaction, in which `:ns` is the namespace as the stored requests know it."""
        self.index: IndexWriter = IndexWriter(txn, lexemes, vectors)
        self.vectors = vectors
        self.statements: StatementWriter = self.index.statements
        self.entities: EntityWriter = self.index.entities
        self.edges: EdgeWriter = self.index.edges
        self.sessions: SessionWriter = self.index.sessions
        self.forgotten: ForgottenMarks = ForgottenMarks(txn)
        self.memories: MemoryWriter = MemoryWriter(txn, self.index, self.forgotten)
        self.quarantine: QuarantineWriter = QuarantineWriter(txn)
        self.feedback: FeedbackWriter = FeedbackWriter(txn)
        self.admin: AdminWriter = AdminWriter(txn)
        self._importer = importer
        self._txn = txn
        self._requests = requests

    @cached_property
    def importer(self) -> SnapshotImporter:
        return self._importer()

    @cached_property
    def queue(self) -> QueueWriter:
        return QueueWriter(self._txn, self._requests)

    @property
    def removed(self) -> list[str]:
        """Ids of the memories that were removed."""
        return self._txn.removed

    def drop_namespace(self) -> int:
        """Delete everything of the namespace and its name; gives how many memories it had."""
        count = self._txn.count("memories WHERE namespace = :ns")
        self.importer.clear()
        self._txn.run("DELETE FROM learned WHERE namespace = :ns")
        drop_queue(self._requests)
        forget_requests(self._requests)
        self._txn.run("DELETE FROM namespaces WHERE key = :ns")
        return count

    def finish(self) -> None:
        """Write what the transaction gathered; called before it ends."""
        self.index.flush()
        erase_bodies(self._requests, self._txn.removed)
        erase_bodies(self._requests, self._txn.reworded, containing='"content": ')


class Store(Protocol):
    """Namespaces in one file, one database or one process."""

    @property
    def location(self) -> str:
        """The store's address without its password."""

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

        None if there is no such namespace and none of its writes waits to be stored. Waiting writes and stored
        responses go too, but not the leases of requests under way; keys and the audit log stay. Other users of the
        store see that it is gone, or the empty one that follows it.
        """

    def checkpoint(self) -> None:
        """Call after a removal: deleted text leaves the write-ahead log too, if the store has one."""

    def erasure(self) -> Erasure:
        """Tells if the bytes of removed rows are gone, and if not, how long they may remain."""

    def check(self, namespace: str) -> Iterator[Finding]:
        """Compare everything derived with the memories; one finding for each part."""

    def maintain(self) -> Iterator[MaintenanceResult]:
        """Renew indexes and statistics, and delete expired responses."""

    def close(self) -> None:
        """Write what waits and release everything; later calls raise `StoreClosed`, a second close does nothing."""


@runtime_checkable
class ModelStore(Protocol):
    """A store that keeps learned rerankers itself; other stores keep them in files."""

    def load_model(self, namespace: str, seen: int) -> tuple[int, bytes | None]:
        """The time of the model's last change, and the model if this change is new to the caller."""

    def save_model(self, namespace: str, data: bytes | None) -> None:
        """Save a model; None deletes it."""
