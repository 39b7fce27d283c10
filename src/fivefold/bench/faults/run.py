"""The kills and failures: a process works until it is killed or its disk fails, and then the store is looked at."""

from __future__ import annotations

import logging
import os
import random
import select
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path
from time import monotonic, sleep

from fivefold.bench.faults.failing_disk import FailingDisk, Fault, FaultKind
from fivefold.bench.faults.journal import Account, EnoughDone, Journal
from fivefold.bench.faults.moves import MOVES, CopyToServer
from fivefold.bench.faults.report import FaultReport, OperationFaults, Tally
from fivefold.bench.faults.task import Task, Verdict
from fivefold.bench.faults.writes import WRITES
from fivefold.errors import FivefoldError, InvalidInput
from fivefold.stores import POSTGRES
from fivefold.text.progress import bar

MOST_BEFORE = 3
"""A process is killed in or after its first operation, or at most this many operations later."""

SPAN = 1.2
"""The kill comes at any time within so much of an operation's time, counted from the last that it waits for."""

LEAST_S = 0.003
"""The shortest such time."""

EARLY = 0.1
"""The share of kills that are counted from the start of the process, and so may hit the opening of the store."""

EARLY_S = 0.05
"""How late these come at most."""

COUNTED = 4
"""After that many operations of the engine it is known how often these write, sync and truncate."""

KINDS: tuple[FaultKind, ...] = ("error", "full", "power", "power")
"""The ways in which a disk fails, by chance."""

PATIENCE_S = 60.0
"""How long a process may take for one operation."""


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
    """All operations; the copy to a server where one is named."""
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
        span = max(SPAN * account.seconds, LEAST_S)
        moment = Moment(chance.randint(0, MOST_BEFORE), chance.uniform(0, span))
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
    """When a process is killed: so long after it began its operation of that number, or after its start."""

    done: int | None
    delay_s: float


def _killed(task: Task, folder: Path, start: int, moment: Moment) -> list[str]:
    """What a process said that worked until it was killed."""
    context = _context()
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, folder, start, writer))
    process.start()
    writer.close()
    said = b""
    try:
        if moment.done is not None:
            said = _await(reader, moment.done)
        sleep(moment.delay_s)
    finally:
        process.kill()
        process.join()
    with reader:
        while part := os.read(reader.fileno(), 65_536):
            said += part
    return said.decode().splitlines()


def _failed(task: Task, folder: Path, start: int, fault: Fault) -> list[str]:
    """What a process said whose disk failed; it ends by itself, or by the loss of power."""
    context = _context()
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_work_until_failure, args=(task, folder, start, writer, fault))
    process.start()
    writer.close()
    said = b""
    try:
        while select.select([reader], [], [], PATIENCE_S)[0] and (part := os.read(reader.fileno(), 65_536)):
            said += part
    finally:
        process.kill()
        process.join()
        reader.close()
    return said.decode().splitlines()


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


def _work(task: Task, folder: Path, start: int, writer: Connection[str, str]) -> None:
    """In the process that is killed."""
    journal = Journal(writer.fileno())
    try:
        task.work(folder, start, journal)
    except Exception as error:
        journal.failed(error)


def _work_until_failure(task: Task, folder: Path, start: int, writer: Connection[str, str], fault: Fault) -> None:
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
    """Processes that are forked from one that has imported everything and has opened nothing, where there are such."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, "fivefold.bench.faults.warm"])
    return context
