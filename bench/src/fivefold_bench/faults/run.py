"""The kills and failures: a process works until it is killed or its disk fails, and then the store is looked at."""

from __future__ import annotations

import logging
import os
import random
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Literal

import apsw

from fivefold.errors import FivefoldError, InvalidInput
from fivefold.stores import POSTGRES
from fivefold.text.display import bar
from fivefold.values.serialize import Value
from fivefold_bench.faults.operations import MOVES, WRITES, CopyToServer
from fivefold_bench.faults.task import Account, EnoughDone, Journal, Task, Verdict

# What the kills and the failures of each operation came to.

MAX_PROBLEMS = 10
"""Maximum number of problems shown."""


@dataclass(frozen=True, slots=True)
class OperationFaults(Value):
    """The kills and the failures of one operation."""

    operation: str
    kills: int
    failures: int
    """Disks that failed once: by an error, for want of room or by a loss of power."""
    acknowledged: int
    """Operations that had returned before the kill."""
    cut_off: int
    """Operations that had begun and had not returned."""
    lost: int
    """Acknowledged operations that were not there after a kill."""
    half_written: int
    """Operations that were there in part after a kill."""
    clean: int
    """Kills and failures after which the doctor found nothing wrong."""
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, int, int, int, int, int, int]:
        return self.kills, self.failures, self.acknowledged, self.cut_off, self.lost, self.half_written, self.clean

    @property
    def ok(self) -> bool:
        return not (self.lost or self.half_written or self.problems) and self.clean == self.kills + self.failures


@dataclass(frozen=True, slots=True)
class FaultReport(Value):
    """The kills and the failures of all operations."""

    kills: int
    failures: int
    seed: int
    seconds: float
    operations: tuple[OperationFaults, ...]

    @property
    def total(self) -> OperationFaults:
        """All operations together."""
        rows = self.operations
        problems = [f"{row.operation}: {problem}" for row in rows for problem in row.problems]
        kills, failures, acknowledged, cut_off, lost, half_written, clean = (
            sum(row.counts[place] for row in rows) for place in range(7)
        )
        sums = (kills, failures, acknowledged, cut_off, lost, half_written, clean)
        return OperationFaults("all", *sums, tuple(problems[:MAX_PROBLEMS]))

    @property
    def ok(self) -> bool:
        """True if nothing was lost or half-written, and every store was sound."""
        return all(row.ok for row in self.operations)


@dataclass(slots=True)
class Tally:
    """The kills and the failures of one operation so far."""

    account: Account = field(default_factory=Account)
    kills: int = 0
    failures: int = 0
    cut_off: int = 0
    lost: int = 0
    half_written: int = 0
    clean: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, verdict: Verdict, *, killed: bool = True) -> None:
        """Count one look after a kill or a failure."""
        self.kills += killed
        self.failures += not killed
        self.lost += verdict.lost
        self.half_written += verdict.half_written
        self.clean += not verdict.findings
        what = f"kill {self.kills}" if killed else f"failure {self.failures}"
        self.problems += [f"{what}: {finding}" for finding in verdict.findings]

    def result(self, operation: str) -> OperationFaults:
        return OperationFaults(
            operation,
            self.kills,
            self.failures,
            len(self.account.done),
            self.cut_off,
            self.lost,
            self.half_written,
            self.clean,
            (*self.account.failures, *self.problems)[:MAX_PROBLEMS],
        )


# A disk that fails once: SQLite's own file system, with an error or a loss of power at one operation.

