"""Packs the codes of a large field that has none, in the background and a little at a time."""

from __future__ import annotations

import logging
import threading

import apsw

from fivefold.errors import FivefoldError
from fivefold.stores.protocol import VectorSpace
from fivefold.stores.sqlite import code_blocks
from fivefold.stores.sqlite.connection import Connections
from fivefold.values.vectors import FIELDS, VectorField

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
        """Nothing happens where the file can only be read, or is in memory."""
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
            return code_blocks.pack(connection, space, field, AT_ONCE)
