"""Writing the lexical index to PostgreSQL: documents with their lexemes' keys, and the statistics of BM25."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fivefold.stores.postgres.keys import lexeme_key
from fivefold.stores.protocol import Entry
from fivefold.stores.sql.lexeme_writer import SqlLexemeWriter, packed_counts
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.memory import TYPES


class PostgresLexemeWriter(SqlLexemeWriter):
    """Statistics are gathered and written at the end of the transaction."""

    def __init__(self, txn: Transaction) -> None:
        super().__init__(txn)
        self._documents: Counter[tuple[bool, str]] = Counter()
        self._corpora: Counter[tuple[bool, str]] = Counter()

    def add(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        sessions = memory.kind == "session"
        counts = packed_counts(entry.predicate_lexemes, entry.content_lexemes)
        keyed = sorted((lexeme_key(self._txn.key, sessions, lexeme), count) for lexeme, count in counts.items())
        length = len(entry.predicate_lexemes) + len(entry.content_lexemes)
        self._txn.run(
            "INSERT INTO documents (namespace, memory, sessions, type, length, keys, counts) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            self._txn.key,
            row,
            sessions,
            TYPES.index(memory.type),
            length,
            _array(key for key, _ in keyed),
            _array(count for _, count in keyed),
        )
        self._documents.update((sessions, lexeme) for lexeme in counts)
        self._corpora.update({(sessions, "documents"): 1, (sessions, "tokens"): length})

    def remove(self, row: int, kind: str) -> None:
        self.flush()
        rows = self._txn.rows(
            "DELETE FROM documents WHERE namespace = ? AND memory = ? RETURNING sessions, length, keys",
            self._txn.key,
            row,
        )
        for sessions, length, keys in rows:
            self._txn.run(
                "UPDATE terms SET documents = documents - 1 WHERE namespace = ? AND key = ANY(?)", self._txn.key, keys
            )
            self._txn.run(
                "DELETE FROM terms WHERE namespace = ? AND key = ANY(?) AND documents <= 0", self._txn.key, keys
            )
            self._corpora.update({(sessions, "documents"): -1, (sessions, "tokens"): -length})

    def clear(self) -> None:
        for table in ("documents", "terms", "corpora"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = ?", self._txn.key)
        self._documents.clear()
        self._corpora.clear()

    def drop(self) -> None:
        self.clear()

    def optimize(self) -> None:
        """The index needs no order."""

    def flush(self) -> None:
        """Write the statistics of what was indexed since the last time; a lexeme gets its row when it is first used."""
        if self._documents:
            counts = [(lexeme_key(self._txn.key, *item), *item, count) for item, count in self._documents.items()]
            keys, sessions, terms, documents = zip(*sorted(counts), strict=True)
            self._txn.run(
                "INSERT INTO terms AS t (namespace, key, sessions, term, documents) "
                "SELECT n.key, u.key, u.sessions, u.term, u.documents FROM namespaces n CROSS JOIN "
                "unnest(?2::bigint[], ?3::boolean[], ?4::text[], ?5::bigint[]) AS u(key, sessions, term, documents) "
                "WHERE n.key = ?1 "
                "ON CONFLICT (namespace, key) DO UPDATE SET documents = t.documents + excluded.documents",
                self._txn.key,
                list(keys),
                list(sessions),
                list(terms),
                list(documents),
            )
            self._documents.clear()
        for sessions_, name in [(False, "documents"), (True, "documents")]:
            documents_ = self._corpora.pop((sessions_, name), 0)
            tokens = self._corpora.pop((sessions_, "tokens"), 0)
            if documents_ or tokens:
                self._txn.run(
                    "INSERT INTO corpora (namespace, sessions, documents, tokens) VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (namespace, sessions) DO UPDATE SET "
                    "documents = corpora.documents + excluded.documents, tokens = corpora.tokens + excluded.tokens",
                    self._txn.key,
                    sessions_,
                    documents_,
                    tokens,
                )


def _array(numbers: Iterable[int]) -> str:
    """An array as text, which is faster to make than a list that is looked at number by number."""
    return f"{{{','.join(map(str, numbers))}}}"
