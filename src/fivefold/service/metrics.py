"""Figures for Prometheus at /metrics. Labels come from small fixed sets: never an id, a namespace or a text."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from fivefold import observers
from fivefold.errors import StoreError
from fivefold.observers import Write
from fivefold.retrieval.recipe_file import known_recipes, load_recipe
from fivefold.service.request_observers import RequestSummary
from fivefold.service.worker_figures import count_in, sums_of
from fivefold.stores.protocol import Store
from fivefold.values.recall import Recall
from fivefold.version import VERSION

MEDIA_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"
REQUEST_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
STEP_S = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
"""Upper ends of the buckets, in seconds: a whole request or recall, and one step of a recall."""


class Metrics:
    """The figures of one server and its store; observes its requests and its engines."""

    def __init__(self, store: Store, folder: Path | None = None, number: int = 0) -> None:
        """With a folder the figures are those of all processes of the server, of which this is one with a number."""
        self.registry = CollectorRegistry()
        self._store = store
        self._folder = folder
        if folder is None:
            ProcessCollector(registry=self.registry)
        else:
            count_in(folder, number)
        self._count_requests(self.registry)
        self._count_recalls_and_writes(self.registry)
        built = Gauge(
            "fivefold_build_info",
            "Which fivefold this is",
            ["version"],
            registry=self.registry,
            multiprocess_mode="max",
        )
        built.labels(VERSION).set(1)
        observers.add(self)

    def close(self) -> None:
        observers.remove(self)

    def _count_requests(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "fivefold_requests", "Requests answered", ["operation", "method", "status"], registry=registry
        )
        self._request_s = Histogram(
            "fivefold_request_seconds", "Time of a request", ["operation"], buckets=REQUEST_S, registry=registry
        )
        self._in_flight = Gauge(
            "fivefold_requests_in_flight", "Requests not answered yet", registry=registry, multiprocess_mode="sum"
        )
        self._in_flight.set(0)
        self._limited = Counter("fivefold_requests_limited", "Requests refused as too many", registry=registry)

    def _count_recalls_and_writes(self, registry: CollectorRegistry) -> None:
        self._recall_s = Histogram(
            "fivefold_recall_seconds", "Time of a recall", ["recipe"], buckets=REQUEST_S, registry=registry
        )
        self._stage_s = Histogram(
            "fivefold_recall_stage_seconds", "Time of a stage of a recall", ["stage"], buckets=STEP_S, registry=registry
        )
        self._route_s = Histogram(
            "fivefold_recall_route_seconds",
            "Time of a route of a recall",
            ["route", "status"],
            buckets=STEP_S,
            registry=registry,
        )
        self._degraded = Counter(
            "fivefold_recalls_degraded", "Recalls without a part that failed or was late", ["part"], registry=registry
        )
        self._writes = Counter("fivefold_writes", "Writes that have ended", ["operation", "outcome"], registry=registry)
        self._write_s = Histogram(
            "fivefold_write_seconds", "Time of a write", ["operation"], buckets=REQUEST_S, registry=registry
        )
        self._queued = Gauge(
            "fivefold_queue_records",
            "Records that wait to be stored",
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        self._written = Counter("fivefold_memories_written", "Memories that were stored", registry=registry)

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
        return generate_latest(self.registry if self._folder is None else sums_of(self._folder))


@cache
def _names() -> frozenset[str]:
    """The shipped recipes with their routes and stages; all other names count as one."""
    recipes = [load_recipe(name) for name in known_recipes()]
    routes = {route.name for recipe in recipes for route in recipe.routes}
    stages = {stage.name for recipe in recipes for stage in (*recipe.boosts, *recipe.rerank, *recipe.select)}
    return frozenset({recipe.name for recipe in recipes} | routes | stages)