FaultKind = Literal["error", "full", "power"]

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The operation that fails, counted from 1 over the writes, syncs and truncations of a process; 0 for none."""

    kind: FaultKind
    number: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Change:
    """A write, or a truncation without data, with what it replaced."""

    offset: int
    data: bytes
    before: bytes
    size: int


class FailingDisk(apsw.VFS):
    """The file system of every connection that is opened while it is there."""

    def __init__(self, fault: Fault) -> None:
        super().__init__("failing-disk", "unix", makedefault=True)
        self._fault = fault
        self.operations = 0
        self._unsynced: dict[str, list[_Change]] = {}

    @property
    def has_failed(self) -> bool:
        return 0 < self._fault.number <= self.operations

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    def begin(self, what: Literal["write", "sync", "truncate"]) -> None:
        """Count an operation; the one that is to fail raises."""
        self.operations += 1
        if self.operations == self._fault.number and self._fault.kind != "power":
            raise apsw.FullError("no room") if self._fault.kind == "full" and what == "write" else apsw.IOError(what)

    def end(self) -> None:
        """After an operation: the power may go."""
        if self.operations == self._fault.number and self._fault.kind == "power":
            self._cut_power()

    def note(self, path: str, change: _Change) -> None:
        self._unsynced.setdefault(path, []).append(change)

    def note_sync(self, path: str) -> None:
        self._unsynced.pop(path, None)

    def _cut_power(self) -> None:
        chance = random.Random(self._fault.seed)
        for path, changes in self._unsynced.items():
            if os.path.exists(path):
                file = os.open(path, os.O_RDWR)
                for change in reversed(changes):
                    os.pwrite(file, change.before, change.offset)
                    os.ftruncate(file, change.size)
                for change in changes:
                    _apply_by_chance(file, change, chance)
                os.close(file)
        os.kill(os.getpid(), signal.SIGKILL)


def _apply_by_chance(file: int, change: _Change, chance: random.Random) -> None:
    """Do a change whole, in part or not at all."""
    part = chance.choice((0.0, chance.random(), 1.0))
    if not change.data:
        os.ftruncate(file, change.offset if part == 1 else os.fstat(file).st_size)
        return
    length = len(change.data) if part == 1 else int(part * len(change.data)) // SECTOR * SECTOR
    os.pwrite(file, change.data[:length], change.offset)


class _File(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""

    def xWrite(self, data: bytes, offset: int) -> None:
        self._change("write", offset, bytes(data), lambda: super(_File, self).xWrite(data, offset))

    def xTruncate(self, newsize: int) -> None:
        self._change("truncate", newsize, b"", lambda: super(_File, self).xTruncate(newsize))

    def xSync(self, flags: int) -> None:
        self._disk.begin("sync")
        super().xSync(flags)
        self._disk.note_sync(self._path)
        self._disk.end()

    def _change(self, what: Literal["write", "truncate"], offset: int, data: bytes, change: Callable[[], None]) -> None:
        self._disk.begin(what)
        size = self.xFileSize()
        length = min(len(data), size - offset) if data else size - offset
        before = self.xRead(length, offset) if length > 0 else b""
        change()
        self._disk.note(self._path, _Change(offset, data, before, size))
        self._disk.end()


MAX_BEFORE = 3
"""A process is killed in or after its first operation, or at most this many operations later."""

SPAN = 1.2
"""The kill comes at any time within so much of an operation's time, counted from the last that it waits for."""

MIN_SPAN_S = 0.003
"""The shortest such time."""

EARLY = 0.1
"""The share of kills that are counted from the start of the process, and so may hit the opening of the store."""

EARLY_S = 0.05
"""Maximum delay of an early kill."""

COUNTED = 4
"""After that many operations of the engine it is known how often these write, sync and truncate."""

KINDS: tuple[FaultKind, ...] = ("error", "full", "power", "power")
"""The ways in which a disk fails, by chance."""

PATIENCE_S = 60.0
"""Maximum time of a process for one operation."""


def run_faults(
    kills: int, failures: int = 0, seed: int = 0, dsn: str | None = None, progress: bool = False
) -> FaultReport:
    """Kill processes and let disks fail in all operations, the same number in each, on stores in a temporary folder.

    The copy to a server is only killed: it writes to no disk that could fail here.
    """
    tasks = tasks_for(dsn)
    on_disk = [task for task in tasks if task.writes_files]
    start = monotonic()
    with bar("Killing processes, failing disks", kills + failures, show=progress) as advance:
        rows = [
            disturb(
                task,
                len(range(place, kills, len(tasks))),
                len(range(on_disk.index(task), failures, len(on_disk))) if task in on_disk else 0,
                random.Random(f"{seed} {task.name}"),
                advance,
            )
            for place, task in enumerate(tasks)
        ]
    seconds = round(monotonic() - start, 1)
    return FaultReport(kills, failures, seed, seconds, tuple(row for row in rows if row.kills + row.failures))


def tasks_for(dsn: str | None) -> Sequence[Task]:
    """All operations; the copy to a server if one is named."""
    if dsn is None:
        return (*WRITES, *MOVES)
    if not dsn.startswith(POSTGRES):
        raise InvalidInput(
            f"takes a PostgreSQL address such as postgresql://user@host/database, not {dsn!r}", field="dsn"
        )
    return (*WRITES, *MOVES, CopyToServer(dsn, f"fivefold_faults_{os.getpid()}_{random.randrange(1 << 30)}"))


