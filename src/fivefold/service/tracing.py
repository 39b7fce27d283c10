"""OpenTelemetry spans of recalls and writes; off by default.

The spans of a recall are a view of its own trace: when its stages and routes began is worked out from how long they
took. They contain names, counts and times, and no questions, memories or namespaces.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fivefold import observers
from fivefold.errors import InvalidInput, MissingExtra
from fivefold.observers import Write

try:
    from opentelemetry import trace
    from opentelemetry.trace import Status, StatusCode
except ImportError:
    raise MissingExtra("OpenTelemetry", "otel") from None

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

    from fivefold.stores.interface import Store
    from fivefold.values.recall import Recall
    from fivefold.values.recall_trace import RouteRun

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Environment variables with the address that spans are sent to."""

_instrumented: list[Spans] = []


def instrument(tracer_provider: TracerProvider | None = None) -> None:
    """Make a span for every recall and write from now on, with the provider given or the one of the program."""
    uninstrument()
    provider = tracer_provider or trace.get_tracer_provider()
    from fivefold.version import VERSION

    spans = Spans(provider.get_tracer("fivefold", VERSION))
    _instrumented.append(spans)
    observers.add(spans)


def uninstrument() -> None:
    """Make no more spans."""
    while _instrumented:
        observers.remove(_instrumented.pop())


def current_tracer() -> Tracer | None:
    """The tracer that makes spans now; None while nothing is instrumented."""
    return _instrumented[0].tracer if _instrumented else None


@contextmanager
def exporting() -> Iterator[None]:
    """Send spans to the endpoint that the environment names; the rest is sent at the end."""
    if not any(os.environ.get(name) for name in ENDPOINTS):
        raise InvalidInput(f"spans need an address; set {ENDPOINTS[0]}, as in http://localhost:4318")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingExtra("sending spans", "otel") from None
    resource = Resource({SERVICE_NAME: "fivefold"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    instrument(provider)
    try:
        yield
    finally:
        uninstrument()
        provider.shutdown()


class Spans:
    """Makes spans of what it observes."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def recalled(self, store: Store, recall: Recall, ended_ns: int) -> None:
        at = ended_ns - _ns(sum(timing.ms for timing in recall.timings))
        attributes: dict[str, Any] = {
            "fivefold.recall.id": recall.id,
            "fivefold.recall.recipe": recall.plan.recipe,
            "fivefold.recall.k": recall.plan.k,
            "fivefold.recall.hits": len(recall.hits),
            "fivefold.recall.dropped": len(recall.dropped),
            "fivefold.recall.degraded": recall.degraded,
        }
        root = self.tracer.start_span("fivefold recall", start_time=at, attributes=attributes)
        failures = {note.stage for note in recall.notes if note.status == "failed"}
        for timing in recall.timings:
            stage = self._within(root, f"fivefold {timing.stage}", at)
            if timing.stage == "retrieve":
                for run in recall.routes:
                    self._route(stage, run, at)
            if timing.stage == "rerank" and failures:
                _fail(stage, ", ".join(sorted(failures)))
            at += _ns(timing.ms)
            stage.end(at)
        root.end(ended_ns)

    def _route(self, stage: Span, run: RouteRun, began: int) -> None:
        if run.status == "skipped":
            return
        span = self._within(stage, f"fivefold route {run.route}", began)
        span.set_attributes({"fivefold.route.status": run.status, "fivefold.route.found": run.found})
        if run.status != "hits":
            _fail(span, run.status)
        span.end(began + _ns(run.ms))

    def wrote(self, store: Store, write: Write) -> None:
        span = self.tracer.start_span(f"fivefold {write.operation}", start_time=write.began_ns)
        span.set_attribute("fivefold.write.stored", write.stored)
        if write.failed:
            _fail(span, write.failed)
        span.end(write.ended_ns)

    def _within(self, parent: Span, name: str, began: int) -> Span:
        return self.tracer.start_span(name, trace.set_span_in_context(parent), start_time=began)


def _fail(span: Span, what: str) -> None:
    span.set_status(Status(StatusCode.ERROR, what))


def _ns(ms: float) -> int:
    return round(ms * 1_000_000)
