"""Processes that are really killed: what they acknowledged is there, and a store that lost something is noticed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from fivefold.errors import InvalidInput, StoreError
from fivefold.stores.sqlite.schema import migrations
from fivefold_bench.faults import run
from fivefold_bench.faults.operations import (
    MOVES,
    WRITES,
    Add,
    Batch,
    Copy,
    CopyToServer,
    Forget,
    ForgottenSource,
    Reembed,
    Restore,
    Supersede,
    Update,
    Upgrade,
    make_oldest,
)
from fivefold_bench.faults.run import run_faults, tasks_for
from fivefold_bench.faults.task import Account, Task, Verdict, fill, opened, store_of
from tests.support.postgres import Server


@pytest.mark.slow
def test_one_kill_and_one_failure_of_each_operation_lose_nothing() -> None:
    count = len(tasks_for(None))
    report = run_faults(count, count, seed=3)
    assert report.ok, report.total.problems
    assert [(row.kills, row.failures, row.clean) for row in report.operations] == [(1, 1, 2)] * count
    assert report.total.acknowledged + report.total.cut_off > 0


@pytest.mark.slow
def test_every_write_sync_and_truncation_of_a_memory_fails_once() -> None:
    """By each of the three failures in turn, over opening the store and four memories."""
    row = run.disturb(Add(), 0, 30, random.Random(4), lambda done: None)
    assert row.ok, row.problems
    assert (row.failures, row.clean) == (30, 30)
    assert row.cut_off > 10


COUNTING = """
import sys, apsw
from fivefold_bench.faults.run import FailingDisk, Fault
disk = FailingDisk(Fault("power", int(sys.argv[3]), int(sys.argv[4])))
connection = apsw.Connection(sys.argv[1])
connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4").fetchall()
connection.execute("PRAGMA synchronous = " + sys.argv[2])
for number in range(1000):
    connection.execute("INSERT INTO numbers VALUES (?)", (number,))
    print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("synchronous", ["FULL", "OFF"])
