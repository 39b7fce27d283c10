"""Maintenance of a whole store, once or again and again. Everything else goes on meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from fivefold.errors import FivefoldError, StoreClosed
from fivefold.models.embedders import RETIRED
from fivefold.namespace import Namespace
from fivefold.settings import settings_of
from fivefold.stores.interface import Store
from fivefold.stores.records import VOCABULARY
from fivefold.text.display import bar
from fivefold.values.reports import MaintenanceResult
from fivefold.values.times import utc_now
from fivefold.writing import rebuild as drift
from fivefold.writing.edit import sweep
from fivefold.writing.extract import extractor
from fivefold.writing.rebuild import writing_model

DAY_S = 86_400.0

_log = logging.getLogger("fivefold")


def maintain(
    store: Store,
    now: datetime,
    progress: bool = False,
    ended: Callable[[], bool] = lambda: False,
    only_due: bool = False,
) -> Iterator[MaintenanceResult]:
    """Look after vectors, expired memories and vocabulary of each namespace, then let the store maintain itself.

    A part that fails stops no other; one that takes long ends early once `ended` says so. With `only_due`, a vocabulary
    is left alone until a day after its check is due: the day is for an idle moment of the engines (R5).
    """
    failed: list[MaintenanceResult] = []
    with _noting("store", failed):
        namespaces = store.namespaces()
    if failed:
        yield from failed
        return
    with bar("Maintaining the store", len(namespaces) + 1, show=progress) as advance:
        for namespace in namespaces:
            yield from _part("vectors", lambda name: _vectors(store, name, ended), namespace)
            yield from _part("expired", lambda name: _expired(store, name, now), namespace)
            yield from _part("vocabulary", lambda name: _vocabulary(store, name, now, only_due), namespace)
            advance(1)
        with _noting("store", failed):
            yield from store.maintain()
        yield from failed
        advance(1)


@contextmanager
def _noting(part: str, failed: list[MaintenanceResult], namespace: str | None = None) -> Iterator[None]:
    """Notes the error of a part that fails; a closed store ends everything."""
    try:
        yield
    except StoreClosed:
        raise
    except FivefoldError as error:
        failed.append(MaintenanceResult(part, False, str(error), namespace, ok=False))


def _part(part: str, run: Callable[[str], MaintenanceResult | None], namespace: str) -> Iterator[MaintenanceResult]:
    results: list[MaintenanceResult] = []
    with _noting(part, results, namespace):
        results += filter(None, [run(namespace)])
    yield from results


class _MaintenanceStop(Exception):
    """The maintenance ends before its part is done; the next round goes on."""


def _vectors(store: Store, namespace: str, ended: Callable[[], bool]) -> MaintenanceResult | None:
    """Makes the vectors of a model that is no longer there again."""

    def go_on(done: int) -> None:
        if ended():
            raise _MaintenanceStop

    pinned = store.reader(namespace).search.vector_space()
    if pinned is None or pinned.embedder not in RETIRED:
        return None
    try:
        model = writing_model(Namespace(store, namespace, None, extractor("rules"), utc_now), go_on)
    except _MaintenanceStop:
        return MaintenanceResult("vectors", True, "part of them was made again; the next round goes on", namespace)
    return MaintenanceResult("vectors", True, f"moved from {pinned.embedder} to {model.pin}", namespace)


def _expired(store: Store, namespace: str, now: datetime) -> MaintenanceResult | None:
    swept = sweep(Namespace(store, namespace, None, extractor("rules"), lambda: now)).swept
    return MaintenanceResult("expired", True, f"{len(swept):,} memories forgotten", namespace) if swept else None


def _vocabulary(store: Store, namespace: str, now: datetime, only_due: bool) -> MaintenanceResult | None:
    admin = store.reader(namespace).admin
    days = settings_of(admin.settings()).check_days
    if only_due and not drift.is_due(admin.learned_value(VOCABULARY), now - timedelta(days=1), days):
        return None
    report = drift.check(store, namespace, now, lambda done: None)
    compared = "looked at for the first time" if report.jaccard is None else f"{report.jaccard:.0%} as last time"
    detail = f"{report.lexemes:,} lexemes, {compared}{': indexed again' if report.reindexed else ''}"
    return MaintenanceResult("vocabulary", report.reindexed, detail, namespace)


class Maintenance:
    """Maintains a store every `every_s` seconds, in a thread of its own, until it is stopped."""

    def __init__(
        self,
        store: Store,
        every_s: float = DAY_S,
        clock: Callable[[], datetime] = utc_now,
        report: Callable[[Sequence[MaintenanceResult]], None] | None = None,
        only_due: bool = False,
    ) -> None:
        """`report` gets what each round did; without it, changes and failures are logged."""
        self._store = store
        self._every_s = every_s
        self._clock = clock
        self._report = report or _log_results
        self._only_due = only_due
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
            results = []
            for item in maintain(self._store, self._clock(), progress, self._ended.is_set, self._only_due):
                results.append(item)
                if self._ended.is_set():
                    break
            self._report(results)
            self._ended.wait(self._every_s)

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
