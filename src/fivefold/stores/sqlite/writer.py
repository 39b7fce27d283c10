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
    """Lexemes go into the table that every search reads as a whole, and many at once straight into the index."""

    def __init__(self, txn: Transaction, db: SqliteDatabase) -> None:
        super().__init__(txn)
        self._connection = db.connection
        self._added: tuple[dict[int, Document], dict[int, Document]] = ({}, {})
        self._removed: tuple[list[Document], list[Document]] = ([], [])

    @cached_property
    def _has_index(self) -> bool:
        return index_of(self._connection, self._txn.key, sessions=False) is not None

    def add(self, row: int, entry: Entry) -> None:
        predicate, content = entry.predicate_lexemes, entry.content_lexemes
        document = Document(row, len(predicate) + len(content), " ".join(predicate), " ".join(content))
        self._added[entry.memory.kind == "session"][row] = document
        if sum(map(len, self._added)) >= lexeme_index.AT_ONCE:
            self.flush()

    def remove(self, row: int, kind: str) -> None:
        sessions = int(kind == "session")
        if self._added[sessions].pop(row, None) or shared_lexemes.remove(self._connection, self._txn.key, kind, row):
            return
        document = lexeme_index.take(self._connection, self._txn.key, sessions, row)
        if document is not None:
            self._removed[sessions].append(document)

    def clear(self) -> None:
        """What is added afterwards decides again whether there is an index."""
        self.drop()
        self._has_index = False

    def drop(self) -> None:
        lexeme_index.clear(self._connection, self._txn.key)
        shared_lexemes.clear(self._connection, self._txn.key)
        self._added, self._removed = ({}, {}), ([], [])

    def optimize(self) -> None:
        """The index needs no order."""

    def flush(self) -> None:
        """Take what was removed out of the index, and put what has gathered into it or into the table."""
        for sessions, documents in enumerate(self._removed):
            if documents:
                lexeme_index.remove(self._connection, self._txn.key, sessions, documents)
                documents.clear()
        new = [document for added in self._added for document in added.values()]
        if not new:
            return
        large = shared_lexemes.is_large(self._connection, self._txn.key, self._has_index, new)
        for sessions, added in enumerate(self._added):
            put = lexeme_index.move_recent if large else shared_lexemes.add
            put(self._connection, self._txn.key, sessions, list(added.values()))
            added.clear()
        self._has_index = self._has_index or large


def writer_of(db: SqliteDatabase, key: int, namespace: str, now: datetime) -> SqlWriter:
    """A writer inside `BEGIN IMMEDIATE … COMMIT`."""
    txn = Transaction(db, key, namespace, now)
    lexemes, vectors = SqliteLexemeWriter(txn, db), SqliteVectorWriter(txn, db)
    importer = SqliteSnapshotImporter(txn, lexemes, vectors, db.connection)
    return SqlWriter(txn, lexemes, vectors, importer, known_as=namespace)