def disturb(
    task: Task, kills: int, failures: int, chance: random.Random, advance: Callable[[int], None]
) -> OperationFaults:
    """One operation: the store and what was said about it stay the same from kill to kill, failure to failure."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="fivefold-faults-") as place:
        folder = Path(place)
        try:
            if kills + failures:
                task.prepare(folder)
            for _ in range(kills):
                _kill_once(task, folder, tally, chance)
                advance(1)
            for failure in range(failures):
                _fail_once(task, folder, tally, failure / failures, chance)
                advance(1)
        finally:
            if kills + failures:
                task.clean_up(folder)
    return tally.result(task.name)


def _kill_once(task: Task, folder: Path, tally: Tally, chance: random.Random) -> None:
    account = tally.account
    if chance.random() < EARLY:
        moment = Moment(None, chance.uniform(0, EARLY_S))
    else:
        span = max(SPAN * account.seconds, MIN_SPAN_S)
        moment = Moment(chance.randint(0, MAX_BEFORE), chance.uniform(0, span))
    tally.cut_off += account.read(_killed(task, folder, _start(task, account), moment))
    tally.add(_looked_at(task, folder, account))


def _fail_once(task: Task, folder: Path, tally: Tally, share: float, chance: random.Random) -> None:
    """The disk fails at an operation, from the first one on over all that a few operations of the engine take."""
    account = tally.account
    if not account.operations:
        account.read(_failed(task, folder, _start(task, account), Fault("error", 0)))
    fault = Fault(chance.choice(KINDS), 1 + int(share * account.operations), chance.randrange(1 << 30))
    tally.cut_off += account.read(_failed(task, folder, _start(task, account), fault))
    tally.add(_looked_at(task, folder, account), killed=False)


def _start(task: Task, account: Account) -> int:
    """The number of the operation that a process begins with."""
    return account.unsure[0] if task.again and account.unsure else account.next


def _looked_at(task: Task, folder: Path, account: Account) -> Verdict:
    try:
        return task.check(folder, account)
    except FivefoldError as error:
        return Verdict(findings=(f"{type(error).__name__}: {error}",))


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment at which a process is killed: so long after it began its operation of that number, or after its
    start."""

    done: int | None
    delay_s: float


def _killed(task: Task, folder: Path, start: int, moment: Moment) -> list[str]:
    """The messages of a process that worked until it was killed."""
    said = b""
    with _started(_work, task, folder, start) as (reader, process):
        if moment.done is not None:
            said = _await(reader, moment.done)
        sleep(moment.delay_s)
        process.kill()
        while part := os.read(reader.fileno(), 65_536):
            said += part
    return said.decode().splitlines()


def _failed(task: Task, folder: Path, start: int, fault: Fault) -> list[str]:
    """The messages of a process whose disk failed; it ends by itself, or by the loss of power."""
    said = b""
    with _started(_work_until_failure, task, folder, start, fault) as (reader, _):
        while select.select([reader], [], [], PATIENCE_S)[0] and (part := os.read(reader.fileno(), 65_536)):
            said += part
    return said.decode().splitlines()


@contextmanager
def _started(work: Callable[..., None], *arguments: object) -> Iterator[tuple[Connection[str, str], BaseProcess]]:
    """A process and the pipe into which it writes; at the end it is killed."""
    context = _context()
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(writer, *arguments))
    process.start()
    writer.close()
    try:
        yield reader, process
    finally:
        process.kill()
        process.join()
        reader.close()


def _await(reader: Connection[str, str], done: int) -> bytes:
    """Wait until the process has opened its store and acknowledged this number of operations, or has ended."""
    said = b""
    while said.count(b"done ") < done or b"begin " not in said:
        ready, _, _ = select.select([reader], [], [], PATIENCE_S)
        part = os.read(reader.fileno(), 65_536) if ready else b""
        if not part:
            break
        said += part
    return said


def _work(writer: Connection[str, str], task: Task, folder: Path, start: int) -> None:
    """In the process that is killed."""
    journal = Journal(writer.fileno())
    try:
        task.work(folder, start, journal)
    except Exception as error:
        journal.failed(error)


def _work_until_failure(writer: Connection[str, str], task: Task, folder: Path, start: int, fault: Fault) -> None:
    """In the process whose disk fails; without a fault it counts what a few operations take."""
    disk = FailingDisk(fault)
    journal = Journal(writer.fileno(), lambda done: disk.has_failed if fault.number else done >= COUNTED)
    sys.unraisablehook = lambda _: None  # SQLite also writes where no one awaits an error
    sys.excepthook = lambda *_: None
    logging.disable()
    try:
        task.work(folder, start, journal)
    except EnoughDone:
        pass
    except Exception as error:
        if not (disk.has_failed and isinstance(error, FivefoldError)):
            journal.failed(error)
    journal.disk(disk.operations)
    os._exit(0)


def _context() -> ForkServerContext | SpawnContext:
    """A source of processes that are forked from one that has imported everything and has opened nothing, if the system
    has such."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, "fivefold_bench.faults.warm"])
    return context
