"""The audit log: what is noted stays, what must not be lost is on the disk, and nobody sees more than they may."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

import fivefold
from fivefold.service.audit import BATCH_ENTRIES, READS, Audit
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.stores.sqlite.connection import connect
from fivefold.values.access import ALL, HERE, AuditEntry, Caller, Refused
from tests.support.postgres import Server
from tests.support.shared_tables import shared_tables
from tests.support.shell import clean

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
BOT = Caller("writer", ("work", "home"), "b0b0")
SOURCE = Path(fivefold.__file__).parent


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        return server.new_location()
    return str(tmp_path_factory.mktemp("audit") / "memory.db")


@pytest.fixture(scope="module")
def shared(location: str) -> Iterator[Store]:
    with closing(open_store(location)) as opened:
        yield opened


@pytest.fixture
def store(shared: Store) -> Store:
    """With nothing noted yet."""
    with shared_tables(shared).writing() as db:
        db.run("DELETE FROM audit")
    return shared


@pytest.fixture
def audit(store: Store) -> Iterator[Audit]:
    made = Audit(store, clock=lambda: NOON)
    yield made
    made.close()


def told(entry: AuditEntry) -> tuple[str | None, ...]:
    return entry.key_id, entry.action, entry.namespace, entry.subject, entry.outcome


def test_notes_come_back_latest_first(audit: Audit) -> None:
    audit.note(BOT, "remember", "work", "m1")
    audit.note(BOT, "recall", "work")
    audit.note(HERE, "forget", "home", "m1", "failed")
    audit.note(BOT, "forget", "secret", "m1", "refused")
    found = audit.entries()
    assert [told(entry) for entry in found] == [
        ("b0b0", "forget", "secret", "m1", "refused"),
        (None, "forget", "home", "m1", "failed"),
        ("b0b0", "recall", "work", None, "ok"),
        ("b0b0", "remember", "work", "m1", "ok"),
    ]
    assert {entry.at for entry in found} == {NOON}
    assert list(found[0].to_dict()) == ["id", "at", "key_id", "action", "namespace", "subject", "outcome"]
    assert found.cursor is None


def test_pages_follow_each_other_while_more_is_noted(audit: Audit) -> None:
    for number in range(7):
        audit.note(BOT, "remember", "work", f"m{number}")
    first = audit.entries(limit=3)
    audit.note(BOT, "remember", "work", "later")
    second = audit.entries(3, first.cursor)
    third = audit.entries(3, second.cursor)
    assert [entry.subject for page in (first, second, third) for entry in page] == [f"m{i}" for i in range(6, -1, -1)]
    assert third.cursor is None
    with pytest.raises(fivefold.InvalidInput, match="cursor"):
        audit.entries(cursor="7")
    with pytest.raises(fivefold.InvalidInput, match="limit"):
        audit.entries(limit=0)


def test_a_caller_sees_notes_of_its_own_namespaces(audit: Audit, store: Store) -> None:
    Keyring(store).create("x", "reader", ["work"])
    for namespace in ("work", "home", "other", ALL):
        audit.note(BOT, "remember", namespace, "m")
        audit.note(Caller("writer", (ALL,), "cafe"), "remember", namespace, "m")

    def seen(caller: Caller, **narrowed: Any) -> list[str | None]:
        return sorted({entry.namespace for entry in audit.entries(caller=caller, **narrowed)}, key=str)

    boss = Caller("admin", ("work", "home"), "abcd")
    assert seen(boss) == ["home", "work"]
    assert seen(boss, namespace="work") == ["work"]
    assert {entry.key_id for entry in audit.entries(caller=boss, key="cafe")} == {"cafe"}
    assert seen(HERE) == [ALL, None, "home", "other", "work"]
    assert seen(HERE, namespace=ALL) == [ALL]
    assert seen(Caller("admin", (), "none")) == []
    with pytest.raises(Refused, match="does not reach namespace 'other'"):
        audit.entries(caller=boss, namespace="other")


def test_keys_made_and_revoked_are_noted(audit: Audit, store: Store) -> None:
    keyring = Keyring(store, lambda: NOON)
    key, _ = keyring.create("x", "reader", ["work"], by=BOT)
    keyring.revoke(key.id)
    keyring.revoke(key.id)
    assert [told(entry) for entry in audit.entries()] == [
        (None, "revoke key", None, key.id, "ok"),
        ("b0b0", "create key", None, key.id, "ok"),
    ]


def test_a_change_is_on_the_disk_when_the_note_returns(location: str, audit: Audit) -> None:
    """Another process sees it at once; what changed nothing it sees in time."""
    with closing(open_store(location)) as other:
        audit.note(BOT, "recall", "work")
        assert other.audit.page(None, 9, None, None) == []
        audit.note(BOT, "remember", "work", "m1")
        assert [entry.action for entry in other.audit.page(None, 9, None, None)] == ["remember", "recall"]
        audit.note(BOT, "recall", "work")
        audit.close()
        assert [entry.action for entry in other.audit.page(None, 9, None, None)] == ["recall", "remember", "recall"]
    with pytest.raises(fivefold.StoreClosed):
        audit.note(BOT, "recall", "work")


@pytest.mark.slow
def test_a_killed_process_has_lost_no_change(store_path: str) -> None:
    script = (
        "import os, sys, signal\n"
        "from fivefold.values.access import HERE\n"
        "from fivefold.service.audit import Audit\n"
        "from fivefold.stores import open_store\n"
        "audit = Audit(open_store(sys.argv[1]))\n"
        "for number in range(20): audit.note(HERE, 'remember', 'work', f'm{number}')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, store_path], env=clean({}), check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    with closing(open_store(store_path)) as store:
        assert [entry.subject for entry in Audit(store).entries()] == [f"m{i}" for i in range(19, -1, -1)]


def test_many_threads_note_and_nothing_is_lost(audit: Audit) -> None:
    def many(name: str) -> None:
        for number in range(25):
            audit.note(BOT, "recall", name)
            audit.note(BOT, "remember", name, str(number))

    threads = [threading.Thread(target=many, args=(f"n{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = audit.entries(limit=1_000)
    assert len(found) == 400
    for i in range(8):
        own = [entry.subject for entry in reversed(found) if entry.namespace == f"n{i}" and entry.action == "remember"]
        assert own == [str(number) for number in range(25)]


def test_what_a_stranger_asked_for_is_noted_as_far_as_it_can_be(audit: Audit) -> None:
    audit.note(BOT, "recall", "n\x00\ud800" + "x" * 1_000, "s" * 1_000, "refused")
    (entry,) = audit.entries()
    assert entry.namespace is not None
    assert entry.namespace.startswith("n\ufffd?xxx")
    assert len(entry.namespace) == len(entry.subject or "") == 200
    for strange in ("\x00", "\ud800", "x" * 1_000):
        assert len(audit.entries(namespace=strange)) == len(audit.entries(key=strange)) == 0


# what is kept


@pytest.mark.parametrize("kept", [{"entries": 3}, {"days": 2}])
def test_old_notes_go(store: Store, kept: dict[str, int]) -> None:
    store.audit.add(
        [
            AuditEntry(
                at=NOON - timedelta(days=day), key_id=None, action="add", namespace="a", subject=str(day), outcome="ok"
            )
            for day in range(5, -1, -1)
        ]
    )
    audit = Audit(store, clock=lambda: NOON, **kept)
    audit.note(BOT, "remember", "a", "new")
    audit.close()
    left = [entry.subject for entry in store.audit.page(None, 99, None, None)]
    assert left == (["new", "0", "1"] if "entries" in kept else ["new", "0", "1", "2"])


def test_who_reads_a_lot_drives_out_no_changes(store: Store) -> None:
    def noted(action: str, subject: str, outcome: str = "ok") -> AuditEntry:
        return AuditEntry(at=NOON, key_id="k", action=action, namespace="a", subject=subject, outcome=outcome)

    store.audit.add(
        [
            noted("forget", "m1"),
            *(noted("recall", f"r{n}") for n in range(9)),
            noted("forget", "m2", "refused"),
            *(noted("update", f"u{n}") for n in range(2)),
        ]
    )
    store.audit.trim(NOON - timedelta(days=1), 3, sorted(READS))
    left = [entry.subject for entry in store.audit.page(None, 99, None, None)]
    assert left == ["u1", "u0", "m2", "r8", "r7", "m1"]


def test_no_number_is_given_out_twice(store: Store) -> None:
    """Otherwise a cursor would lead into other notes than it was made for."""
    audit = Audit(store)
    audit.note(BOT, "remember", "a", "m1")
    (first,) = audit.entries()
    store.audit.trim(NOON, 0, sorted(READS))
    audit.note(BOT, "remember", "a", "m2")
    (second,) = audit.entries()
    assert second.id > first.id
    audit.close()


def test_nothing_rewrites_a_note(store_path: str) -> None:
    """SQLite refuses it itself; on PostgreSQL the role has no right to."""
    with closing(open_store(store_path)) as store:
        audit = Audit(store)
        audit.note(BOT, "remember", "a", "m1")
        audit.close()
    connection = connect(store_path)
    with pytest.raises(apsw.ConstraintError, match="never changed"):
        connection.execute("UPDATE audit SET outcome = 'refused'")
    connection.close()
    said = " ".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    assert re.findall(r"INSERT INTO audit", said)
    assert not re.findall(r"(UPDATE|REPLACE INTO|INSERT OR \w+ INTO) audit\b", said, re.IGNORECASE)


def test_a_note_holds_no_memory(store_path: str) -> None:
    """Of a memory only its id: the fields are checked by hand here, and a served store by its own tests."""
    assert set(AuditEntry.shape()) == {"id", "at", "key_id", "action", "namespace", "subject", "outcome"}
    assert not READS & {"remember", "update", "supersede", "reinstate", "forget", "used", "configure", "import"}


# stores that cannot be written


def test_a_store_that_can_only_be_read_keeps_no_notes(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_store(store_path)) as store:
        audit = Audit(store)
        audit.note(BOT, "remember", "a", "m1")
        audit.close()
    monkeypatch.setattr("os.access", lambda *_: False)
    with closing(open_store(store_path)) as store:
        audit = Audit(store)
        audit.note(BOT, "recall", "a")
        assert [entry.action for entry in audit.entries()] == ["remember"]
        audit.close()


def test_what_cannot_be_written_now_is_written_later(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    written = store.audit.add
    monkeypatch.setattr(store.audit, "add", _full)
    audit = Audit(store)
    audit.note(BOT, "recall", "a")
    with pytest.raises(fivefold.DiskFull, match="no room"):
        audit.note(BOT, "remember", "a", "m1")
    assert audit.entries() == audit.entries(cursor=None)
    assert "the audit log could not be written, 0 notes were given up: no room" in caplog.text
    monkeypatch.setattr(store.audit, "add", written)
    audit.note(BOT, "remember", "a", "m2")
    assert [told(entry)[1:4] for entry in audit.entries()] == [("remember", "a", "m2"), ("recall", "a", None)]
    audit.close()


def test_what_can_never_be_written_is_given_up_and_told(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store.audit, "add", _full)
    audit = Audit(store)
    audit.note(BOT, "recall", "a")
    audit.close()
    assert "1 notes were given up" in caplog.text


def test_what_cannot_be_written_now_is_not_tried_without_pause(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = threading.Semaphore(0)

    def full(entries: list[AuditEntry]) -> None:
        tries.release()
        raise fivefold.DiskFull("no room")

    monkeypatch.setattr(store.audit, "add", full)
    audit = Audit(store)
    for _ in range(2 * BATCH_ENTRIES):
        audit.note(BOT, "recall", "a")
    assert tries.acquire(timeout=60)
    assert not all(tries.acquire(timeout=0.2) for _ in range(3))
    audit.close()


def _full(entries: list[AuditEntry]) -> None:
    raise fivefold.DiskFull("no room")
