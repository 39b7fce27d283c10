"""Imported by the process from which the others are forked: what the first write and the first recall load is there."""

from __future__ import annotations

from fivefold.engine import Engine
from fivefold.stores.sqlite.store import SqliteStore
from fivefold_bench.faults.task import Letters

_engine = Engine(SqliteStore(":memory:"), embedder=Letters())
_engine.configure(find_changes=False, find_repeats=False)
_engine.remember_many([{"id": "warm", "content": "Ines came to Porto on 3 May 2024", "session_id": "s"}])
_engine.close()
