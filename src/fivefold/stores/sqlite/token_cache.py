"""Token vectors that recalls have read stay in memory.

The cache agrees with the file, also when other processes write: ids of vectors are never used again, and each removal
of a vector is counted in the file.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import apsw

from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sqlite.connection import number, one_snapshot
from fivefold.stores.sqlite.token_rows import CARRIERS, Part, stored

CACHE_BYTES = 128 << 20
"""How many bytes of token vectors all namespaces together may cache; the least recently used namespace goes first."""

ENTRY_BYTES = 200
"""What an entry takes in addition to its token vectors, about."""


@dataclass(slots=True)
class _Cached:
    """Token vectors of one space, as they were after that many removals from it."""

    removals: int
    passages: dict[Part, bytes] = field(default_factory=dict)
    size: int = 0

    def add(self, passages: dict[Part, bytes]) -> None:
        self.size += sum(len(tokens) + ENTRY_BYTES for row, tokens in passages.items() if row not in self.passages)
        self.passages |= passages

    def drop_first(self) -> None:
        """Drop what was read first."""
        passage = next(iter(self.passages))
        self.size -= len(self.passages.pop(passage)) + ENTRY_BYTES


class TokenCache:
    """The token vectors that recalls have read, within one budget for all namespaces."""

    def __init__(self) -> None:
        self._spaces: OrderedDict[int, _Cached] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, connection: apsw.Connection, space: VectorSpace, passages: Sequence[Part]) -> dict[Part, bytes]:
        """The token vectors of these passages; those that have none are left out."""
        with one_snapshot(connection):
            removals = _removals(connection, space)
            found = self._known(space.key, removals, passages)
            missing = [passage for passage in passages if passage not in found]
            if not missing:
                return found
            read = stored(connection, space, missing)
        self._add(space.key, removals, read)
        return found | read

    def size(self) -> int:
        """How many bytes are cached."""
        with self._lock:
            return sum(cached.size for cached in self._spaces.values())

    def _known(self, space: int, removals: int, passages: Sequence[Part]) -> dict[Part, bytes]:
        with self._lock:
            cached = self._spaces.get(space)
            if cached is None or cached.removals != removals:
                return {}
            self._spaces.move_to_end(space)
            known = cached.passages
            return {passage: known[passage] for passage in passages if passage in known}

    def _add(self, space: int, removals: int, read: dict[Part, bytes]) -> None:
        with self._lock:
            cached = self._spaces.get(space)
            if cached is None or cached.removals < removals:
                cached = self._spaces[space] = _Cached(removals)
            if cached.removals == removals:  # else another thread has seen a later state of the file
                cached.add(read)
            self._spaces.move_to_end(space)
            self._keep_in_budget()

    def _keep_in_budget(self) -> None:
        total = sum(cached.size for cached in self._spaces.values())
        while total > CACHE_BYTES:
            space, oldest = next(iter(self._spaces.items()))
            total -= oldest.size
            if oldest.passages and len(self._spaces) == 1:
                oldest.drop_first()
                total += oldest.size
            else:
                del self._spaces[space]


def _removals(connection: apsw.Connection, space: VectorSpace) -> int:
    """How often a vector with token vectors was removed."""
    sql = f"SELECT sum(count) FROM removals WHERE space = ? AND field IN ({CARRIERS[0]}, {CARRIERS[1]})"
    return number(connection, sql, space.key) or 0
