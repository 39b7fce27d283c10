"""One transaction on a namespace, in SQLite."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from fivefold.stores.protocol import Entry
from fivefold.stores.sql.lexeme_writer import SqlLexemeWriter
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.writer import SqlWriter
from fivefold.stores.sqlite import lexical, shared_lexemes
from fivefold.stores.sqlite.dialect import SqliteDatabase
from fivefold.stores.sqlite.lexical_search import has_index
from fivefold.stores.sqlite.snapshot import SqliteSnapshotImporter
from fivefold.stores.sqlite.vector_writer import SqliteVectorWriter


class SqliteLexemeWriter(SqlLexemeWriter):
    """Lexemes of a large namespace go into its FTS5 tables, those of a small one into the table for all of them."""

    def __init__(self, txn: Transaction, db: SqliteDatabase) -> None:
        super().__init__(txn)
        self._connection = db.connection
        self._grown = False

    @cached_property
    def _has_index(self) -> bool:
        return has_index(self._connection, self._txn.key)

    def add(self, row: int, entry: Entry) -> None:
        put = lexical.add if self._has_index else shared_lexemes.add
        put(self._connection, self._txn.key, entry.memory.kind, row, entry.predicate_lexemes, entry.content_lexemes)
        self._grown = True

    def remove(self, row: int, kind: str) -> None:
        drop = lexical.remove if self._has_index else shared_lexemes.remove
        drop(self._connection, self._txn.key, kind, row)

    def clear(self) -> None:
        """What is added afterwards decides anew where lexemes lie."""
        self.drop()
        self._has_index = False

    def drop(self) -> None:
        lexical.drop_tables(self._connection, self._txn.key)
        shared_lexemes.clear(self._connection, self._txn.key)

    def optimize(self) -> None:
        if self._has_index:
            lexical.optimize(self._connection, self._txn.key)

    def flush(self) -> None:
        """A namespace that has grown gets its own index."""
        if not self._grown or self._has_index or not shared_lexemes.is_large(self._connection, self._txn.key):
            return
        lexical.create_tables(self._connection, self._txn.key)
        for kind in ("turn", "session"):
            table = lexical.table_of(self._txn.key, kind)
            shared_lexemes.move(self._connection, self._txn.key, kind == "session", table)
        self._has_index = True
        self.optimize()


def writer_of(db: SqliteDatabase, key: int, namespace: str, now: datetime) -> SqlWriter:
    """A writer inside `BEGIN IMMEDIATE … COMMIT`."""
    txn = Transaction(db, key, namespace, now)
    lexemes, vectors = SqliteLexemeWriter(txn, db), SqliteVectorWriter(txn, db)
    importer = SqliteSnapshotImporter(txn, lexemes, vectors, db.connection)
    return SqlWriter(txn, lexemes, vectors, importer, known_as=namespace)
