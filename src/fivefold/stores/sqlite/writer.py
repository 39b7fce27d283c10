"""One transaction on a namespace, in SQLite."""

from __future__ import annotations

from datetime import datetime

from fivefold.stores.protocol import Entry
from fivefold.stores.sql.lexeme_writer import SqlLexemeWriter
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.writer import SqlWriter
from fivefold.stores.sqlite import lexical
from fivefold.stores.sqlite.dialect import SqliteDatabase
from fivefold.stores.sqlite.snapshot import SqliteSnapshotImporter
from fivefold.stores.sqlite.vector_writer import SqliteVectorWriter


class SqliteLexemeWriter(SqlLexemeWriter):
    """Lexemes go into the namespace's FTS5 tables."""

    def __init__(self, txn: Transaction, db: SqliteDatabase) -> None:
        super().__init__(txn)
        self._connection = db.connection

    def add(self, row: int, entry: Entry) -> None:
        kind = entry.memory.kind
        lexical.add(self._connection, self._txn.key, kind, row, entry.predicate_lexemes, entry.content_lexemes)

    def remove(self, row: int, kind: str) -> None:
        lexical.remove(self._connection, self._txn.key, kind, row)

    def clear(self) -> None:
        lexical.drop_tables(self._connection, self._txn.key)
        lexical.create_tables(self._connection, self._txn.key)

    def drop(self) -> None:
        lexical.drop_tables(self._connection, self._txn.key)

    def optimize(self) -> None:
        lexical.optimize(self._connection, self._txn.key)

    def flush(self) -> None:
        """Nothing is gathered."""


def writer_of(db: SqliteDatabase, key: int, namespace: str, now: datetime) -> SqlWriter:
    """A writer inside `BEGIN IMMEDIATE … COMMIT`."""
    txn = Transaction(db, key, namespace, now)
    lexemes, vectors = SqliteLexemeWriter(txn, db), SqliteVectorWriter(txn, db)
    importer = SqliteSnapshotImporter(txn, lexemes, vectors, db.connection)
    return SqlWriter(txn, lexemes, vectors, importer, known_as=namespace)
