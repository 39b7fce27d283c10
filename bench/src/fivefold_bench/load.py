"""Many clients at once on a server, reading and writing: how fast it answers, and that nothing it confirmed is lost."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import Request, urlopen

import numpy as np

import fivefold
from fivefold import sample
from fivefold.errors import FivefoldError
from fivefold.text.display import bar
from fivefold.values.recall_trace import Effort
from fivefold.values.serialize import Value
from fivefold.values.times import new_id
from fivefold_bench.load_client import (
    Account,
    Client,
    EngineApi,
    HttpApi,
    LoadApi,
    OperationFailure,
    meet,
    meet_at,
    run_client,
)

# The server under load: a new one in its own process, or one that is already running.

STOP_S = 60


class ServerFailed(FivefoldError):
    """The server did not start, or did not stop in good order."""


@dataclass(frozen=True, slots=True)
class Target:
    """The address that the clients ask."""

    url: str
    key: str | None = None

    def memory_mb(self) -> float | None:
        """The memory of the server's processes by its own metrics, if they can be read."""
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            with urlopen(Request(f"{self.url}/metrics", headers=headers), timeout=30) as answer:
                metrics = answer.read().decode()
        except (URLError, OSError):
            return None
        match = re.search(r"^process_resident_memory_bytes (\S+)$", metrics, re.MULTILINE)
        return round(float(match[1]) / 1e6, 1) if match else None


@contextmanager
def serving(location: str, embedder: str | None, workers: int = 1) -> Iterator[Target]:
    """A real `fivefold serve` on a free port of this machine; stopped at the end, which must go well."""
    fixed = "--port 0 --rate 0 --maintain 0 --log-level error --json".split()
    chosen = ["--store", location, "--workers", str(workers), *(["--embedder", embedder] if embedder else [])]
    command = [sys.executable, "-m", "fivefold", "serve", *fixed, *chosen]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line.startswith('{"url"'):
                raise ServerFailed(f"the server did not start: {_why(line + process.stdout.read(), errors)}")
            yield Target(json.loads(line)["url"])
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            code = _exit_code(process)
            process.stdout.close()
        if code != 0:
            raise ServerFailed(f"the server ended with code {code}: {_why('', errors)}")


def _exit_code(process: subprocess.Popen[str]) -> int:
    """The exit code of a process; one that does not end is killed, so that no process stays behind."""
    try:
        return process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise ServerFailed(f"the server did not stop within {STOP_S} s and was killed") from None


def _why(output: str, errors: IO[str]) -> str:
    """The error message the server ended with, or the end of its output."""
    try:
        return str(json.loads(output)["error"]["message"])
    except (ValueError, LookupError):
        errors.seek(0)
        return (output + errors.read()).strip()[-500:]


NAMESPACE = "bench-load"
BEGIN_S = 0.2
"""Time between the signal to all clients and their begin."""

_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Load:
    """The number of clients and how long they run. Without `url` and `store`, a server starts on a new file."""

    clients: int
    seconds: float
    mix: Mapping[str, int]
    url: str | None = None
    key: str | None = None
    store: str | None = None
    embedder: str | None = None
    workers: int = 1
    """Processes of the server; with more than one, a server of one process is measured first."""
    recipe: str = "default"
    """The recipe of the recalls."""
    effort: Effort = "normal"

    @property
    def alone_s(self) -> float:
        """Time for which each baseline is measured."""
        return max(0.5, self.seconds / 6)


@dataclass(frozen=True, slots=True)
class Figure(Value):
    """Time of one operation for one kind of client."""

    who: str
    operation: str
    count: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    most_ms: float


@dataclass(frozen=True, slots=True)
class LoadReport(Value):
    """The result of a load."""

    clients: int
    seconds: float
    requests: int
    per_second: float
    errors: int
    written: int
    """Memories whose writing was confirmed and that were not forgotten since."""
    lost: int
    """Those of them that are missing."""
    returned: int
    """Forgotten memories that are there again."""
    too_late: int
    """Feedback that was refused, as it should be, since a memory of its recall had been forgotten."""
    memory_before_mb: float | None
    memory_after_mb: float | None
    figures: tuple[Figure, ...]
    failures: tuple[str, ...]
    """The first few errors."""

    @property
    def ok(self) -> bool:
        return self.errors == self.lost == self.returned == 0


def run_load(load: Load, progress: bool = False) -> LoadReport:
    """The operations through the library, then by one client alone, then by all clients at once; then the account."""
    name = f"load-{new_id()}"
    with tempfile.TemporaryDirectory(prefix="fivefold-load-") as folder:
        figures: list[Figure] = []
        location = load.store or str(Path(folder) / "served.db")
        own = load.url is None and load.store is None
        if own:
            with fivefold.open(location, namespace=NAMESPACE, embedder=load.embedder) as engine:
                engine.remember_many(sample.memories())
            figures += _in_library(location, load, name, progress)
            if load.workers > 1:
                figures += _by_one_worker(location, load, name, progress)
        with _target(load, location) as target:
            figures += _alone(target, load, name, progress)
            before = target.memory_mb()
            with _clients(load.clients) as pool:
                account = _together(pool, target, load, name, progress)
            after = target.memory_mb()
            with closing(_api(target, load)) as api:
                there = _ids(api)
        if own:  # once more from the file, after the server has gone
            with fivefold.open(location, namespace=NAMESPACE) as engine:
                there &= _ids(EngineApi(engine))
    return _result(load, account, there, (before, after), figures)


