"""Maintenance of a whole store: every namespace is checked, a failure stops nothing, the schedule ends on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, sleep

import apsw
import pytest

from fivefold.engine import Engine
from fivefold.errors import StoreClosed
from fivefold.service.maintenance import Maintenance, maintain
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.values.reports import MaintenanceResult
from tests.conformance.vectors import WordVectors

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PATIENCE_S = 30.0


@pytest.fixture
def store(store_path: str) -> Iterator[Store]:
    """Two namespaces, one of which talks of something new since the first round."""
    held = open_store(store_path)
    for name in ("calm", "lively"):
        Engine(held, name, WordVectors()).remember_many(["I take my tea without milk", "The kettle is blue"])
    list(maintain(held, NOW))
    Engine(held, "lively", WordVectors()).remember_many(["Saturn stands high tonight", "Clouds ruined the eclipse"])
    yield held
    held.close()


def test_every_namespace_is_looked_at_and_then_the_store(store: Store) -> None:
    done = list(maintain(store, NOW))
    assert [(item.namespace, item.part, item.changed, item.ok) for item in done] == [
        ("calm", "vocabulary", False, True),
        ("lively", "vocabulary", True, True),
        (None, "statistics", True, True),
    ]
    assert done[0].detail.endswith("100% as last time")
    assert done[1].detail.endswith("as last time: indexed again")
    drift = store.reader("lively").admin.stats().drift
    assert drift is not None
    assert (drift.checked_at, drift.reindexed) == (NOW, True)


def test_R5_a_server_looks_at_a_vocabulary_a_day_after_its_check_is_due(store: Store) -> None:
    """The day is for an idle moment of the engines, which look at it after a week."""

    def looked_at(days: int) -> list[str | None]:
        done = maintain(store, NOW + timedelta(days=days), only_due=True)
        return [item.namespace for item in done if item.part == "vocabulary"]

    assert looked_at(7) == []
    Engine(store, "calm").configure(check_days=0)
    assert looked_at(8) == ["lively"]
    assert looked_at(8) == []


def test_an_empty_store_has_only_its_own_care(store_path: str) -> None:
    held = open_store(store_path)
    assert [item.part for item in maintain(held, NOW)] == ["statistics"]
    held.close()


def test_a_namespace_that_fails_stops_no_other(store: Store) -> None:
    connection = apsw.Connection(store.location)
    connection.execute(
        "CREATE VIRTUAL TABLE damaged USING fts5(word); DROP TABLE damaged_data; "
        "CREATE TRIGGER reads_damaged BEFORE INSERT ON learned WHEN NEW.namespace = 1 "
        "BEGIN DELETE FROM damaged WHERE damaged MATCH 'tea'; END"
    )
    connection.close()
    done = list(maintain(open_store(store.location), NOW))
    assert [(item.namespace, item.ok) for item in done] == [("calm", False), ("lively", True), (None, True)]
    assert "restore a backup" in done[0].detail


def test_a_store_that_cannot_be_written_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "read_only", True)
    done = list(maintain(store, NOW))
    assert [item.ok for item in done] == [False, False, False]
    assert all("cannot be written" in item.detail for item in done)


def test_a_closed_store_is_an_error(store: Store) -> None:
    store.close()
    with pytest.raises(StoreClosed):
        list(maintain(store, NOW))


def _running() -> bool:
    return any(thread.name == "fivefold-maintenance" for thread in threading.enumerate())


class Rounds:
    """Gathers what each round did."""

    def __init__(self) -> None:
        self.done: list[Sequence[MaintenanceResult]] = []
        self.third = threading.Event()

    def __call__(self, done: Sequence[MaintenanceResult]) -> None:
        self.done.append(done)
        if len(self.done) == 3:
            self.third.set()


def test_the_schedule_goes_on_until_it_is_stopped(store: Store) -> None:
    rounds = Rounds()
    maintenance = Maintenance(store, every_s=0.01, report=rounds)
    maintenance.start()
    maintenance.start()
    assert rounds.third.wait(PATIENCE_S)
    maintenance.stop()
    seen = len(rounds.done)
    assert not _running()
    assert [item.changed for item in rounds.done[0]] == [False, True, True]
    assert [item.changed for item in rounds.done[1]] == [False, False, True]
    assert len(rounds.done) == seen
    maintenance.stop()


def test_it_can_be_started_again(store: Store) -> None:
    rounds = Rounds()
    maintenance = Maintenance(store, every_s=0.01, report=rounds)
    for _ in range(2):
        rounds.third.clear()
        rounds.done.clear()
        maintenance.start()
        assert rounds.third.wait(PATIENCE_S)
        maintenance.stop()


def test_it_ends_between_two_steps(store: Store) -> None:
    """Ended while the first namespace is looked at, it does not begin with the second."""
    rounds = Rounds()
    maintenance = Maintenance(store, every_s=60, clock=lambda: maintenance.end() or NOW, report=rounds)  # type: ignore[func-returns-value]
    maintenance.run()
    assert [[item.namespace for item in done] for done in rounds.done] == [["calm"]]


def test_a_store_that_is_closed_ends_it(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds()
    maintenance = Maintenance(store, every_s=0.01, report=rounds)
    with caplog.at_level("INFO", logger="fivefold"):
        maintenance.start()
        assert rounds.third.wait(PATIENCE_S)
        store.close()
        until = monotonic() + PATIENCE_S
        while _running() and monotonic() < until:
            sleep(0.01)
    assert not _running()
    assert "maintenance ended with the store" in caplog.text


def test_without_anyone_to_tell_it_logs_what_it_did(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()

    def clock() -> datetime:
        if ended.is_set():
            maintenance.end()
        ended.set()
        return NOW

    maintenance = Maintenance(store, every_s=0.01, clock=clock)
    with caplog.at_level("INFO", logger="fivefold"):
        maintenance.run()
    assert "maintenance, vocabulary of namespace 'lively'" in caplog.text
    assert "'calm'" not in caplog.text


def test_stopping_what_was_never_started_does_nothing(tmp_path: Path) -> None:
    held = open_store(str(tmp_path / "new.db"))
    Maintenance(held).stop()
    held.close()
