"""The life of a memory: when it expires, what keeps it, and how it is swept."""

from __future__ import annotations

from datetime import datetime

from fivefold.errors import NotFound
from fivefold.namespace import Namespace
from fivefold.stores.protocol import Writer
from fivefold.text.text_caches import empty_text_caches
from fivefold.values.memory import Memory
from fivefold.values.reports import Sweep
from fivefold.writing.edit import remove

SWEPT = 200
"""How many expired memories one transaction forgets."""


def pin(namespace: Namespace, id: str, pinned: bool) -> Memory:
    """Pin a memory or let it go; nothing that is derived from it changes."""
    namespace.get(id)  # a transaction would make a namespace that is not there
    with namespace.transaction() as txn:
        memory = txn.memories.get(id)
        if memory is None:
            raise NotFound(f"namespace {namespace.name!r} has no memory {id!r}")
        txn.memories.set_life(memory.row, memory.expires_at, pinned)
    return namespace.get(id)


def sweep(namespace: Namespace, *, dry_run: bool = False) -> Sweep:
    """Forget what has expired by now, in transactions of a few hundred memories; a dry run only lists it."""
    now = namespace.clock()
    if dry_run:
        return Sweep(now, tuple(memory.id for memory in namespace.reader.memories.expired(now)), dry_run=True)
    swept: list[str] = []
    while found := namespace.reader.memories.expired(now, SWEPT):
        with namespace.transaction() as txn:
            swept += [memory.id for memory in found if _sweep_one(memory, now, namespace, txn)]
    if swept:
        empty_text_caches()
        namespace.store.checkpoint()
    return Sweep(now, tuple(swept))


def _sweep_one(found: Memory, now: datetime, namespace: Namespace, txn: Writer) -> bool:
    """Whether the memory was still there and had still expired."""
    memory = txn.memories.by_row(found.row)
    if memory is None or memory.is_alive(now):
        return False
    remove(memory, namespace, txn)
    return True
