"""A span around each request, in the trace of its caller."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from fivefold.engine import Engine
from fivefold.web.request_log import TracedRequests
from tests.support.spans import recorded_spans
from tests.support.toy_engine import toy

pytestmark = pytest.mark.slow

QUESTION = "what opens the safe of Zebra?"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    with recorded_spans() as exporter:
        yield exporter


@pytest.fixture
def mem() -> Iterator[Engine]:
    with toy(":memory:", "Zebra's own") as opened:
        opened.remember("The safe opens with 7719-Zebra")
        yield opened


def named(spans: InMemorySpanExporter) -> dict[str, Any]:
    return {span.name: span for span in spans.get_finished_spans()}


def test_a_request_is_a_span_in_the_trace_of_its_caller(mem: Engine, spans: InMemorySpanExporter) -> None:
    class Route:
        path = "/v1/namespaces/{namespace}/recall"

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["route"] = Route()
        await asyncio.to_thread(mem.recall, QUESTION)
        await send({"type": "http.response.start", "status": 503, "headers": []})

    async def sent(message: Any) -> None: ...

    parent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    path = "/v1/namespaces/Zebra/recall"
    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"traceparent", parent)]}
    asyncio.run(TracedRequests(app)(scope, sent, sent))  # type: ignore[arg-type]
    found = named(spans)
    request = found["POST /v1/namespaces/{namespace}/recall"]
    assert request.kind is SpanKind.SERVER
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert dict(request.attributes or {})["http.response.status_code"] == 503
    assert request.status.status_code is StatusCode.ERROR
    recall = found["fivefold recall"]
    assert recall.parent is not None
    assert recall.parent.span_id == request.context.span_id
    told = " ".join(span.to_json() for span in spans.get_finished_spans())
    assert not any(word in told for word in ("7719", "Zebra", "safe"))
