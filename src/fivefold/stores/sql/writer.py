"""One transaction on a namespace: the parts of a writer over one connection."""

from __future__ import annotations

from fivefold.stores.sql.admin_writer import SqlAdminWriter
from fivefold.stores.sql.feedback_writer import SqlFeedbackWriter
from fivefold.stores.sql.forgotten_marks import SqlForgottenMarks
from fivefold.stores.sql.index_writer import SqlIndexWriter
from fivefold.stores.sql.lexeme_writer import SqlLexemeWriter
from fivefold.stores.sql.memory_writer import SqlMemoryWriter
from fivefold.stores.sql.queue_store import SqlQueueWriter
from fivefold.stores.sql.request_store import erase_bodies, forget_requests
from fivefold.stores.sql.snapshot import SqlSnapshotImporter
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.vector_writer import SqlVectorWriter


class SqlWriter:
    """Vectors, lexemes and imports are each store's own; all else is written once for both databases."""

    def __init__(
        self,
        txn: Transaction,
        lexemes: SqlLexemeWriter,
        vectors: SqlVectorWriter,
        importer: SqlSnapshotImporter,
        known_as: int | str,
    ) -> None:
        """`known_as` stands for the namespace among the stored requests."""
        self.index = SqlIndexWriter(txn, lexemes, vectors)
        self.vectors = vectors
        self.statements = self.index.statements
        self.entities = self.index.entities
        self.edges = self.index.edges
        self.sessions = self.index.sessions
        self.forgotten = SqlForgottenMarks(txn)
        self.memories = SqlMemoryWriter(txn, self.index, self.forgotten)
        self.feedback = SqlFeedbackWriter(txn)
        self.admin = SqlAdminWriter(txn)
        self.queue = SqlQueueWriter(txn, known_as)
        self.importer = importer
        self._txn = txn
        self._known_as = known_as

    @property
    def removed(self) -> list[str]:
        """Ids of the memories that were removed."""
        return self._txn.removed

    def drop_namespace(self) -> int:
        """Delete everything of the namespace and its name; gives how many memories it had."""
        count = self._txn.number("SELECT count(*) FROM memories WHERE namespace = ?", self._txn.key)
        self.importer.clear()
        self.index.lexemes.drop()
        self._txn.run("DELETE FROM learned WHERE namespace = ?", self._txn.key)
        self.queue.drop_all()
        forget_requests(self._txn.db, self._known_as, self._txn.now)
        self._txn.run("DELETE FROM namespaces WHERE key = ?", self._txn.key)
        return count or 0

    def finish(self) -> None:
        """Write what the transaction gathered; called before it ends."""
        self.index.flush()
        erase_bodies(self._txn.db, self._known_as, self._txn.removed)
        erase_bodies(self._txn.db, self._known_as, self._txn.reworded, containing='"content": ')
