"""Codes of vectors, by which very many are searched: in the file, in memory, and kept up to date in a transaction."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator

import apsw
import numpy as np
import numpy.typing as npt

from fivefold.errors import FivefoldError
from fivefold.stores.records import VectorSpace
from fivefold.stores.sql.scope import Gate
from fivefold.stores.sqlite.connection import Connections, number, one_snapshot, rows
from fivefold.stores.sqlite.dialect import REMOVALS, table_of
from fivefold.stores.sqlite.scan import CodeArrays, Floats, Rows, coded, likely_nearest, nearest
from fivefold.text.lexemes import empty_text_caches
from fivefold.values.recall_trace import RouteHit, new_hit
from fivefold.values.vectors import FIELDS, Matrix, Vector, VectorField

# The codes of a field with very many vectors, as the file stores them: in blocks, in the order of the vectors' ids.
# They are derived from the vectors. Whatever has no code yet comes after the last block, so that adding a vector costs
# nothing and packing goes on at any time, by any writer.

EXACT_BYTES = 192 << 20
"""A field whose vectors take more than this is searched by codes: 131,072 vectors of 384 dimensions (E8)."""

BLOCK = 2_048
"""Vectors in a block."""

MIN_LOGGED = 1_024
"""Minimum number of removals of a field that are listed; a process that missed more reads all codes again."""

HEAD = np.dtype([("id", "<i8"), ("memory", "<i8"), ("part", "<i4"), ("type", "<i4"), ("scale", "<f4")])
Heads = npt.NDArray[np.void]
Codes = npt.NDArray[np.int8]

_OF_FIELD = "FROM vectors v WHERE v.space = ? AND v.field = ? AND v.id > ?"


def exact_limit(dimension: int) -> int:
    """Maximum number of vectors that are searched exactly in memory."""
    return EXACT_BYTES // (4 * dimension)


def last_packed(connection: apsw.Connection, space: int, field: int) -> int:
    """The last id that is in a block; 0 if there is no block."""
    return number(connection, "SELECT max(last) FROM code_blocks WHERE space = ? AND field = ?", space, field) or 0


def count_after(connection: apsw.Connection, space: int, field: int, id: int = 0) -> int:
    return number(connection, f"SELECT count(*) {_OF_FIELD}", space, field, id) or 0


def vectors_after(
    connection: apsw.Connection, space: VectorSpace, field: int, id: int, most: int = -1
) -> tuple[Heads, Floats] | None:
    """The vectors after an id in the order of ids, without scales; None at the end."""
    found = rows(
        connection,
        f"SELECT v.id, v.memory, v.part, v.type, e.embedding FROM (SELECT * {_OF_FIELD} ORDER BY v.id LIMIT ?) v "
        f"CROSS JOIN {table_of(space.dimension)} e ON e.rowid = v.id",
        space.key,
        field,
        id,
        most,
    )
    if not found:
        return None
    heads = np.array([(*head, 0.0) for *head, _ in found], dtype=HEAD)
    return heads, np.frombuffer(b"".join(row[4] for row in found), dtype=np.float32).reshape(len(found), -1)


def pack(connection: apsw.Connection, space: VectorSpace, field: int, most: int) -> int:
    """Write up to `most` further blocks; gives how many vectors went in. Fewer vectors than a block wait."""
    packed = 0
    last = last_packed(connection, space.key, field)
    for _ in range(most):
        found = vectors_after(connection, space, field, last, BLOCK)
        if found is None or len(found[0]) < BLOCK:
            break
        heads, matrix = found
        codes, heads["scale"], _ = coded(matrix)
        last = int(heads["id"][-1])
        connection.execute(
            "INSERT INTO code_blocks (space, field, last, heads, codes) VALUES (?, ?, ?, ?, ?)",
            (space.key, field, last, heads.tobytes(), codes.tobytes()),
        )
        packed += len(heads)
    return packed


def read(
    connection: apsw.Connection, space: VectorSpace, field: int, after: int = 0
) -> Iterator[tuple[int, Heads, Codes]]:
    """Each block with vectors after an id: its key, and heads and codes of those that were not removed."""
    blocks = connection.execute(
        "SELECT key, heads, codes FROM code_blocks WHERE space = ? AND field = ? AND last > ? ORDER BY last",
        (space.key, field, after),
    )
    for key, heads, codes in blocks:
        head = np.frombuffer(heads, dtype=HEAD)
        code = np.frombuffer(codes, dtype=np.int8).reshape(len(head), -1)
        wanted = head["id"] > after
        yield key, *((head, code) if wanted.all() else (head[wanted], code[wanted]))


def erase(connection: apsw.Connection, space: int, field: int, id: int) -> None:
    """Overwrite what a block has of a vector; a block that is mostly empty is written again without the gaps."""
    found = rows(
        connection,
        "SELECT key, heads FROM code_blocks WHERE space = ? AND field = ? AND last >= ? ORDER BY last LIMIT 1",
        space,
        field,
        id,
    )
    if not found:
        return
    key, head = found[0][0], np.frombuffer(found[0][1], dtype=HEAD)
    places = np.flatnonzero(head["id"] == id)
    if len(places):
        for name in ("heads", "codes"):
            with connection.blob_open("main", "code_blocks", name, key, True) as blob:
                size = blob.length() // len(head)
                blob.seek(int(places[0]) * size)
                blob.write(bytes(size))
        if np.count_nonzero(head["id"]) - 1 < len(head) // 2:
            _close_gaps(connection, key)


def _close_gaps(connection: apsw.Connection, key: int) -> None:
    ((heads, codes),) = rows(connection, "SELECT heads, codes FROM code_blocks WHERE key = ?", key)
    head = np.frombuffer(heads, dtype=HEAD)
    left = head["id"] > 0
    if not left.any():
        connection.execute("DELETE FROM code_blocks WHERE key = ?", (key,))
        return
    code = np.frombuffer(codes, dtype=np.int8).reshape(len(head), -1)
    values = (head[left].tobytes(), code[left].tobytes(), key)
    connection.execute("UPDATE code_blocks SET heads = ?, codes = ? WHERE key = ?", values)


def wrong_blocks(connection: apsw.Connection, space: VectorSpace) -> int:
    """Number of blocks of a space that differ from its vectors."""
    wrong = 0
    for (field,) in rows(connection, "SELECT DISTINCT field FROM code_blocks WHERE space = ?", space.key):
        before = 0
        for _, heads, codes in read(connection, space, field):
            if len(heads):
                found, before = vectors_after(connection, space, field, before, len(heads)), int(heads["id"][-1])
                wrong += found is None or not _agree(heads, codes, *found)
    return wrong


def _agree(heads: Heads, codes: Codes, expected: Heads, matrix: Floats) -> bool:
    expected_codes, expected["scale"], _ = coded(matrix)
    return bool(np.array_equal(heads, expected) and np.array_equal(codes, expected_codes))


# The codes of a field with very many vectors, in memory; the vectors themselves stay in the file.

DEAD_SHARE = 4
"""If one in this many codes belongs to a vector that was removed, all are read again."""


class CodedVectors:
    """The codes of one field of one space. They are brought up to date before each search; room is added, seldom."""

    def __init__(self, space: VectorSpace, where: VectorField) -> None:
        self._space = space
        self._field = FIELDS.index(where)
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self.arrays: CodeArrays = CodeArrays.empty(0, self._space.dimension)
        self.size: int = 0
        self.dead: int = 0
        self.last_id: int = 0
        self.removals: int = 0

    @property
    def bytes(self) -> int:
        """Bytes in use; the room behind them takes no memory."""
        return self.size * CodeArrays.bytes_each(self._space.dimension)

    def search(self, connection: apsw.Connection, vector: Vector, depth: int, keep: Gate) -> list[RouteHit]:
        arrays, positions, scores, _ = self._nearest(connection, vector, depth, keep)
        found = zip(arrays.memories[positions].tolist(), scores.tolist(), arrays.parts[positions].tolist(), strict=True)
        return [new_hit(row, score, part=part) for row, score, part in found]

    def patterns(self, connection: apsw.Connection, vector: Vector, size: int, keep: Gate) -> Matrix:
        return self._nearest(connection, vector, size, keep)[3]

    def _nearest(
        self, connection: apsw.Connection, vector: Vector, depth: int, keep: Gate
    ) -> tuple[CodeArrays, Rows, Matrix, Matrix]:
        """The arrays, the positions of the nearest vectors, best first, their scores and the vectors."""
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
            for _, heads, codes in read(connection, self._space, self._field, self.last_id):
                self._append(connection, heads, codes)
            tail = vectors_after(connection, self._space, self._field, self.last_id)
            if tail is not None:
                heads, matrix = tail
                codes, heads["scale"], _ = coded(matrix)
                self._append(connection, heads, codes)

    def _drop_removed(self, connection: apsw.Connection, removals: int) -> None:
        sql = "SELECT id FROM removed_vectors WHERE space = ? AND field = ? AND number > ?"
        gone = [id for (id,) in rows(connection, sql, self._space.key, self._field, self.removals)]
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
            more = count_after(connection, self._space.key, self._field, self.last_id)
            self.arrays = self.arrays.grown(self.size, 2 * (self.size + more))
        columns = (heads[name] for name in ("id", "memory", "part", "type", "scale"))
        self.arrays.put(self.size, *columns, codes)
        self.size, self.last_id = end, int(heads["id"][-1])


def _kept_positions(arrays: CodeArrays, keep: Gate) -> Rows | None:
    """Positions of the vectors that a filter leaves; None for all."""
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


# Packs the codes of a large field that has none, in the background and a little at a time.

AT_ONCE = 8
"""Blocks that are packed in one transaction, so that no other writer waits for long."""

_log = logging.getLogger("fivefold")


class CodeBuilder:
    """One thread a field; one that ends early is begun again by the next search that lacks the codes."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._at_work: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    def begin(self, space: VectorSpace, where: VectorField) -> None:
        """Does nothing if the file can only be read, or is in memory."""
        field = FIELDS.index(where)
        with self._lock:
            if self._connections.read_only or self._connections.in_memory or (space.key, field) in self._at_work:
                return
            self._at_work.add((space.key, field))
        threading.Thread(target=self._run, args=(space, field), name="fivefold-codes", daemon=True).start()

    def _run(self, space: VectorSpace, field: int) -> None:
        try:
            while self._pack_some(space, field):
                pass
        except (FivefoldError, apsw.Error) as error:
            if not self._connections.closed:
                _log.warning("the codes of a large namespace could not be written: %s", error)
        finally:
            with self._lock:
                self._at_work.discard((space.key, field))

    def _pack_some(self, space: VectorSpace, field: int) -> int:
        with self._connections.transaction() as connection:
            if not connection.execute("SELECT 1 FROM spaces WHERE key = ?", (space.key,)).fetchall():
                return 0
            return pack(connection, space, field, AT_ONCE)