@contextmanager
def _target(load: Load, location: str) -> Iterator[Target]:
    try:
        if load.url is not None:
            yield Target(load.url.rstrip("/"), load.key)
            return
        with serving(location, load.embedder, load.workers) as target:
            yield target
    except OperationFailure as error:
        raise ServerFailed(f"{(load.url or 'the server').rstrip('/')} does not answer as it should: {error}") from None


def _in_library(location: str, load: Load, name: str, progress: bool) -> list[Figure]:
    """The first baseline: the engine in this process, on a copy of the file."""
    copy = shutil.copy(location, f"{location}.copy")
    with fivefold.open(copy, namespace=NAMESPACE) as engine:
        engine.recall(sample.questions()[0].query)
        client = Client(EngineApi(engine, load.recipe, load.effort), f"{name}-library", load.mix, seed=1)
        with bar("The library, in this process", 1, show=progress) as advance:
            account = client.work(time.time(), time.time() + load.alone_s)
            advance(1)
    return _figures("library", account, load.alone_s)


def _by_one_worker(location: str, load: Load, name: str, progress: bool) -> list[Figure]:
    """The baseline of a server with several processes: the same clients on one process, on a copy of the file."""
    copy = shutil.copy(location, f"{location}.one")
    with serving(copy, load.embedder) as target, closing(_api(target, load)) as api:
        api.recall(sample.questions()[0].query)
        with _clients(load.clients) as pool:
            account = _together(pool, target, load, f"{name}-one", progress)
    return _figures(f"{load.clients} clients, 1 worker", account, load.seconds)


def _api(target: Target, load: Load) -> HttpApi:
    return HttpApi(target.url, NAMESPACE, target.key, load.recipe, load.effort)


def _alone(target: Target, load: Load, name: str, progress: bool) -> list[Figure]:
    """The second baseline: one client alone on a server that has loaded its models."""
    with closing(_api(target, load)) as api:
        api.recall(sample.questions()[0].query)
        with bar("One client alone", 1, show=progress) as advance:
            begin = time.time()
            account = Client(api, f"{name}-alone", load.mix, seed=2).work(begin, begin + load.alone_s)
            advance(1)
    return _figures("1 client", account, load.alone_s)


@contextmanager
def _clients(count: int) -> Iterator[ProcessPoolExecutor]:
    """A process for each client, all of them up."""
    spawn = get_context("spawn")
    with ProcessPoolExecutor(count, spawn, meet_at, (spawn.Barrier(count),)) as pool:
        for met in [pool.submit(meet) for _ in range(count)]:
            met.result()
        yield pool


def _together(pool: ProcessPoolExecutor, target: Target, load: Load, name: str, progress: bool) -> Account:
    begin = time.time() + BEGIN_S
    end = begin + load.seconds
    under_way: list[Future[Account]] = [
        pool.submit(run_client, partial(_api, target, load), f"{name}-{n}", load.mix, 10 + n, begin, end)
        for n in range(load.clients)
    ]
    with bar(f"{load.clients} clients at once", round(load.seconds), show=progress) as advance:
        while wait(under_way, timeout=1).not_done:
            advance(1)
    whole = Account()
    for client in under_way:
        whole.add(client.result())
    return whole


def _ids(api: LoadApi) -> set[str]:
    """The ids of all memories of the namespace."""
    ids, cursor = api.page(limit=_PAGE)
    known = set(ids)
    while cursor is not None:
        ids, cursor = api.page(cursor, _PAGE)
        known.update(ids)
    return known


def _result(
    load: Load, account: Account, there: set[str], memory: tuple[float | None, float | None], figures: list[Figure]
) -> LoadReport:
    expected = account.written - account.forgotten - account.unsure
    who = f"{load.clients} clients" + (f", {load.workers} workers" if load.workers > 1 else "")
    return LoadReport(
        load.clients,
        load.seconds,
        account.requests,
        round(account.requests / load.seconds, 1),
        len(account.failures),
        len(expected),
        len(expected - there),
        len((account.forgotten - account.unsure) & there),
        account.too_late,
        *memory,
        (*figures, *_figures(who, account, load.seconds)),
        tuple(account.failures[:5]),
    )


def _figures(who: str, account: Account, seconds: float) -> list[Figure]:
    """Each operation, and all together."""
    every = [one for times in account.times.values() for one in times]
    rows = {**dict(sorted(account.times.items())), "all": every}
    found = []
    for operation, times in rows.items():
        if times:
            spread = (round(float(value), 2) for value in np.percentile(times, [50, 95, 99, 100]))
            found.append(Figure(who, operation, len(times), round(len(times) / seconds, 1), *spread))
    return found
