"""OpenTelemetry spans of requests; the spans of recalls and writes lie within them."""

from __future__ import annotations

from opentelemetry import propagate
from opentelemetry.trace import SpanKind, Status, StatusCode
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fivefold.service.tracing import current_tracer
from fivefold.web.request_log import METHODS, operation_of


class TracedRequests:
    """Middleware with a span around every request, within the caller's trace where the request names one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tracer = current_tracer()
        if scope["type"] != "http" or tracer is None:
            await self.app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        parent = propagate.extract(headers)
        with tracer.start_as_current_span(
            method, parent, SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:

            async def send_observed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            try:
                await self.app(scope, receive, send_observed)
            finally:
                operation = operation_of(scope)
                span.update_name(f"{method} {operation}")
                span.set_attributes({"http.request.method": method, "fivefold.operation": operation})