CHECK_STEP = 256
"""Number of ids between two checks for vectors that wait for a block."""

CODE_WRITER_AT_ONCE = 16
"""Blocks that a transaction packs beyond those that its own vectors fill."""


class CodeWriter:
    """Adding costs nothing until vectors fill a block; a removal overwrites the code at once."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._packed: dict[tuple[int, int], int] = {}
        self._added: dict[tuple[int, int], tuple[VectorSpace, int, int]] = {}

    def added(self, space: VectorSpace, field: int, id: int) -> None:
        known = self._added.get((space.key, field))
        self._added[space.key, field] = (space, known[1] if known else id, id)

    def removed(self, space: int, field: int, id: int, count: int) -> None:
        """`count` is how many vectors of the field were removed so far, this one included."""
        if self._last_packed(space, field):
            erase(self._connection, space, field, id)
            self._connection.execute("INSERT INTO removed_vectors VALUES (?, ?, ?, ?)", (space, field, count, id))
            if count % MIN_LOGGED == 0:
                sql = "DELETE FROM removed_vectors WHERE space = ? AND field = ? AND number <= ?"
                self._connection.execute(sql, (space, field, count - MIN_LOGGED))

    def clear(self, space: int) -> None:
        for table in ("code_blocks", "removed_vectors"):
            self._connection.execute(f"DELETE FROM {table} WHERE space = ?", (space,))
        for known in (self._packed, self._added):
            for key in [key for key in known if key[0] == space]:
                del known[key]

    def rebuild(self, space: VectorSpace) -> None:
        """Makes all blocks again if any differs from the vectors."""
        if wrong_blocks(self._connection, space):
            self.clear(space.key)
        for field in range(len(FIELDS)):
            if self._is_large(space, field):
                waiting = count_after(self._connection, space.key, field)
                pack(self._connection, space, field, waiting // BLOCK)
                self._packed.pop((space.key, field), None)

    def pack(self) -> None:
        for (key, field), (space, first, last) in self._added.items():
            if first // CHECK_STEP < (last + 1) // CHECK_STEP and self._is_large(space, field):
                pack(self._connection, space, field, CODE_WRITER_AT_ONCE + (last - first) // BLOCK)
                self._packed.pop((key, field), None)
        self._added.clear()

    def _is_large(self, space: VectorSpace, field: int) -> bool:
        """True if the field has codes, or has grown beyond the size that is searched exactly."""
        if self._last_packed(space.key, field):
            return True
        return count_after(self._connection, space.key, field) > exact_limit(space.dimension)

    def _last_packed(self, space: int, field: int) -> int:
        if (space, field) not in self._packed:
            self._packed[space, field] = last_packed(self._connection, space, field)
        return self._packed[space, field]
