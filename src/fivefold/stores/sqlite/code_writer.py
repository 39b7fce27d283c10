"""Keeps the codes of large fields up to date in one transaction."""

from __future__ import annotations

import apsw

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sqlite import code_blocks
from fivefold.values.vectors import FIELDS

EVERY = 256
"""How many ids come between two checks whether vectors wait for a block."""

AT_ONCE = 16
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
            code_blocks.erase(self._connection, space, field, id)
            code_blocks.log_removal(self._connection, space, field, count, id)

    def clear(self, space: int) -> None:
        code_blocks.drop(self._connection, space)
        for known in (self._packed, self._added):
            for key in [key for key in known if key[0] == space]:
                del known[key]

    def rebuild(self, space: VectorSpace) -> None:
        """Where blocks differ from the vectors, all are made again."""
        if code_blocks.wrong_blocks(self._connection, space):
            self.clear(space.key)
        for field in range(len(FIELDS)):
            if self._is_large(space, field):
                waiting = code_blocks.count_after(self._connection, space.key, field)
                code_blocks.pack(self._connection, space, field, waiting // code_blocks.BLOCK)
                self._packed.pop((space.key, field), None)

    def pack(self) -> None:
        for (key, field), (space, first, last) in self._added.items():
            if first // EVERY < (last + 1) // EVERY and self._is_large(space, field):
                code_blocks.pack(self._connection, space, field, AT_ONCE + (last - first) // code_blocks.BLOCK)
                self._packed.pop((key, field), None)
        self._added.clear()

    def _is_large(self, space: VectorSpace, field: int) -> bool:
        """Whether the field has codes, or has grown beyond what is searched exactly."""
        if self._last_packed(space.key, field):
            return True
        return code_blocks.count_after(self._connection, space.key, field) > code_blocks.exact_limit(space.dimension)

    def _last_packed(self, space: int, field: int) -> int:
        if (space, field) not in self._packed:
            self._packed[space, field] = code_blocks.last_packed(self._connection, space, field)
        return self._packed[space, field]
