"""How long memories live: the part of the engine that pins and sweeps them and looks after their health."""

from __future__ import annotations

from fivefold import observers
from fivefold.retrieval.browse import Browser
from fivefold.retrieval.health import look_after
from fivefold.stores.protocol import Store
from fivefold.text.progress import bar
from fivefold.values.health import SOON_DAYS, STALE_DAYS, UNUSED_DAYS, HealthReport, health_filters
from fivefold.values.limits import MAX_K
from fivefold.values.memory import Memory
from fivefold.values.reports import Erasure, Report, Sweep
from fivefold.values.validate import checked_count
from fivefold.writing import life
from fivefold.writing.earlier_repeats import link_earlier_repeats

MOST_DAYS = 36_500


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

    @observers.write
    def link_repeats(self, *, progress: bool = False) -> Report:
        """Link near-duplicates among all memories, also those that were not compared when they were written.

        Nothing else is changed. It searches around each memory, which takes a while.
        """
        with bar("Comparing memories", self.stats().memories, show=progress) as advance:
            return link_earlier_repeats(self._namespace, advance)

    def erasure(self) -> Erasure:
        """Whether the bytes of what was forgotten are gone from every file, and if not, until when they may remain."""
        return self.store.erasure()

    def health(
        self,
        *,
        stale_days: int = STALE_DAYS,
        unused_days: int = UNUSED_DAYS,
        soon_days: int = SOON_DAYS,
        examples: int = 5,
    ) -> HealthReport:
        """What somebody should look at: expired, expiring, stale, never used, near-duplicates, contradictions, secrets.

        Nothing is changed. `examples` is how many of each are named; every memory is read, which takes a while.
        """
        filters = health_filters(
            self._namespace.clock(),
            checked_count(stale_days, "stale_days", 1, MOST_DAYS),
            checked_count(unused_days, "unused_days", 0, MOST_DAYS),
            checked_count(soon_days, "soon_days", 0, MOST_DAYS),
        )
        return look_after(self._namespace, filters, checked_count(examples, "examples", 0, MAX_K))
