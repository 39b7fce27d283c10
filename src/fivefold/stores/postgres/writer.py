"""One transaction on a namespace, in PostgreSQL."""

from __future__ import annotations

from datetime import datetime

from fivefold.stores.postgres.dialect import PostgresDatabase
from fivefold.stores.postgres.lexeme_writer import PostgresLexemeWriter
from fivefold.stores.postgres.snapshot import PostgresSnapshotImporter
from fivefold.stores.postgres.vector_writer import PostgresVectorWriter
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.writer import SqlWriter


class PostgresWriter(SqlWriter):
    """Has the lock on its namespace."""

    def __init__(self, db: PostgresDatabase, key: int, namespace: str, now: datetime) -> None:
        txn = Transaction(db, key, namespace, now)
        lexemes, vectors = PostgresLexemeWriter(txn), PostgresVectorWriter(txn, db)
        importer = PostgresSnapshotImporter(txn, lexemes, vectors, db)
        super().__init__(txn, lexemes, vectors, importer, known_as=key)
        self._pg = db

    def finish(self) -> None:
        super().finish()
        self._txn.run("UPDATE namespaces SET next_key = ? WHERE key = ?", self._pg.next_key, self._txn.key)

    def drop_namespace(self) -> int:
        self.save_model(None)
        return super().drop_namespace()

    def save_model(self, data: bytes | None) -> None:
        """Save the reranker learned from use; None deletes it."""
        self._txn.run("DELETE FROM rerankers WHERE namespace = ?", self._txn.key)
        if data is not None:
            self._txn.run(
                "INSERT INTO rerankers (namespace, changed_at, model) VALUES (?, ?, ?)",
                self._txn.key,
                self._txn.now,
                data,
            )
