"""A server that sends spans: a recall lies within its request, and nothing that was said goes along."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.shell import process
from tests.support.web_server import Served

pytestmark = pytest.mark.slow


class Collector(HTTPServer):
    """Takes spans in, on a free port of this machine."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.bodies: list[bytes] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def spans(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found |= {span.name: span for scope in resource.scope_spans for span in scope.spans}
        return found


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Collector)
        self.server.bodies.append(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


def test_the_spans_of_a_request_are_one_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
        with Served(str(tmp_path / "store.db"), "--otel", "--embedder", "wordllama") as server:
            space = "/v1/namespaces/Ostrava"
            server.client.post(f"{space}/memories", json={"content": "The safe opens with 7719-Zebra"})
            server.client.post(f"{space}/recall", json={"question": "what opens the safe?", "k": 1})
        collector.shutdown()
    found = collector.spans()
    for name, within in (("fivefold recall", "POST recall"), ("fivefold remember", "POST remember")):
        assert found[name].parent_span_id == found[within].span_id
        assert found[name].trace_id == found[within].trace_id
    assert found["fivefold retrieve"].parent_span_id == found["fivefold recall"].span_id
    assert found["fivefold route lexical"].parent_span_id == found["fivefold retrieve"].span_id
    sent = b"".join(collector.bodies)
    for word in (b"Zebra", b"safe", b"Ostrava"):
        assert word not in sent


def test_without_a_place_for_spans_it_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    ran = process("serve", "--otel", "--port", "0", folder=str(tmp_path))
    assert ran.code == 1
    assert "set OTEL_EXPORTER_OTLP_ENDPOINT, as in" in ran.err
