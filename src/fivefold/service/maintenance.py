"""Maintenance of a whole store, once or again and again. Everything else goes on meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from fivefold.errors import FivefoldError, StoreClosed, StoreError
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
    try:
        namespaces = store.namespaces()
    except StoreClosed:
        raise
    except StoreError as error:
        yield MaintenanceResult("store", False, str(error), ok=False)
        return
    with bar("Maintaining the store", len(namespaces) + 1, show=progress) as advance:
        for namespace in namespaces:
            yield from _vectors(store, namespace, ended)
            yield from _expired(store, namespace, now)
            if not only_due or _is_overdue(store, namespace, now):
                yield _vocabulary(store, namespace, now)
            advance(1)
        try:
            yield from store.maintain()
        except StoreClosed:
            raise
        except StoreError as error:
            yield MaintenanceResult("store", False, str(error), ok=False)
        advance(1)


class _Ended(Exception):
    """The maintenance ends before its part is done; the next round goes on."""


def _vectors(store: Store, namespace: str, ended: Callable[[], bool]) -> Iterator[MaintenanceResult]:
    """Vectors of a model that is no longer there are made again; otherwise nothing is done or said."""

    def go_on(done: int) -> None:
        if ended():
            raise _Ended

    try:
        pinned = store.reader(namespace).search.vector_space()
        if pinned is None or pinned.embedder not in RETIRED:
            return
        model = writing_model(Namespace(store, namespace, None, extractor("rules"), utc_now), go_on)
        yield MaintenanceResult("vectors", True, f"moved from {pinned.embedder} to {model.pin}", namespace)
    except StoreClosed:
        raise
    except _Ended:
        yield MaintenanceResult("vectors", True, "part of them was made again; the next round goes on", namespace)
    except FivefoldError as error:
        yield MaintenanceResult("vectors", False, str(error), namespace, ok=False)


def _expired(store: Store, namespace: str, now: datetime) -> Iterator[MaintenanceResult]:
    """Memories that have expired are forgotten; nothing is said where there are none."""
    try:
        swept = sweep(Namespace(store, namespace, None, extractor("rules"), lambda: now)).swept
        if swept:
            yield MaintenanceResult("expired", True, f"{len(swept):,} memories forgotten", namespace)
    except StoreClosed:
        raise
    except FivefoldError as error:
        yield MaintenanceResult("expired", False, str(error), namespace, ok=False)


def _is_overdue(store: Store, namespace: str, now: datetime) -> bool:
    try:
        admin = store.reader(namespace).admin
        days = settings_of(admin.settings()).check_days
        return drift.is_due(admin.learned_value(VOCABULARY), now - timedelta(days=1), days)
    except StoreClosed:
        raise
    except StoreError:
        return True  # the check itself says what is wrong


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
        only_due: bool = False,
    ) -> None:
        """`report` gets what each round did; without it, what was changed or failed is logged. `only_due` is that of
        `maintain`."""
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
            self._report(list(self._round(progress)))
            self._ended.wait(self._every_s)

    def _round(self, progress: bool) -> Iterator[MaintenanceResult]:
        for item in maintain(self._store, self._clock(), progress, self._ended.is_set, self._only_due):
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
