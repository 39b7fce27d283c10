"""Writing vectors: the spaces of a namespace. How a vector is stored is each store's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from fivefold.stores.protocol import SpaceState, VectorSpace
from fivefold.stores.sql.checks import missing_vectors
from fivefold.stores.sql.memory_rows import COLUMNS, with_extractions
from fivefold.stores.sql.spaces import SPACE_COLUMNS, space_of
from fivefold.stores.sql.transaction import Transaction
from fivefold.stores.tables import Row
from fivefold.values.entities import Extraction
from fivefold.values.memory import Memory
from fivefold.values.vectors import PassageVectors, Vector, VectorField


class SqlVectorWriter(ABC):
    """The active space serves; a second one may be building."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn
        self._spaces: dict[str, VectorSpace | None] = {}

    @abstractmethod
    def put_vector(
        self,
        row: int,
        where: VectorField,
        memory: Memory,
        vector: Vector,
        state: SpaceState = "active",
        part: int = 0,
        tokens: bytes | None = None,
    ) -> None:
        """Store one vector of a memory, and the token vectors of its passage in a space that has them."""

    @abstractmethod
    def drop_vectors(self, row: int) -> None:
        """Delete all vectors of a memory, of every space."""

    @abstractmethod
    def drop_fields(self, row: int, fields: Sequence[VectorField], state: SpaceState) -> None:
        """Delete the vectors of these fields of a memory in one space."""

    @abstractmethod
    def drop_next(self, row: int) -> None:
        """Delete the vector of the next user turn, and all vectors of the memory in a space that is building."""

    @abstractmethod
    def drop_stray_vectors(self) -> None:
        """Delete vectors without a memory, entries without a vector, and what is left of incomplete passages."""

    @abstractmethod
    def make_room(self, dimension: int) -> None:
        """Prepare for vectors of that dimension."""

    @abstractmethod
    def clear_space(self, space: VectorSpace) -> None:
        """Delete all vectors of a space."""

    @abstractmethod
    def clear(self) -> None:
        """Delete all vectors of the namespace."""

    @abstractmethod
    def put_rows(self, rows: Sequence[Row]) -> None:
        """Add rows of the exchange table `VECTORS`."""

    @abstractmethod
    def flush(self) -> None:
        """Write what the transaction gathered; called before it ends."""

    @abstractmethod
    def stored(self, space: VectorSpace, rows: Sequence[int], where: VectorField) -> dict[int, Vector]:
        """The vectors of these memories."""

    def pin(self, embedder: str, dimension: int, tokens: bool = False) -> VectorSpace:
        """The active space; the first write of a namespace pins its model."""
        space = self.space("active")
        return space or self.open_space(embedder, dimension, "active", tokens)

    def space(self, state: SpaceState) -> VectorSpace | None:
        if state not in self._spaces:
            rows = self._txn.rows(
                f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = ? AND state = ?", self._txn.key, state
            )
            self._spaces[state] = space_of(rows[0]) if rows else None
        return self._spaces[state]

    def open_space(self, embedder: str, dimension: int, state: SpaceState, tokens: bool = False) -> VectorSpace:
        self.make_room(dimension)
        key = self._txn.db.insert(
            "INSERT INTO spaces (key, namespace, embedder, dimension, state, tokens) VALUES (?, ?, ?, ?, ?, ?)",
            self._txn.key,
            embedder,
            dimension,
            state,
            int(tokens),
        )
        self._spaces[state] = space = VectorSpace(key, embedder, dimension, tokens)
        return space

    def drop_space(self, state: SpaceState) -> None:
        space = self.space(state)
        if space is None:
            return
        self.clear_space(space)
        self._txn.run("DELETE FROM spaces WHERE namespace = ? AND key = ?", self._txn.key, space.key)
        self._spaces[state] = None

    def switch_space(self) -> None:
        """Make the building space the active one, and delete the old one."""
        self.drop_space("active")
        self._txn.run("UPDATE spaces SET state = 'active' WHERE namespace = ? AND state = 'building'", self._txn.key)
        self._spaces.clear()

    def put(
        self,
        memory: Memory,
        vectors: Mapping[VectorField, Vector],
        state: SpaceState,
        passages: Sequence[PassageVectors] = (),
    ) -> None:
        fields = list(vectors)
        if "full" in vectors or passages:
            fields.append("passage")
        self.drop_fields(memory.row, fields, state)
        self.put_all(memory.row, memory, vectors, passages, state)

    def put_all(
        self,
        row: int,
        memory: Memory,
        vectors: Mapping[VectorField, Vector],
        passages: Sequence[PassageVectors],
        state: SpaceState = "active",
    ) -> None:
        """Store the vectors of a memory that has none of them yet; the tokens of a short text go with its vector."""
        short = passages[0].tokens if len(passages) == 1 else None
        assert short is None or "full" in vectors, "the passage of a short text goes with the vector of that text"
        for where, vector in vectors.items():
            self.put_vector(row, where, memory, vector, state, tokens=short if where == "full" else None)
        for part, passage in enumerate(passages if len(passages) > 1 else ()):
            assert passage.vector is not None, "each passage of a long text has a vector"
            self.put_vector(row, "passage", memory, passage.vector, state, part, passage.tokens)

    def missing(self, state: SpaceState, limit: int) -> list[tuple[Memory, Extraction]]:
        """Memories without the vectors that every memory of their kind has, session memories last."""
        space = self.space(state)
        if space is None:
            return []
        rows = missing_vectors(self._txn.db.rows, self._txn.sql, self._txn.key, space.key, limit, space.tokens)
        records = self._txn.rows(
            f"SELECT {COLUMNS}, extracted FROM memories WHERE {self._txn.sql.unindexed('namespace')} = ? "
            f"AND {self._txn.sql.among('row', '?')} ORDER BY kind = 'session', row",
            self._txn.key,
            self._txn.sql.as_list(rows),
        )
        return with_extractions(self._txn.namespace, records)

    def get(self, rows: Sequence[int], where: VectorField, state: SpaceState = "active") -> dict[int, Vector]:
        space = self.space(state)
        return {} if space is None else self.stored(space, rows, where)
