"""Writing what is derived from a memory: lexemes, vectors, statements, labels, named times, mentions and relations."""

from __future__ import annotations

from collections.abc import Iterable

from fivefold.stores.protocol import Entry
from fivefold.stores.sql.edge_writer import SqlEdgeWriter
from fivefold.stores.sql.entity_writer import SqlEntityWriter
from fivefold.stores.sql.lexeme_writer import SqlLexemeWriter
from fivefold.stores.sql.memory_labels import put_labels
from fivefold.stores.sql.memory_times import put_times
from fivefold.stores.sql.session_writer import SqlSessionWriter
from fivefold.stores.sql.statement_writer import SqlStatementWriter
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.sql.vector_writer import SqlVectorWriter


class SqlIndexWriter:
    """All of it can be derived again from the memories and their extraction, but for what was made by hand."""

    def __init__(self, txn: Transaction, lexemes: SqlLexemeWriter, vectors: SqlVectorWriter) -> None:
        self._txn = txn
        self.lexemes = lexemes
        self.vectors = vectors
        self.statements = SqlStatementWriter(txn)
        self.entities = SqlEntityWriter(txn)
        self.edges = SqlEdgeWriter(txn, self.entities)
        self.sessions = SqlSessionWriter(txn, vectors)

    def add(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        self.lexemes.add(row, entry)
        self.vectors.put_all(row, memory, entry.vectors, entry.passages)
        self.statements.add(row, entry.extraction.statements)
        put_labels(self._txn, row, memory)
        if memory.kind != "session":
            put_times(self._txn, row, entry.extraction.dates)
            self.edges.add_co_mentions(self.entities.link(row, entry.extraction.mentions))
            self.edges.add_relations(row, entry.extraction.relations, memory.event_at)

    def remove(self, row: int) -> None:
        """Delete everything derived from a memory."""
        self._txn.write_gathered()
        kind = self._txn.rows("SELECT kind FROM memories WHERE namespace = ? AND row = ?", self._txn.key, row)[0][0]
        self.lexemes.remove(row, kind)
        self.vectors.drop_vectors(row)
        for table in ("slots", "memory_times", "memory_labels"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = ? AND memory = ?", self._txn.key, row)
        self.edges.remove_memory(row)
        self.entities.unlink(row)

    def clear(self) -> None:
        """Delete what can be derived from memories: lexemes, mentions, statements, labels, times, stray vectors."""
        self._txn.write_gathered()
        self.vectors.drop_stray_vectors()
        self.lexemes.clear()
        key = self._txn.key
        for table in ("links", "slots", "memory_times", "memory_labels"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = ?", key)
        self._txn.run("DELETE FROM edges WHERE namespace = ? AND by_hand = 0", key)
        self._txn.run("UPDATE entities SET links = 0 WHERE namespace = ?", key)
        self.entities.forget_names()

    def finish_rebuild(self) -> None:
        """Delete entities that nothing mentions, end superseded statements, and count the sessions again."""
        self.flush()
        self.entities.drop_unused()
        self.statements.end_superseded()
        self.sessions.recount_all()

    def add_lexemes(self, row: int, entry: Entry) -> None:
        self.lexemes.add(row, entry)

    def rebuild_lexical(self, entries: Iterable[Entry]) -> None:
        """Build the lexical index from the entries of all memories."""
        self.lexemes.clear()
        for entry in entries:
            self.lexemes.add(entry.memory.row, entry)
        self.lexemes.optimize()

    def flush(self) -> None:
        """Write what the transaction gathered; called before it ends."""
        self._txn.write_gathered()
        self.entities.flush()
        self.edges.flush()
        self.vectors.flush()
        self.lexemes.flush()
