"""What the engine needs of a store: a class that has these parts and passes the conformance suite is one.

A memory has an id, which callers use, and a row: a whole number that the store gives out in the order of writing. All
other references inside a namespace are such numbers too: entities, edges, vector spaces. Moments are aware datetimes.
"""

from __future__ import annotations

from fivefold.stores.protocol.reading import (
    AdminReader,
    FeedbackReader,
    GraphReader,
    MemoryReader,
    Reader,
    SearchReader,
    SessionReader,
)
from fivefold.stores.protocol.shared import AuditStore, KeyStore, RequestStore
from fivefold.stores.protocol.snapshot import Snapshot
from fivefold.stores.protocol.store import ModelStore, Store
from fivefold.stores.protocol.values import (
    TYPE_VOCABULARY,
    VOCABULARY,
    Claim,
    DensePreparation,
    Entry,
    Feedback,
    LinkedPair,
    LoggedRecall,
    NewEdge,
    PastQuestion,
    RequestKey,
    ReturnedHit,
    SpaceState,
    StoredRequest,
    Succession,
    VectorSpace,
)
from fivefold.stores.protocol.write_queue import QueuedState, QueueEntry, QueueLength, QueueStore, QueueWriter
from fivefold.stores.protocol.writing import (
    AdminWriter,
    EdgeWriter,
    EntityWriter,
    FeedbackWriter,
    ForgottenMarks,
    IndexWriter,
    MemoryWriter,
    SessionWriter,
    SnapshotImporter,
    StatementWriter,
    VectorWriter,
    Writer,
)

__all__ = [
    "TYPE_VOCABULARY",
    "VOCABULARY",
    "AdminReader",
    "AdminWriter",
    "AuditStore",
    "Claim",
    "DensePreparation",
    "EdgeWriter",
    "EntityWriter",
    "Entry",
    "Feedback",
    "FeedbackReader",
    "FeedbackWriter",
    "ForgottenMarks",
    "GraphReader",
    "IndexWriter",
    "KeyStore",
    "LinkedPair",
    "LoggedRecall",
    "MemoryReader",
    "MemoryWriter",
    "ModelStore",
    "NewEdge",
    "PastQuestion",
    "QueueEntry",
    "QueueLength",
    "QueueStore",
    "QueueWriter",
    "QueuedState",
    "Reader",
    "RequestKey",
    "RequestStore",
    "ReturnedHit",
    "SearchReader",
    "SessionReader",
    "SessionWriter",
    "Snapshot",
    "SnapshotImporter",
    "SpaceState",
    "StatementWriter",
    "Store",
    "StoredRequest",
    "Succession",
    "VectorSpace",
    "VectorWriter",
    "Writer",
]
