"""Spans: the recall's own trace seen through OpenTelemetry, with nothing of what was said or asked."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.retrieval.routes import ROUTES
from fivefold.service import tracing
from tests.support.spans import recorded_spans
from tests.support.toy_engine import toy

pytestmark = pytest.mark.slow

SECRET = "The safe opens with 7719-Zebra"
QUESTION = "what opens the safe of Zebra?"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    with recorded_spans() as exporter:
        yield exporter


@pytest.fixture
def mem() -> Iterator[Engine]:
    with toy(":memory:", "Zebra's own") as engine:
        yield engine


def named(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    found = {span.name: span for span in exporter.get_finished_spans()}
    assert len(found) == len(exporter.get_finished_spans())
    return found


def ms(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1e6


def test_a_recall_is_a_span_with_one_for_each_stage_and_route(mem: Engine, spans: InMemorySpanExporter) -> None:
    mem.remember(SECRET)
    spans.clear()
    answer = mem.recall(QUESTION, recipe="default", overrides={"rerank.cross_encoder.on": False})
    found = named(spans)
    whole = found["fivefold recall"]
    assert whole.context is not None
    told = dict(whole.attributes or {})
    assert told["fivefold.recall.id"] == answer.id
    assert (told["fivefold.recall.recipe"], told["fivefold.recall.k"], told["fivefold.recall.hits"]) == (
        "default",
        10,
        1,
    )
    at = whole.start_time
    for timing in answer.timings:
        stage = found[f"fivefold {timing.stage}"]
        assert stage.parent is not None
        assert stage.parent.span_id == whole.context.span_id
        assert stage.start_time == at
        assert ms(stage) == pytest.approx(timing.ms, abs=0.001)
        at = stage.end_time
    ran = [run for run in answer.routes if run.status != "skipped"]
    assert ran
    assert {name for name in found if " route " in name} == {f"fivefold route {run.route}" for run in ran}
    for run in ran:
        route = found[f"fivefold route {run.route}"]
        retrieve = found["fivefold retrieve"]
        assert route.parent is not None
        assert retrieve.context is not None
        assert route.parent.span_id == retrieve.context.span_id
        assert route.start_time == retrieve.start_time
        assert ms(route) == pytest.approx(run.ms, abs=0.001)
        assert dict(route.attributes or {}) == {"fivefold.route.status": "hits", "fivefold.route.found": run.found}


def test_a_part_that_fails_is_an_error_without_its_words(
    mem: Engine, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem.remember(SECRET)

    def broken(*args: object) -> object:
        raise RuntimeError(f"cannot read {SECRET}")

    monkeypatch.setattr(type(ROUTES["lexical"]), "search", broken)
    answer = mem.recall(QUESTION)
    assert "lexical" in answer.degraded
    route = named(spans)["fivefold route lexical"]
    assert (route.status.status_code, route.status.description) == (StatusCode.ERROR, "failed")
    assert "lexical" in str(dict(named(spans)["fivefold recall"].attributes or {})["fivefold.recall.degraded"])
    holds_no_contents(spans)


def test_a_write_is_a_span(mem: Engine, spans: InMemorySpanExporter) -> None:
    mem.remember_many([SECRET, "Stand-up at ten"])
    with pytest.raises(NotFound):
        mem.forget(SECRET)
    found = named(spans)
    assert dict(found["fivefold remember_many"].attributes or {}) == {"fivefold.write.stored": 2}
    forgot = found["fivefold forget"]
    assert (forgot.status.status_code, forgot.status.description) == (StatusCode.ERROR, "NotFound")
    holds_no_contents(spans)


def holds_no_contents(exporter: InMemorySpanExporter) -> None:
    told = "\n".join(span.to_json() for span in exporter.get_finished_spans())
    for word in ("7719", "Zebra", "safe"):
        assert word not in told


def test_a_recall_lies_in_the_span_of_the_program(mem: Engine, spans: InMemorySpanExporter) -> None:
    tracer = tracing._instrumented[0].tracer
    with tracer.start_as_current_span("agent turn") as turn:
        mem.recall(QUESTION)
    whole = named(spans)["fivefold recall"]
    assert whole.parent is not None
    assert whole.parent.span_id == turn.get_span_context().span_id
    holds_no_contents(spans)


def test_nothing_is_told_before_or_after(mem: Engine, spans: InMemorySpanExporter) -> None:
    tracing.uninstrument()
    mem.remember(SECRET)
    mem.recall(QUESTION)
    assert spans.get_finished_spans() == ()


def test_sending_needs_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tracing.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InvalidInput, match=r"set OTEL_EXPORTER_OTLP_ENDPOINT, as in http"), tracing.exporting():
        pass
    assert tracing._instrumented == []


class Collector(BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.bodies.append(gzip.decompress(body) if (body := self._read())[:2] == b"\x1f\x8b" else body)
        self.send_response(200)
        self.end_headers()

    def _read(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def log_message(self, format: str, *args: Any) -> None: ...


def test_spans_go_to_the_place_that_is_set(mem: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with tracing.exporting():
            mem.remember(SECRET)
            mem.recall(QUESTION)
        server.shutdown()
    sent = b"".join(Collector.bodies)
    assert b"fivefold recall" in sent
    assert b"fivefold remember" in sent
    assert b"Zebra" not in sent


def test_the_library_needs_no_opentelemetry() -> None:
    child = "import sys; sys.modules['opentelemetry'] = None\nimport fivefold\nfivefold.open(':memory:').recall('x')\n"
    child += "try:\n    import fivefold.service.tracing\nexcept fivefold.MissingExtra as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
    assert "pip install 'fivefold[otel]'" in done.stdout
