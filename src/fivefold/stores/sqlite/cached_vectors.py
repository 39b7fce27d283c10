"""The vectors of a field in memory as they are, for an exact search."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import apsw
import numpy as np

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sqlite.connection import number, one_snapshot, rows
from fivefold.stores.sqlite.scan import Arrays, Rows, closest
from fivefold.stores.sqlite.vectors import REMOVALS, table_of
from fivefold.text.text_caches import empty_text_caches
from fivefold.values.recall_trace import RouteHit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

_CHANGES = (
    "SELECT coalesce((SELECT count FROM removals WHERE space = ?1 AND field = ?2), 0), "
    "EXISTS (SELECT 1 FROM vectors WHERE space = ?1 AND field = ?2 AND id > ?3)"
)


class CachedVectors:
    """The vectors of one field of one space. Arrays are replaced or grown, never changed under a reader."""

    def __init__(self, dimension: int) -> None:
        self.arrays = Arrays.empty(0, dimension)
        self.size = 0
        self.last_id = 0
        self.removals = 0
        self.in_order = True
        """Whether the rows of the memories rise, each once."""
        self.lock = threading.Lock()

    @property
    def bytes(self) -> int:
        return self.arrays.matrix.nbytes + self.arrays.codes.nbytes

    def search(self, vector: Vector, depth: int, keep: Kept) -> list[RouteHit]:
        cached, positions = self._filtered(keep)
        order, scores = closest(cached, vector, depth, positions)
        found = zip(cached.memories[order].tolist(), scores.tolist(), cached.parts[order].tolist(), strict=True)
        return [RouteHit(row, score, part=part) for row, score, part in found]

    def patterns(self, vector: Vector, size: int, keep: Kept) -> Matrix:
        cached, positions = self._filtered(keep)
        return cached.matrix[closest(cached, vector, size, positions)[0]]

    def vectors_of(self, memories: Sequence[int]) -> dict[int, Vector]:
        """The vectors of those of the memories that can be found at once."""
        with self.lock:
            cached, in_order = self.arrays.first(self.size), self.in_order
        if not in_order or not len(cached.ids) or not memories:
            return {}
        places = np.searchsorted(cached.memories, memories).clip(max=len(cached.ids) - 1)
        known, matrix = cached.memories[places].tolist(), cached.matrix.view()
        matrix.flags.writeable = False
        return {
            row: matrix[place]
            for row, found, place in zip(memories, known, places.tolist(), strict=True)
            if row == found
        }

    def _filtered(self, keep: Kept) -> tuple[Arrays, Rows | None]:
        with self.lock:
            cached = self.arrays.first(self.size)
        if keep.rows is None:
            return cached, np.flatnonzero(np.isin(cached.types, keep.type_codes)) if keep.types else None
        positions = np.flatnonzero(np.isin(cached.memories, keep.rows.rows))
        return cached, positions[np.isin(cached.types[positions], keep.type_codes)] if keep.types else positions

    def catch_up(self, connection: apsw.Connection, space: VectorSpace, where: VectorField) -> None:
        """Read what was written since the last time."""
        code = FIELDS.index(where)
        with self.lock:
            if not self._is_behind(connection, space.key, code):
                return
            with one_snapshot(connection):
                removals = number(connection, REMOVALS, space.key, code) or 0
                if removals != self.removals and self.size:
                    self._drop_removed(connection, space.key, code)
                    empty_text_caches()  # another process may have forgotten something
                self.removals = removals
                self._append(connection, space, code)

    def _is_behind(self, connection: apsw.Connection, space: int, code: int) -> bool:
        """Whether vectors were added or removed, by one short statement: mostly none were."""
        ((removals, added),) = rows(connection, _CHANGES, space, code, self.last_id)
        return bool(added) or removals != self.removals

    def _drop_removed(self, connection: apsw.Connection, space: int, code: int) -> None:
        alive = rows(connection, "SELECT id FROM vectors WHERE space = ? AND field = ?", space, code)
        remaining = np.isin(self.arrays.ids[: self.size], np.array([id for (id,) in alive], dtype=np.int64))
        self.arrays = self.arrays.first(self.size).only(np.flatnonzero(remaining))
        self.size = len(self.arrays.ids)

    def _append(self, connection: apsw.Connection, space: VectorSpace, code: int) -> None:
        new = rows(
            connection,
            "SELECT v.id, v.memory, v.part, v.type, e.embedding FROM vectors v "
            f"JOIN {table_of(space.dimension)} e ON e.rowid = v.id WHERE v.space = ? AND v.field = ? AND v.id > ?",
            space.key,
            code,
            self.last_id,
        )
        if not new:
            return
        end = self.size + len(new)
        if end > len(self.arrays.ids):
            room = end if self.size == 0 else end * 5 // 4
            self.arrays = self.arrays.grown(self.size, room)
        ids, memories, parts, types, blobs = zip(*new, strict=True)
        matrix = np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(new), -1)
        self.arrays.put(self.size, np.array(ids), np.array(memories), np.array(types), matrix, np.array(parts))
        tail = self.arrays.memories[max(0, self.size - 1) : end]
        self.in_order = self.in_order and bool((tail[1:] > tail[:-1]).all())
        self.size, self.last_id = end, max(ids)