def test_a_loss_of_power_costs_only_what_was_not_synced(tmp_path: Path, synchronous: str) -> None:
    """Without syncs acknowledged rows are lost, or the file is damaged: so the failures would be seen."""
    lost = 0
    for number in range(1, 60, 3):
        path = str(tmp_path / f"{synchronous}-{number}.db")
        with closing(apsw.Connection(path)) as connection:
            connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
        ran = subprocess.run(
            [sys.executable, "-c", COUNTING, path, synchronous, str(number), str(number)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        with closing(apsw.Connection(path)) as connection:
            try:
                there = [number for (number,) in connection.execute("SELECT number FROM numbers ORDER BY number")]
            except apsw.Error:
                there = []
        said = [int(line) for line in ran.stdout.split()]
        lost += there[: len(said)] != said
    assert bool(lost) is (synchronous == "OFF")


def test_a_server_is_named_by_its_address() -> None:
    assert tasks_for("postgresql://nobody@nowhere/x")[-1].name == "migrate to PostgreSQL"
    with pytest.raises(InvalidInput, match="takes a PostgreSQL address"):
        tasks_for("memory.db")


def test_a_copy_to_a_server_survives_its_kills_and_leaves_no_schema(postgres: Server) -> None:
    task = CopyToServer(postgres.dsn(), f"faults_{postgres.new_schema()}")
    row = run.disturb(task, 2, 0, random.Random(5), lambda done: None)
    assert row.ok, row.problems
    with postgres.connect() as connection:
        left = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'faults_%'").fetchall()
    assert left == []


def test_no_failing_disk_is_waited_for_where_none_is_written(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy to a server only reads its file, and goes on without an end."""
    copy = CopyToServer(postgres.dsn(), f"faults_{postgres.new_schema()}")
    monkeypatch.setattr(run, "tasks_for", lambda dsn: (Add(), copy))
    (row,) = run_faults(0, 2, dsn=postgres.dsn()).operations
    assert (row.operation, row.failures) == ("add", 2)
    assert row.ok, row.problems


def test_an_account_knows_what_is_sure() -> None:
    account = Account()
    cut_off = account.read(["ready", "begin 0", "done 0 0.25", "begin 1", "done 1 0.5", "begin 2"])
    assert (account.done, account.unsure, account.seconds, cut_off) == ([0, 1], [2], 0.5, 1)
    assert (account.next, account.possible) == (3, {1, 2})
    account.read(["ready", "begin 2", "done 2 0.1", "begin 3", "failed StoreError: it is full"])
    assert (account.done, account.unsure, account.possible) == ([0, 1, 2], [3], {2, 3})
    assert account.failures == ["StoreError: it is full"]


LOSSES: dict[str, tuple[Task, Account, Verdict]] = {
    "a memory is missing": (Add(), Account(done=[0]), Verdict(lost=2)),
    "half a batch": (Batch(), Account(unsure=[1]), Verdict(half_written=1)),
    "an update is undone": (Update(), Account(done=[5]), Verdict(lost=1)),
    "the mark is missing": (Supersede(), Account(unsure=[0]), Verdict(half_written=1)),
    "what was forgotten is there": (Forget(), Account(done=[2]), Verdict(lost=2)),
    "a forgotten source came back": (ForgottenSource(), Account(done=[0, 1], unsure=[2]), Verdict(lost=2)),
    "another backup than the last": (Restore(), Account(done=[0]), Verdict(lost=1)),
    "the embedder before": (Reembed(), Account(done=[1]), Verdict(lost=1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_lost_or_half_written_is_seen(loss: str, tmp_path: Path) -> None:
    task, account, verdict = LOSSES[loss]
    task.prepare(tmp_path)
    if not isinstance(task, Restore | Reembed):
        with opened(tmp_path) as engine:
            engine.remember_many(
                {"id": id, "content": f"{id} add2x"} for id in ("piece-1-3", "piece-2-0", "before-0", "after-0")
            )
    assert task.check(tmp_path, account) == verdict


def test_a_reinstate_that_was_lost_or_done_in_part_is_seen(tmp_path: Path) -> None:
    task = ForgottenSource()
    task.prepare(tmp_path)
    assert task.check(tmp_path, Account(done=[2, 3])) == Verdict()
    with opened(tmp_path) as engine:
        engine.forget("said-2-0")
        engine.forget("said-3-1")
    assert task.check(tmp_path, Account(done=[2])) == Verdict(lost=1)
    assert task.check(tmp_path, Account(unsure=[3])) == Verdict(half_written=1)


@pytest.mark.slow
def test_a_forgotten_source_stays_away_and_a_reinstated_one_comes_back_after_kills_and_failures() -> None:
    row = run.disturb(ForgottenSource(), 8, 16, random.Random(6), lambda done: None)
    assert row.ok, row.problems
    assert (row.kills, row.failures, row.clean) == (8, 16, 24)
    assert row.acknowledged > 8


def test_a_file_of_the_oldest_schema_has_the_memories_and_is_brought_up_to_date(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        ids = fill(engine, 5)
    make_oldest(store_of(tmp_path), tmp_path / "oldest.db")
    task = Upgrade()
    assert task.again
    with opened(tmp_path / "oldest.db") as engine:
        assert engine.stored_ids(sorted(ids)) == ids
    assert len(list(tmp_path.glob("oldest.db.v1.bak*"))) == 1
    assert migrations()[0][0] == 1


class Refusing(Copy):
    """A store that cannot be opened after the kill."""

    def check(self, folder: Path, account: Account) -> Verdict:
        raise StoreError("it cannot be read")


@pytest.mark.slow
def test_an_error_of_the_engine_is_a_problem_of_the_operation() -> None:
    row = run.disturb(Refusing(), 1, 0, random.Random(1), lambda done: None)
    assert row.problems == ("kill 1: StoreError: it cannot be read",)
    assert not row.ok


def test_names_differ() -> None:
    names = [task.name for task in (*WRITES, *MOVES)]
    assert len(set(names)) == len(names) == 17
