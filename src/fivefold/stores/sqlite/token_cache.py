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

_REMOVALS = (
    "SELECT coalesce(sum(r.count), 0) FROM spaces s LEFT JOIN removals r ON r.space = s.key "
    f"AND r.field IN ({CARRIERS[0]}, {CARRIERS[1]}) WHERE s.key = ? GROUP BY s.key"
)
"""How often a vector with token vectors was removed from a space; nothing where the space is gone."""


@dataclass(slots=True)
class _Cached:
    """Token vectors of one space, as they were after that many removals from it."""

    removals: int
    passages: dict[Part, bytes] = field(default_factory=dict)


class TokenCache:
    """The token vectors that recalls have read, within one budget for all namespaces."""

    def __init__(self) -> None:
        self.size = 0
        self._spaces: OrderedDict[int, _Cached] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, connection: apsw.Connection, space: VectorSpace, passages: Sequence[Part]) -> dict[Part, bytes]:
        """The token vectors of these passages; those that have none are left out."""
        removals, found = self._known(connection, space.key, passages)
        if removals is None or len(found) == len(passages):
            return found
        with one_snapshot(connection):
            removals, found = self._known(connection, space.key, passages)
            if removals is None:
                return {}
            read = stored(connection, space, [passage for passage in passages if passage not in found])
        self._add(space.key, removals, read)
        return found | read

    def _known(
        self, connection: apsw.Connection, space: int, passages: Sequence[Part]
    ) -> tuple[int | None, dict[Part, bytes]]:
        """How often vectors were removed from the space, None where it is gone, and what is cached as it is now."""
        removals = number(connection, _REMOVALS, space)
        with self._lock:
            cached = self._spaces.get(space)
            if removals is None or cached is None or cached.removals != removals:
                return removals, {}
            self._spaces.move_to_end(space)
            known = cached.passages
            return removals, {passage: known[passage] for passage in passages if passage in known}

    def _add(self, space: int, removals: int, read: dict[Part, bytes]) -> None:
        with self._lock:
            cached = self._spaces.get(space)
            if cached is None or cached.removals < removals:
                self._drop(space)
                cached = self._spaces[space] = _Cached(removals)
            if cached.removals > removals:  # another thread has seen a later state of the file
                return
            for passage, tokens in read.items():
                if passage not in cached.passages:
                    cached.passages[passage] = tokens
                    self.size += _size(tokens)
            self._keep_in_budget()

    def _keep_in_budget(self) -> None:
        """Drop the namespaces that were not used for longest, and of the last one what was read first."""
        while self.size > CACHE_BYTES and len(self._spaces) > 1:
            self._drop(next(iter(self._spaces)))
        for cached in self._spaces.values():
            while self.size > CACHE_BYTES:
                self.size -= _size(cached.passages.pop(next(iter(cached.passages))))

    def drop(self, spaces: Sequence[int]) -> None:
        """Forget these spaces, which were deleted."""
        with self._lock:
            for space in spaces:
                self._drop(space)

    def _drop(self, space: int) -> None:
        cached = self._spaces.pop(space, None)
        self.size -= sum(map(_size, cached.passages.values())) if cached else 0


def _size(tokens: bytes) -> int:
    return len(tokens) + ENTRY_BYTES
