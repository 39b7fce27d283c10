"""Writes that are accepted now and stored soon: nothing accepted is lost, also when the process is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fivefold.engine import SharedStore
from fivefold.errors import InvalidInput, NotFound, QueueFull, ServerAway, StoreError
from fivefold.models.embedders import Matrix, Progress
from fivefold.service.limits import LimitExceeded, Limits
from fivefold.service.shared_tables import MemoryTable
from fivefold.service.write_queue import QueueWriter, WriteQueue, _Target
from fivefold.stores import open_store
from fivefold.stores.records import QueueEntry
from fivefold.values.reports import Report
from fivefold.values.times import utc_now
from tests.conformance.vectors import WordVectors
from tests.support.postgres import Server

KILLED = """
import sys
from fivefold.service.service import open_service

service = open_service(sys.argv[1], "wordllama", writes_queue=True)
service.engines.namespace("default").configure(find_changes=False, find_repeats=False)
for number in range(100_000):
    records = [{"content": f"Parcel {number}.{part} has come"} for part in range(3)]
    print(" ".join(service.queue.add_records("default", records, None).waiting), flush=True)
"""


class Stumbling(WordVectors):
    """Cannot read one text."""

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        if any("stone" in text for text in texts):
            raise RuntimeError("a stone")
        return super().embed(texts)


class Parts:
    """A queue and its writer over one store, whose clock is at a given moment."""

    def __init__(self, location: str, limits: Limits | None = None, embedder: WordVectors | None = None) -> None:
        self.engines = SharedStore(open_store(location), embedder or WordVectors())
        self.now = datetime(2026, 5, 1, 12, tzinfo=UTC)
        self.queue = WriteQueue(self.engines, limits or Limits(), MemoryTable(1), lambda: self.now)
        self.writer = QueueWriter(self.engines, self.queue, lambda: self.now)
        self.engine = self.engines.namespace("default")


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    made = Parts(str(tmp_path / "memory.db"))
    yield made
    made.engines.close()


def test_a_write_waits_until_it_is_stored_and_was_said_when_it_was_accepted(parts: Parts) -> None:
    first = parts.queue.add_records("default", ["Ana drinks tea", {"content": "Nuno too", "id": "nuno"}], "key")
    second = parts.queue.add_records("default", ["ana  drinks TEA"], None)
    assert (first.state, first.ahead, len(first.waiting), second.ahead) == ("waiting", 0, 2, 2)
    assert parts.queue.write("default", second.id).waiting == second.waiting
    state = parts.queue.state("default")
    assert (state.waiting, state.room, state.oldest_at, state.per_second) == (3, 9_997, parts.now, None)
    accepted, parts.now = parts.now, parts.now + timedelta(minutes=5)
    assert parts.writer.drain() == 3
    assert {memory.event_at for memory in parts.engine.memories()} == {accepted}
    done = parts.queue.write("default", first.id)
    assert (done.state, done.waiting) == ("done", ())
    assert done.report is not None
    assert done.report.stored == first.waiting
    merged = parts.queue.write("default", second.id).report
    assert merged is not None
    assert [item.id for item in merged.merged] == [first.waiting[0]]
    entries = parts.engines.store.audit.all()
    assert {(entry.action, entry.key_id, entry.subject) for entry in entries} == {
        ("remember", "key", " ".join(first.waiting)),
        ("remember", None, second.waiting[0]),
    }


def test_the_report_names_what_is_held_for_approval(parts: Parts) -> None:
    parts.engine.configure(quarantine="origin:tool")
    write = parts.queue.add_records("default", ["Ana drinks tea", {"content": "Nuno too", "origin": "tool"}], None)
    parts.writer.drain()
    report = parts.queue.write("default", write.id).report
    assert report is not None
    assert (*report.stored, *report.quarantined) == write.waiting


def test_a_time_keeps_its_offset_and_messages_are_turns(parts: Parts) -> None:
    record = {"content": "We met yesterday", "event_at": "2026-04-02T00:30:00+05:00"}
    parts.queue.add_records("default", [record], None)
    messages = [{"role": "user", "content": "The boiler is loud"}, {"role": "assistant", "content": "Since when?"}]
    for _ in range(2):
        parts.queue.add_messages("default", messages, "boiler", None)
    parts.writer.drain()
    direct = parts.engines.namespace("direct")
    direct.remember_many([record])
    found = [m for m in parts.engine.memories() if m.kind == "note"]
    assert [m.event_at for m in found] == [m.event_at for m in direct.memories()]
    dates = parts.engine._namespace.extraction_of(found[0]).dates
    assert dates == direct._namespace.extraction_of(direct.memories()[0]).dates != ()
    assert [turn.speaker for turn in parts.engine.turns("boiler")] == ["user", "assistant"]


def test_the_queue_is_bounded(tmp_path: Path) -> None:
    parts = Parts(str(tmp_path / "memory.db"), Limits(queue=3))
    parts.queue.add_records("default", ["one", "two"], None)
    with pytest.raises(QueueFull) as full:
        parts.queue.add_records("default", ["three", "four"], None)
    assert 1 <= parts.queue.retry_after_s("default", full.value) <= 60
    with pytest.raises(LimitExceeded, match="at most 3"):
        parts.queue.add_records("default", ["x"] * 4, None)
    for number in range(7):
        parts.queue.add_records(f"n{number}", ["1", "2", "3"], None)
    with pytest.raises(QueueFull, match="all namespaces together") as full:
        parts.queue.add_records("late", ["1", "2"], None)
    assert "23" not in str(full.value), "how much others have is not said"
    assert parts.writer.drain() == 23
    assert parts.queue.add_records("late", ["1", "2"], None).ahead == 0
    parts.engines.close()


def test_what_is_not_valid_is_refused_at_once_and_secrets_do_not_wait(parts: Parts) -> None:
    secret = "my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    with pytest.raises(InvalidInput, match="record 2"):
        parts.queue.add_records("default", ["fine", {"content": ""}], None)
    parts.engine.configure(secrets="refuse")
    with pytest.raises(InvalidInput):
        parts.queue.add_records("default", [secret], None)
    assert parts.queue.waiting() == 0
    parts.engine.configure(secrets="mask")
    parts.queue.add_records("default", [secret], None)
    (entry,) = parts.engines.store.queue.first("default", 9, utc_now())
    assert "abcdefghij" not in entry.record
    with pytest.raises(NotFound):
        parts.queue.write("default", "never sent")


def test_one_that_cannot_be_stored_waits_longer_each_time_and_the_others_go_on(tmp_path: Path) -> None:
    parts = Parts(str(tmp_path / "memory.db"), embedder=Stumbling())
    bad = parts.queue.add_records("default", ["over a stone"], None)
    good = parts.queue.add_records("default", ["over a field"], None)
    assert parts.writer.drain() == 1
    assert parts.queue.write("default", good.id).state == "done"
    for tries in range(3):
        waiting = parts.queue.write("default", bad.id)
        assert waiting.problem is not None
        assert "stone" not in waiting.problem
        assert waiting.next_try_at == parts.now + timedelta(seconds=2**tries)
        parts.now = waiting.next_try_at
        parts.writer.drain()
    assert parts.queue.cancel("default", bad.id).waiting == ()
    assert parts.queue.waiting() == 0
    parts.engines.close()


def test_a_store_that_is_away_postpones_nothing(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    write = parts.queue.add_records("default", ["Ana drinks tea"], None)

    def away(self: object, entries: Sequence[QueueEntry]) -> None:
        raise ServerAway("no answer")

    with monkeypatch.context() as patch:
        patch.setattr("fivefold.service.write_queue._Target.remember_queued", away)
        with pytest.raises(ServerAway):
            parts.writer.drain()
    assert parts.queue.write("default", write.id).problem is None
    assert parts.writer.drain() == 1


def test_a_namespace_that_the_store_refuses_lets_the_others_by(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = (parts.queue.add_records(name, ["tea", "milk"], None) for name in ("bad", "good"))
    remember = _Target.remember_queued

    def refuse(self: _Target, entries: Sequence[QueueEntry]) -> Report | None:
        if self.namespace == "bad":
            raise StoreError("an index does not take this")
        return remember(self, entries)

    monkeypatch.setattr(_Target, "remember_queued", refuse)
    assert parts.writer.drain() == 2
    assert parts.queue.write("good", good.id).state == "done"
    waiting = parts.queue.write("bad", bad.id)
    assert (waiting.waiting, waiting.next_try_at) == (bad.waiting, parts.now + timedelta(seconds=1))


def test_what_is_forgotten_while_it_waits_leaves_no_bytes(parts: Parts, tmp_path: Path) -> None:
    texts = ["The zanzibar code", "The zanzibar door", "The zanzibar gate", "The zanzibar wall"]
    parts.engine.remember("Something else")
    one = parts.queue.add_records("default", texts[:1], None)
    parts.queue.add_records("default", [{"content": texts[1], "session_id": "s"}], None)
    three = parts.queue.add_records("default", texts[2:3], None)
    parts.queue.add_records("other", texts[3:], None)
    assert parts.engine.forget(one.waiting[0]).content == texts[0]
    parts.engine.forget_session("s")
    parts.queue.cancel("default", three.id)
    parts.engines.delete_namespace("other")
    assert parts.writer.drain() == 0
    parts.engines.close()
    assert [file.name for file in tmp_path.iterdir() if b"zanzibar" in file.read_bytes()] == []


def test_two_servers_store_each_record_once_on_postgresql(postgres: Server) -> None:
    location = postgres.new_location()
    servers = [Parts(location), Parts(location)]
    write = servers[0].queue.add_records("default", [f"parcel {number}" for number in range(4)], None)
    servers[1].queue.add_records("other", ["tea"], None)
    stale = servers[1].engines.store.queue.first("default", 9, servers[1].now)
    assert servers[0].writer.drain() == 5
    assert servers[1].writer._store_batch("default", stale) == 0
    assert {memory.id for memory in servers[1].engine.memories()} == set(write.waiting)
    assert servers[1].queue.write("default", write.id).state == "done"
    for server in servers:
        server.engines.close()


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_accepted(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    process = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    accepted = [process.stdout.readline() for _ in range(30)]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    ids = " ".join(line for line in [*accepted, *rest.splitlines(keepends=True)] if line.endswith("\n")).split()
    engines = SharedStore(open_store(path))
    writer = QueueWriter(engines, WriteQueue(engines, Limits(), MemoryTable(1)))
    assert writer.drain() > 0, "the process was killed while something waited"
    engine = engines.namespace("default")
    stored = {memory.id for memory in engine.memories(limit=1_000)}
    assert len(ids) >= 90
    assert set(ids) <= stored
    assert [finding for finding in engine.doctor() if not finding.ok] == []
    engines.close()
