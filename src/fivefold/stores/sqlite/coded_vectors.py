"""The codes of a field with very many vectors, in memory; the vectors themselves stay in the file."""

from __future__ import annotations

import json
import threading

import apsw
import numpy as np

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sqlite import code_blocks
from fivefold.stores.sqlite.code_blocks import Codes, Heads
from fivefold.stores.sqlite.connection import number, one_snapshot, rows
from fivefold.stores.sqlite.scan import Rows, coded, nearest
from fivefold.stores.sqlite.sign_scan import CodeArrays, likely_nearest
from fivefold.stores.sqlite.vectors import REMOVALS, table_of
from fivefold.text.text_caches import empty_text_caches
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

DEAD_SHARE = 4
"""Where one in this many codes belongs to a vector that was removed, all are read again."""


class CodedVectors:
    """The codes of one field of one space. They are brought up to date before each search; room is added, seldom."""

    def __init__(self, space: VectorSpace, where: VectorField) -> None:
        self._space = space
        self._field = FIELDS.index(where)
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self.arrays = CodeArrays.empty(0, self._space.dimension)
        self.size = self.dead = self.last_id = self.removals = 0

    @property
    def bytes(self) -> int:
        """What is in use; the room behind it takes no memory."""
        return self.size * CodeArrays.bytes_each(self._space.dimension)

    def search(self, connection: apsw.Connection, vector: Vector, depth: int, keep: Kept) -> list[RouteHit]:
        arrays, positions, scores, _ = self._nearest(connection, vector, depth, keep)
        found = zip(arrays.memories[positions].tolist(), scores.tolist(), arrays.parts[positions].tolist(), strict=True)
        return [RouteHit(row, score, part=part) for row, score, part in found]

    def patterns(self, connection: apsw.Connection, vector: Vector, size: int, keep: Kept) -> Matrix:
        return self._nearest(connection, vector, size, keep)[3]

    def _nearest(
        self, connection: apsw.Connection, vector: Vector, depth: int, keep: Kept
    ) -> tuple[CodeArrays, Rows, Matrix, Matrix]:
        """The arrays, where the nearest vectors stand, best first, their scores and the vectors."""
        with one_snapshot(connection):
            self.catch_up(connection)
            with self._lock:
                arrays = self.arrays.first(self.size)
            likely = likely_nearest(arrays, vector, depth, _kept_positions(arrays, keep))
            stored = self._stored(connection, arrays.ids[likely])
        likely = likely[np.isin(arrays.ids[likely], list(stored))]
        matrix = np.array([stored[id] for id in arrays.ids[likely].tolist()], dtype=np.float32)
        matrix = matrix.reshape(len(likely), len(vector))
        order, scores = nearest(matrix, arrays.memories[likely], arrays.parts[likely], vector, depth)
        return arrays, likely[order], scores, matrix[order]

    def _stored(self, connection: apsw.Connection, ids: Rows) -> dict[int, Vector]:
        records = rows(
            connection,
            "SELECT e.rowid, e.embedding FROM json_each(?) wanted "
            f"CROSS JOIN {table_of(self._space.dimension)} e ON e.rowid = wanted.value",
            json.dumps(ids.tolist()),
        )
        return {id: np.frombuffer(blob, dtype=np.float32) for id, blob in records}

    def catch_up(self, connection: apsw.Connection) -> None:
        """Read what was written since the last time, by any process."""
        with self._lock, one_snapshot(connection):
            removals = number(connection, REMOVALS, self._space.key, self._field) or 0
            if removals > self.removals:  # a statement that began earlier may see fewer
                if self.size:
                    self._drop_removed(connection, removals)
                    empty_text_caches()  # another process may have forgotten something
                self.removals = removals
            for _, heads, codes in code_blocks.read(connection, self._space, self._field, self.last_id):
                self._append(connection, heads, codes)
            tail = code_blocks.vectors_after(connection, self._space, self._field, self.last_id)
            if tail is not None:
                heads, matrix = tail
                codes, heads["scale"], _ = coded(matrix)
                self._append(connection, heads, codes)

    def _drop_removed(self, connection: apsw.Connection, removals: int) -> None:
        gone = code_blocks.removed_since(connection, self._space.key, self._field, self.removals)
        self.dead += len(gone)
        if len(gone) != removals - self.removals or self.dead * DEAD_SHARE > self.size:
            self._clear()
            return
        places = np.searchsorted(self.arrays.ids[: self.size], gone)
        places = places[places < self.size]
        self.arrays.erase(places[np.isin(self.arrays.ids[places], gone)])

    def _append(self, connection: apsw.Connection, heads: Heads, codes: Codes) -> None:
        if not len(heads):
            return
        end = self.size + len(heads)
        if end > len(self.arrays.ids):
            more = code_blocks.count_after(connection, self._space.key, self._field, self.last_id)
            self.arrays = self.arrays.grown(self.size, 2 * (self.size + more))
        columns = (heads[name] for name in ("id", "memory", "part", "type", "scale"))
        self.arrays.put(self.size, *columns, codes)
        self.size, self.last_id = end, int(heads["id"][-1])


def _kept_positions(arrays: CodeArrays, keep: Kept) -> Rows | None:
    """Where the vectors stand that a filter leaves; None for all."""
    if keep.rows is None and not keep.types:
        return None
    kept = arrays.memories > 0
    if keep.types:
        kept &= np.isin(arrays.types, keep.type_codes)
    if keep.rows is not None:
        marks = np.zeros(int(arrays.memories.max(initial=0)) + 1, dtype=np.bool_)
        marks[keep.rows.rows[keep.rows.rows < len(marks)]] = True
        kept &= marks[arrays.memories]
    return np.flatnonzero(kept)
