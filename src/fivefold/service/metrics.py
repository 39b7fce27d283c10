"""Figures for Prometheus at /metrics. Labels come from small fixed sets: never an id, a namespace or a text."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, values
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from fivefold import observers
from fivefold.errors import StoreError
from fivefold.observers import Write
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from fivefold.stores.interface import Store
from fivefold.values.recall import Recall
from fivefold.version import VERSION

SUMS = frozenset({"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"})
"""Figures of a process that are added up; of the others the least is shown."""


def count_in(folder: Path, number: int) -> None:
    """Counts in files of the folder, under the number of this process, from where the last one with it ended."""
    folder.mkdir(exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: number)  # type: ignore[no-untyped-call]
    folder.joinpath(f"{number}.pid").write_text(str(os.getpid()))


class WorkerProcesses(Collector):
    """Memory, processor time and open files of the workers and of their parent; shared memory counts once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        found: dict[str, list[float]] = defaultdict(list)
        about: dict[str, Metric] = {}
        workers = [int(file.read_text() or 0) for file in self._folder.glob("*.pid")]
        for pid in (os.getppid(), *workers):
            for metric in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                for sample in metric.samples:
                    about[sample.name] = metric
                    memory = _own_memory(pid) if sample.name == "process_resident_memory_bytes" else None
                    found[sample.name].append(sample.value if memory is None else memory)
        for name, numbers in found.items():
            kind = CounterMetricFamily if about[name].type == "counter" else GaugeMetricFamily
            yield kind(name, about[name].documentation, value=sum(numbers) if name in SUMS else min(numbers))


def _own_memory(pid: int) -> float | None:
    """The resident bytes of a process, with its share of shared pages; None if the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), None)


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """A request that has ended."""

    id: str
    method: str
    operation: str
    """The operation's name, or the template of its path."""
    status: int
    """0 if the client left before there was an answer."""
    seconds: float
    key_id: str | None
    path: str = ""
    body: str = ""
    """Path and body are empty unless contents are logged."""


class RequestObserver(Protocol):
    """Learns when a request begins and when it has ended."""

    def request_began(self) -> None: ...

    def request_ended(self, request: RequestSummary) -> None: ...


MEDIA_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"
REQUEST_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
STEP_S = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
"""Upper ends of the buckets, in seconds: a whole request or recall, and one step of a recall."""


class Metrics:
    """The figures of one server and its store; observes its requests and its engines."""

    def __init__(self, store: Store, folder: Path | None = None, number: int = 0) -> None:
        """With a folder the figures cover all processes of the server; this process has a number."""
        self.registry: CollectorRegistry = CollectorRegistry()
        self._store = store
        self._folder = folder
        if folder is None:
            ProcessCollector(registry=self.registry)
        else:
            count_in(folder, number)
        count, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        whole, step = (partial(Histogram, buckets=ends, registry=self.registry) for ends in (REQUEST_S, STEP_S))
        self._requests = count("fivefold_requests", "Requests answered", ["operation", "method", "status"])
        self._request_s = whole("fivefold_request_seconds", "Time of a request", ["operation"])
        self._in_flight = gauge("fivefold_requests_in_flight", "Requests not answered yet", multiprocess_mode="sum")
        self._in_flight.set(0)
        self._limited = count("fivefold_requests_limited", "Requests refused as too many")
        self._recall_s = whole("fivefold_recall_seconds", "Time of a recall", ["recipe"])
        self._stage_s = step("fivefold_recall_stage_seconds", "Time of a stage of a recall", ["stage"])
        self._route_s = step("fivefold_recall_route_seconds", "Time of a route of a recall", ["route", "status"])
        self._degraded = count("fivefold_recalls_degraded", "Recalls without a part that failed or was late", ["part"])
        self._writes = count("fivefold_writes", "Writes that have ended", ["operation", "outcome"])
        self._write_s = whole("fivefold_write_seconds", "Time of a write", ["operation"])
        self._queued = gauge("fivefold_queue_records", "Records that wait to be stored", multiprocess_mode="mostrecent")
        self._written = count("fivefold_memories_written", "Memories that were stored")
        built = gauge("fivefold_build_info", "Which fivefold this is", ["version"], multiprocess_mode="max")
        built.labels(VERSION).set(1)
        observers.add(self)

    def close(self) -> None:
        observers.remove(self)

    def request_began(self) -> None:
        self._in_flight.inc()

    def request_ended(self, request: RequestSummary) -> None:
        self._in_flight.dec()
        self._requests.labels(request.operation, request.method, request.status).inc()
        self._request_s.labels(request.operation).observe(request.seconds)
        if request.status == 429:
            self._limited.inc()

    def recalled(self, store: Store, recall: Recall, ended_ns: int) -> None:
        if store is not self._store:
            return
        known = _names()
        recipe = recall.plan.recipe if recall.plan.recipe in known else OTHER
        self._recall_s.labels(recipe).observe(sum(timing.ms for timing in recall.timings) / 1000)
        for timing in recall.timings:
            self._stage_s.labels(timing.stage).observe(timing.ms / 1000)
        for run in recall.routes:
            if run.status != "skipped":
                name = run.route if run.route in known else OTHER
                self._route_s.labels(name, run.status).observe(run.ms / 1000)
        for part in recall.degraded:
            self._degraded.labels(part if part in known else OTHER).inc()

    def wrote(self, store: Store, write: Write) -> None:
        if store is self._store:
            self._writes.labels(write.operation, "failed" if write.failed else "ok").inc()
            self._write_s.labels(write.operation).observe((write.ended_ns - write.began_ns) / 1e9)
            self._written.inc(write.stored)

    def text(self) -> bytes:
        """All figures, in the form that Prometheus reads."""
        with suppress(StoreError):  # while the store does not answer, the last figure stays
            self._queued.set(sum(length.records for length in self._store.queue.lengths()))
        registry = self.registry
        if self._folder is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, str(self._folder))  # type: ignore[no-untyped-call]
            registry.register(WorkerProcesses(self._folder))
        return generate_latest(registry)


@cache
def _names() -> frozenset[str]:
    """The shipped recipes with their routes and stages; all other names count as one."""
    recipes = [load_recipe(name) for name in known_recipes()]
    routes = {route.name for recipe in recipes for route in recipe.routes}
    stages = {stage.name for recipe in recipes for stage in (*recipe.boosts, *recipe.rerank, *recipe.select)}
    return frozenset({recipe.name for recipe in recipes} | routes | stages)
