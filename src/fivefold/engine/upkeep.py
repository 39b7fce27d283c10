"""How long memories live: the part of the engine that pins and sweeps them."""

from __future__ import annotations

from fivefold import observers
from fivefold.retrieval.browse import Browser
from fivefold.stores.protocol import Store
from fivefold.values.memory import Memory
from fivefold.values.reports import Sweep
from fivefold.writing import life


class Upkeep(Browser):
    """What an engine does with its memories after they are written."""

    store: Store
    namespace: str

    @observers.write
    def pin(self, id: str) -> Memory:
        """Let a memory stay: it does not expire, and nothing that is read in later texts replaces it."""
        return life.pin(self._namespace, id, True)

    @observers.write
    def unpin(self, id: str) -> Memory:
        """Let a memory expire and be replaced again, as any other."""
        return life.pin(self._namespace, id, False)

    @observers.write
    def sweep(self, *, dry_run: bool = False) -> Sweep:
        """Forget the memories that have expired; a dry run only says which."""
        return life.sweep(self._namespace, dry_run=dry_run)
