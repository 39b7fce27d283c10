"""Writing vectors: the spaces of a namespace. How a vector is stored is each store's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from fivefold.stores.records import SpaceState, VectorSpace
from fivefold.stores.sql.scope import Scope, Transaction
from fivefold.stores.tables import SPACE_COLUMNS, Row, space_of
from fivefold.values.entities import Extraction
from fivefold.values.memory import TYPES, Memory
from fivefold.values.vectors import FIELDS, PassageVectors, Vector, VectorField

AT_ONCE = 2_000
"""Vectors that wait at most to be stored together."""


def missing_vectors(scope: Scope, space: int, limit: int | None = None, tokens: bool = False) -> list[int]:
    """Rows of memories without the vector of their kind, or with `tokens` without token vectors; sessions come last."""
    sql, memories = scope.sql, list[int]()
    for kind, field in (("<>", "full"), ("=", "session")):
        if limit is None or len(memories) < limit:
            most = "" if limit is None else f" LIMIT {limit - len(memories)}"
            lacks = (
                f"NOT EXISTS (SELECT 1 FROM vectors v WHERE {sql.own_vector} AND v.space = :space AND v.field = :field)"
            )
            if tokens and field == "full":
                lacks = f"({lacks} OR NOT EXISTS (SELECT 1 FROM {sql.token_rows} t WHERE {sql.own_tokens}))"
            missing = scope.rows(
                f"SELECT row FROM memories m WHERE {sql.unindexed('namespace')} = :ns AND kind {kind} 'session' "
                f"AND {lacks} ORDER BY row{most}",
                space=space,
                field=FIELDS.index(field),
            )
            memories += [row for (row,) in missing]
    return memories


def unsound_passages(scope: Scope, space: int) -> list[int]:
    """Rows of memories whose passages are not numbered from 0 on, or not the ones that have token vectors."""
    own = f"WHERE {scope.sql.in_space} AND field = {FIELDS.index('passage')}"
    numbered = f"SELECT memory, count(*) AS parts FROM vectors {own} GROUP BY memory"
    gaps = scope.rows(f"{numbered} HAVING count(*) < 2 OR max(part) + 1 <> count(*)", space=space)
    wrong = scope.rows(
        f"SELECT read.memory FROM (SELECT memory, count(*) AS parts, max(part) AS last FROM {scope.sql.token_rows} t "
        f"WHERE {scope.sql.in_space} GROUP BY memory) AS read LEFT JOIN ({numbered}) AS numbered "
        "ON numbered.memory = read.memory WHERE read.parts <> coalesce(numbered.parts, 1) "
        "OR read.last + 1 <> read.parts",
        space=space,
    )
    return sorted({row for row, *_ in (*gaps, *wrong)})


class VectorWriter(ABC):
    """Vector spaces and the vectors in them (R3). The active space serves; a second one may be building."""

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn
        self._spaces: dict[str, VectorSpace | None] = {}
        self._waiting: list[Row] = []

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
        space = self.space(state)
        assert space is not None, "a space is pinned before vectors are written"
        place = (space.key, FIELDS.index(where), row, part, TYPES.index(memory.type))
        self._waiting.append((*place, vector.astype("<f4", copy=False).tobytes(), tokens if space.tokens else None))
        if len(self._waiting) >= AT_ONCE:
            self.write_waiting()

    def write_waiting(self) -> None:
        """Store the vectors that wait, before any are read or deleted."""
        if self._waiting:
            rows, self._waiting = self._waiting, []
            self.put_rows(rows)

    @abstractmethod
    def drop_vectors(self, row: int) -> None:
        """Delete all vectors of a memory, of every space."""

    @abstractmethod
    def drop_fields(self, row: int, fields: Sequence[VectorField], state: SpaceState) -> None:
        """Delete the vectors of these fields of a memory in one space, if there is one, with their token vectors."""

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
        """The active space; the first call in a namespace opens it for that model, which may give token vectors."""
        return self.space("active") or self.open_space(embedder, dimension, "active", tokens)

    def space(self, state: SpaceState) -> VectorSpace | None:
        if state not in self._spaces:
            sql = f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = :ns AND state = :state"
            rows = self._txn.rows(sql, state=state)
            self._spaces[state] = space_of(rows[0]) if rows else None
        return self._spaces[state]

    def open_space(self, embedder: str, dimension: int, state: SpaceState, tokens: bool = False) -> VectorSpace:
        """A new, empty space, with token vectors or without."""
        self.make_room(dimension)
        sql = "INSERT INTO spaces (key, namespace, embedder, dimension, state, tokens) VALUES (?, ?, ?, ?, ?, ?)"
        key = self._txn.insert(sql, self._txn.key, embedder, dimension, state, int(tokens))
        self._spaces[state] = space = VectorSpace(key, embedder, dimension, tokens)
        return space

    def drop_space(self, state: SpaceState) -> None:
        space = self.space(state)
        if space is not None:
            self.clear_space(space)
            self._txn.run("DELETE FROM spaces WHERE namespace = :ns AND key = :key", key=space.key)
            self._spaces[state] = None

    def switch_space(self) -> None:
        """Make the building space the active one, and delete the old one."""
        self.drop_space("active")
        self._txn.run("UPDATE spaces SET state = 'active' WHERE namespace = :ns AND state = 'building'")
        self._spaces.clear()

    def put(
        self,
        memory: Memory,
        vectors: Mapping[VectorField, Vector],
        state: SpaceState,
        passages: Sequence[PassageVectors] = (),
    ) -> None:
        """Store vectors of a memory in place of those of these fields; one of the full text replaces all passages."""
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
        """Memories without the vector of their kind, or without token vectors in a space with them; sessions last."""
        space = self.space(state)
        if space is None:
            return []
        self.write_waiting()
        rows = missing_vectors(self._txn, space.key, limit, space.tokens)
        return self._txn.with_extractions(
            f"{self._txn.sql.unindexed('namespace')} = :ns AND {self._txn.sql.among('row', ':rows')} "
            "ORDER BY kind = 'session', row",
            rows=self._txn.sql.as_list(rows),
        )

    def get(self, rows: Sequence[int], where: VectorField, state: SpaceState = "active") -> dict[int, Vector]:
        space = self.space(state)
        self.write_waiting()
        return {} if space is None else self.stored(space, rows, where)
