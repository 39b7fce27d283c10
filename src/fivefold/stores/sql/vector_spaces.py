"""Writing vectors: the spaces of a namespace. How a vector is kept is each store's own."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime

from fivefold.stores.protocol import Space, SpaceState
from fivefold.stores.sql.checks import missing_vectors
from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.rows import COLUMNS, memory_of
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.extraction import Extraction
from fivefold.values.extraction_json import restored
from fivefold.values.memory import Memory
from fivefold.values.vectors import Field, Vector


class Spaces(Transaction):
    """The active space serves; a second one may be building."""

    def __init__(self, db: Database, key: int, namespace: str, now: datetime) -> None:
        super().__init__(db, key, namespace, now)
        self._spaces: dict[str, Space | None] = {}

    @abstractmethod
    def put_vector(self, row: int, where: Field, memory: Memory, vector: Vector, state: SpaceState = "active") -> None:
        """Keep one vector of a memory."""

    @abstractmethod
    def drop_vectors(self, row: int) -> None:
        """Take all vectors of a memory away, of every space."""

    @abstractmethod
    def drop_next(self, row: int) -> None:
        """Take the vector of what was said next away, and all of a space that is being built."""

    @abstractmethod
    def drop_stray_vectors(self) -> None:
        """Take away what the vectors' index holds and the memories do not know, and the other way round."""

    @abstractmethod
    def make_room(self, dimension: int) -> None:
        """Prepare for vectors of that many numbers."""

    @abstractmethod
    def clear_space(self, space: Space) -> None:
        """Take away all vectors of a space."""

    @abstractmethod
    def stored(self, space: Space, rows: Sequence[int], where: Field) -> dict[int, Vector]:
        """The vectors of these memories."""

    def pin(self, embedder: str, dimension: int) -> Space:
        """The active space; the first write of a namespace pins its model."""
        space = self.space("active")
        return space or self.open_space(embedder, dimension, "active")

    def space(self, state: SpaceState) -> Space | None:
        if state not in self._spaces:
            found = self._rows(
                "SELECT key, embedder, dimension FROM spaces WHERE namespace = ? AND state = ?", self._key, state
            )
            self._spaces[state] = Space(*found[0]) if found else None
        return self._spaces[state]

    def open_space(self, embedder: str, dimension: int, state: SpaceState) -> Space:
        self.make_room(dimension)
        key = self._db.insert(
            "INSERT INTO spaces (key, namespace, embedder, dimension, state) VALUES (?, ?, ?, ?, ?)",
            self._key,
            embedder,
            dimension,
            state,
        )
        self._spaces[state] = space = Space(key, embedder, dimension)
        return space

    def drop_space(self, state: SpaceState) -> None:
        space = self.space(state)
        if space is None:
            return
        self.clear_space(space)
        self._run("DELETE FROM spaces WHERE namespace = ? AND key = ?", self._key, space.key)
        self._spaces[state] = None

    def switch_space(self) -> None:
        """The space that was built becomes the one that serves; the old one goes."""
        self.drop_space("active")
        self._run("UPDATE spaces SET state = 'active' WHERE namespace = ? AND state = 'building'", self._key)
        self._spaces.clear()

    def put_vectors(self, memory: Memory, vectors: Mapping[Field, Vector], state: SpaceState) -> None:
        for where, vector in vectors.items():
            self.put_vector(memory.row, where, memory, vector, state)

    def without_vectors(self, state: SpaceState, limit: int) -> list[tuple[Memory, Extraction]]:
        """Memories that lack the vector every memory of their kind has, turns before the sessions made of them."""
        space = self.space(state)
        if space is None:
            return []
        rows = missing_vectors(self._db.rows, self._sql, self._key, space.key, limit)
        found = self._rows(
            f"SELECT {COLUMNS}, extracted FROM memories WHERE {self._sql.apart('namespace')} = ? "
            f"AND {self._sql.among('row', '?')} ORDER BY kind = 'session', row",
            self._key,
            self._sql.listed(rows),
        )
        memories = [(memory_of(self.namespace, columns[:-1]), columns[-1]) for columns in found]
        return [(memory, restored(memory, json.loads(extracted))) for memory, extracted in memories]

    def vectors_of(self, memories: Sequence[int], where: Field, state: SpaceState = "active") -> dict[int, Vector]:
        space = self.space(state)
        return {} if space is None else self.stored(space, memories, where)
