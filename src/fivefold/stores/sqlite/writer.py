"""One transaction on a namespace, in SQLite."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from fivefold.stores.protocol import Entry
from fivefold.stores.sql.lexeme_writer import SqlLexemeWriter
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.writer import SqlWriter
from fivefold.stores.sqlite import lexeme_index, shared_lexemes
from fivefold.stores.sqlite.dialect import SqliteDatabase
from fivefold.stores.sqlite.documents import Document
from fivefold.stores.sqlite.lexical_search import index_of
from fivefold.stores.sqlite.snapshot import SqliteSnapshotImporter
from fivefold.stores.sqlite.vector_writer import SqliteVectorWriter


class SqliteLexemeWriter(SqlLexemeWriter):
    """Lexemes go into the table that every search reads as a whole, and from there into the index, many at a time."""

    def __init__(self, txn: Transaction, db: SqliteDatabase) -> None:
        super().__init__(txn)
        self._connection = db.connection
        self._new = 0
        self._removed: dict[str, list[Document]] = {"turn": [], "session": []}

    @cached_property
    def _has_index(self) -> bool:
        return index_of(self._connection, self._txn.key, sessions=False) is not None

    def add(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        shared_lexemes.add(
            self._connection, self._txn.key, memory.kind, row, entry.predicate_lexemes, entry.content_lexemes
        )
        self._new += 1
        if self._new >= lexeme_index.AT_ONCE:
            self.flush()

    def remove(self, row: int, kind: str) -> None:
        if shared_lexemes.remove(self._connection, self._txn.key, kind, row):
            return
        document = lexeme_index.take(self._connection, self._txn.key, int(kind == "session"), row)
        if document is not None:
            self._removed["session" if kind == "session" else "turn"].append(document)

    def clear(self) -> None:
        """What is added afterwards decides again whether there is an index."""
        self.drop()
        self._has_index = False

    def drop(self) -> None:
        lexeme_index.clear(self._connection, self._txn.key)
        shared_lexemes.clear(self._connection, self._txn.key)
        self._removed = {"turn": [], "session": []}

    def optimize(self) -> None:
        """The index needs no order."""

    def flush(self) -> None:
        """Take what was removed out of the index, and move what has gathered into it."""
        for kind, documents in self._removed.items():
            if documents:
                lexeme_index.remove(self._connection, self._txn.key, int(kind == "session"), documents)
                documents.clear()
        if self._new and shared_lexemes.is_large(self._connection, self._txn.key, self._has_index):
            for sessions in (0, 1):
                lexeme_index.move_recent(self._connection, self._txn.key, sessions)
            self._has_index = True
        self._new = 0


def writer_of(db: SqliteDatabase, key: int, namespace: str, now: datetime) -> SqlWriter:
    """A writer inside `BEGIN IMMEDIATE … COMMIT`."""
    txn = Transaction(db, key, namespace, now)
    lexemes, vectors = SqliteLexemeWriter(txn, db), SqliteVectorWriter(txn, db)
    importer = SqliteSnapshotImporter(txn, lexemes, vectors, db.connection)
    return SqlWriter(txn, lexemes, vectors, importer, known_as=namespace)
