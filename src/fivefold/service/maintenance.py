"""Maintenance of a whole store, once or again and again. Everything else goes on meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from fivefold.errors import StoreClosed, StoreError
from fivefold.stores.protocol import Store
from fivefold.text.progress import bar
from fivefold.values.reports import MaintenanceResult
from fivefold.values.times import utc_now
from fivefold.writing import drift

DAY_S = 86_400.0

_log = logging.getLogger("fivefold")


def maintain(store: Store, now: datetime, progress: bool = False) -> Iterator[MaintenanceResult]:
    """Check the vocabulary of each namespace, then let the store maintain itself; a part that fails stops no other."""
    try:
        namespaces = store.namespaces()
    except StoreClosed:
        raise
    except StoreError as error:
        yield MaintenanceResult("store", False, str(error), ok=False)
        return
    with bar("Maintaining the store", len(namespaces) + 1, show=progress) as advance:
        for namespace in namespaces:
            yield _vocabulary(store, namespace, now)
            advance(1)
        try:
            yield from store.maintain()
        except StoreClosed:
            raise
        except StoreError as error:
            yield MaintenanceResult("store", False, str(error), ok=False)
        advance(1)


def _vocabulary(store: Store, namespace: str, now: datetime) -> MaintenanceResult:
    try:
        report = drift.check(store, namespace, now, lambda done: None)
    except StoreClosed:
        raise
    except StoreError as error:
        return MaintenanceResult("vocabulary", False, str(error), namespace, ok=False)
    if report.jaccard is None:
        detail = f"{report.lexemes:,} lexemes, looked at for the first time"
    else:
        detail = f"{report.lexemes:,} lexemes, {report.jaccard:.0%} as last time"
    return MaintenanceResult(
        "vocabulary", report.reindexed, detail + (": indexed again" if report.reindexed else ""), namespace
    )


class Maintenance:
    """Maintains a store every `every_s` seconds, in a thread of its own, until it is stopped."""

    def __init__(
        self,
        store: Store,
        every_s: float = DAY_S,
        clock: Callable[[], datetime] = utc_now,
        report: Callable[[Sequence[MaintenanceResult]], None] | None = None,
    ) -> None:
        """`report` gets what each round did; without it, what was changed or failed is logged."""
        self._store = store
        self._every_s = every_s
        self._clock = clock
        self._report = report or _log_results
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin at once; a second start changes nothing."""
        if self._thread is None:
            self._ended.clear()
            self._thread = threading.Thread(target=self._run_logged, name="fivefold-maintenance", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Let it stop after the step under way."""
        self._ended.set()

    def stop(self) -> None:
        """End it, and wait until the step under way is done."""
        self.end()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def run(self, progress: bool = False) -> None:
        """Round after round in this thread, until it is ended from another."""
        while not self._ended.is_set():
            self._report(list(self._round(progress)))
            self._ended.wait(self._every_s)

    def _round(self, progress: bool) -> Iterator[MaintenanceResult]:
        for item in maintain(self._store, self._clock(), progress):
            yield item
            if self._ended.is_set():
                return

    def _run_logged(self) -> None:
        try:
            self.run()
        except StoreClosed:
            _log.info("maintenance ended with the store")
        except Exception:
            _log.exception("maintenance ended")


def _log_results(results: Sequence[MaintenanceResult]) -> None:
    for item in results:
        where = "" if item.namespace is None else f" of namespace {item.namespace!r}"
        if not item.ok:
            _log.warning("maintenance, %s%s: %s", item.part, where, item.detail)
        elif item.changed:
            _log.info("maintenance, %s%s: %s", item.part, where, item.detail)
