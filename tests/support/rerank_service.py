"""A rerank service on a free local port, speaking the shape of the three that are known."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHAPES = {"voyage": ("data", "top_k"), "cohere": ("results", "top_n"), "jina": ("results", "top_n")}
"""What each calls its list of scores, and how many it is to give."""


def scored(body: dict[str, Any], results: str) -> dict[str, Any]:
    """A document's score is the first number in it; the best come first, as the services tell them."""
    numbers = [float(re.findall(r"-?\d+\.\d+", text)[0]) for text in body["documents"]]
    found = [{"index": i, "relevance_score": number} for i, number in enumerate(numbers)]
    return {results: sorted(found, key=lambda item: -item["relevance_score"])}


@dataclass
class Service:
    """Fails as often as told, then answers; `wait` holds an answer back until the test is over."""

    results: str
    failures: list[tuple[int, str]] = field(default_factory=list)
    asked: list[tuple[str, str | None, dict[str, Any]]] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], Any] | None = None
    wait: bool = False
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def replied(self, body: dict[str, Any]) -> tuple[int, str]:
        if self.wait:
            self.over.wait(30)
        if self.failures:
            return self.failures.pop(0)
        return 200, json.dumps(self.answer(body) if self.answer else scored(body, self.results))


@contextmanager
def serving(results: str) -> Iterator[Service]:
    service = Service(results)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.asked.append((self.path, self.headers["Authorization"], body))
            status, text = service.replied(body)
            try:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())
            except OSError:
                """Whoever asked has given up, as some tests want."""

        def log_message(self, *_: object) -> None:
            """Keep the test output quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    service.url = f"http://127.0.0.1:{server.server_port}/api"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
