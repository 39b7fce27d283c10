"""One transaction on a namespace, in PostgreSQL: how vectors and lexemes are kept there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from fivefold.stores.postgres.dialect import PostgresDatabase
from fivefold.stores.postgres.keys import lexeme_key
from fivefold.stores.postgres.lexical import counted
from fivefold.stores.postgres.snapshot import PostgresSnapshotImporter
from fivefold.stores.postgres.vectors import vector_of
from fivefold.stores.protocol import Entry, Space, SpaceState
from fivefold.stores.sql.writer import SqlWriter
from fivefold.values.memory import TYPES, Memory
from fivefold.values.vectors import FIELDS, Field, Vector


class PostgresWriter(SqlWriter, PostgresSnapshotImporter):
    """Holds the lock on its namespace; statistics are gathered and written at the end."""

    def __init__(self, db: PostgresDatabase, key: int, namespace: str, now: datetime) -> None:
        super().__init__(db, key, namespace, now)
        self._pg = db
        self._vectors_held: Counter[tuple[int, int, int]] = Counter()
        self._documents: Counter[tuple[bool, str]] = Counter()
        self._corpora: Counter[tuple[bool, str]] = Counter()

    def finish(self) -> None:
        super().finish()
        self._db.many(
            "INSERT INTO held (namespace, space, field, type, count) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (namespace, space, field, type) DO UPDATE SET count = held.count + excluded.count",
            [(self._key, *place, count) for place, count in sorted(self._vectors_held.items()) if count],
        )
        self._vectors_held.clear()
        self._write_words()
        self._run("UPDATE namespaces SET next_key = ? WHERE key = ?", self._pg.next_key, self._key)

    @property
    def answering_as(self) -> int:
        return self._key

    def index_words(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        sessions = memory.kind == "session"
        counts = counted(entry.predicate_lexemes, entry.content_lexemes)
        keyed = sorted((lexeme_key(self._key, sessions, lexeme), count) for lexeme, count in counts.items())
        length = len(entry.predicate_lexemes) + len(entry.content_lexemes)
        self._run(
            "INSERT INTO documents (namespace, memory, sessions, type, length, keys, counts) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            self._key,
            row,
            sessions,
            TYPES.index(memory.type),
            length,
            _array(key for key, _ in keyed),
            _array(count for _, count in keyed),
        )
        self._documents.update((sessions, lexeme) for lexeme in counts)
        self._corpora.update({(sessions, "documents"): 1, (sessions, "tokens"): length})

    def unindex_words(self, row: int, kind: str) -> None:
        self._write_words()
        found = self._rows(
            "DELETE FROM documents WHERE namespace = ? AND memory = ? RETURNING sessions, length, keys", self._key, row
        )
        for sessions, length, keys in found:
            self._run(
                "UPDATE terms SET documents = documents - 1 WHERE namespace = ? AND key = ANY(?)", self._key, keys
            )
            self._run("DELETE FROM terms WHERE namespace = ? AND key = ANY(?) AND documents <= 0", self._key, keys)
            self._corpora.update({(sessions, "documents"): -1, (sessions, "tokens"): -length})

    def clear_words(self) -> None:
        for table in ("documents", "terms", "corpora"):
            self._run(f"DELETE FROM {table} WHERE namespace = ?", self._key)
        self._documents.clear()
        self._corpora.clear()

    def keep_model(self, data: bytes | None) -> None:
        """Keep the reranker learned from use, or none any more."""
        self._run("DELETE FROM rerankers WHERE namespace = ?", self._key)
        if data is not None:
            self._run(
                "INSERT INTO rerankers (namespace, changed_at, model) VALUES (?, ?, ?)", self._key, self._now, data
            )

    def make_room(self, dimension: int) -> None:
        """Vectors of any length lie in the same tables."""

    def clear_space(self, space: Space) -> None:
        for table in ("vectors", "held"):
            self._run(f"DELETE FROM {table} WHERE namespace = ? AND space = ?", self._key, space.key)
        for place in [place for place in self._vectors_held if place[0] == space.key]:
            del self._vectors_held[place]

    def stored(self, space: Space, rows: Sequence[int], where: Field) -> dict[int, Vector]:
        found = self._pg.connection.execute(
            "SELECT memory, embedding FROM vectors WHERE namespace = $1 AND space = $2 AND field = $3 "
            "AND memory = ANY($4) ORDER BY memory",
            [self._key, space.key, FIELDS.index(where), list(rows)],
            binary=True,
        )
        return {row: vector_of(sent) for row, sent in found.fetchall()}

    def put_vector(self, row: int, where: Field, memory: Memory, vector: Vector, state: SpaceState = "active") -> None:
        space = self.space(state)
        assert space is not None, "a space is pinned before vectors are written"
        place = (space.key, FIELDS.index(where), TYPES.index(memory.type))
        self._run(
            "INSERT INTO vectors (namespace, space, field, type, memory, dimension, embedding) "
            "VALUES (?, ?, ?, ?, ?, ?, ?::vector)",
            self._key,
            *place,
            row,
            space.dimension,
            vector,
        )
        self._vectors_held[place] += 1

    def drop_vectors(self, row: int) -> None:
        self._drop("space = ANY(?) AND field = ANY(?)", row, self._space_keys(), list(range(len(FIELDS))))

    def drop_next(self, row: int) -> None:
        self._drop("space = ANY(?) AND field = ANY(?)", row, self._space_keys(), [FIELDS.index("next_user")])
        building = self.space("building")
        if building is not None:
            self._drop("space = ANY(?) AND field = ANY(?)", row, [building.key], list(range(len(FIELDS))))

    def drop_stray_vectors(self) -> None:
        """Vectors of memories or spaces that are no more; and how many there are, counted anew."""
        self._run(
            "DELETE FROM vectors WHERE namespace = ?1 AND (NOT EXISTS (SELECT 1 FROM memories m "
            "WHERE m.namespace = ?1 AND m.row = vectors.memory) OR NOT space = ANY(?2))",
            self._key,
            self._space_keys(),
        )
        self._run("DELETE FROM held WHERE namespace = ?", self._key)
        self._run(
            "INSERT INTO held (namespace, space, field, type, count) SELECT namespace, space, field, type, count(*) "
            "FROM vectors WHERE namespace = ? GROUP BY namespace, space, field, type",
            self._key,
        )
        self._vectors_held.clear()

    def _drop(self, condition: str, row: int, spaces: list[int], fields: list[int]) -> None:
        gone = self._rows(
            f"DELETE FROM vectors WHERE namespace = ? AND memory = ? AND {condition} RETURNING space, field, type",
            self._key,
            row,
            spaces,
            fields,
        )
        for place in gone:
            self._vectors_held[place] -= 1

    def _space_keys(self) -> list[int]:
        spaces = (self.space("active"), self.space("building"))
        return [space.key for space in spaces if space is not None]

    def _write_words(self) -> None:
        """Statistics of what was indexed since the last time; a lexeme's row is made when it is first used."""
        if self._documents:
            counts = [(lexeme_key(self._key, *item), *item, count) for item, count in self._documents.items()]
            keys, sessions, terms, documents = zip(*sorted(counts), strict=True)
            self._run(
                "INSERT INTO terms AS t (namespace, key, sessions, term, documents) "
                "SELECT n.key, u.key, u.sessions, u.term, u.documents FROM namespaces n CROSS JOIN "
                "unnest(?2::bigint[], ?3::boolean[], ?4::text[], ?5::bigint[]) AS u(key, sessions, term, documents) "
                "WHERE n.key = ?1 "
                "ON CONFLICT (namespace, key) DO UPDATE SET documents = t.documents + excluded.documents",
                self._key,
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
                self._run(
                    "INSERT INTO corpora (namespace, sessions, documents, tokens) VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (namespace, sessions) DO UPDATE SET "
                    "documents = corpora.documents + excluded.documents, tokens = corpora.tokens + excluded.tokens",
                    self._key,
                    sessions_,
                    documents_,
                    tokens,
                )


def _array(numbers: Iterable[int]) -> str:
    """An array as text, which is faster to make than a list that is looked at number by number."""
    return f"{{{','.join(map(str, numbers))}}}"
