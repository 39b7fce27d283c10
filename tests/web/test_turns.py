"""Writes wait for each other; whoever reads meanwhile is answered."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import apsw
import pytest
from starlette.testclient import TestClient

from fivefold.service.service import Service, open_service
from fivefold.values.access import HERE
from fivefold.web.app import create_app

pytestmark = pytest.mark.slow

DEFAULT = "/v1/namespaces/default"
THREADS, WRITERS, WRITES = 6, 3, 8
"""A server that has few threads, of which writes may take some, and more writes than threads."""

HERE_ADDRESS = ("127.0.0.1", 50_000)

HUNG_S = 30
"""What has not been answered by then waits for the writes."""


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Someone else writes, so that nobody here can."""
    other = apsw.Connection(path)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def few_threads() -> None:
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS


def tool(client: TestClient, name: str, **given: str) -> Any:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}}
    return client.post("/mcp", json=asked, headers={"Accept": "application/json, text/event-stream"})


def remember(client: TestClient, number: int) -> Any:
    return client.post(f"{DEFAULT}/memories", json={"content": f"parcel {number} has come"})


def remember_by_page(client: TestClient, number: int) -> Any:
    return client.post("/remember", data={"content": f"letter {number} has come"}, follow_redirects=False)


def remember_by_tool(client: TestClient, number: int) -> Any:
    return tool(client, "remember", content=f"telegram {number} has come")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    opened = open_service(str(tmp_path_factory.mktemp("turns") / "small.db"), embedder="wordllama")
    opened.writers = anyio.CapacityLimiter(WRITERS)
    opened.engine(HERE, "writer", "default").remember("My badge ID is E-47821")
    yield opened
    opened.close()


def remember_by_any(client: TestClient, number: int) -> Any:
    return (remember, remember_by_page, remember_by_tool)[number % 3](client, number)


@pytest.mark.parametrize("write", [remember, remember_by_page, remember_by_tool, remember_by_any])
def test_reads_do_not_wait_for_writes(small: Service, write: Callable[[TestClient, int], Any]) -> None:
    with TestClient(create_app(small), base_url="http://localhost", client=("127.0.0.1", 50_000)) as client:
        assert client.portal is not None
        client.portal.call(few_threads)
        reads: list[Callable[[], Any]] = [
            partial(client.get, "/health"),
            partial(client.get, "/ready"),
            partial(client.get, f"{DEFAULT}/memories"),
            partial(client.post, f"{DEFAULT}/recall", json={"question": "badge?", "recipe": "lexical"}),
            partial(client.get, "/memories"),
            partial(tool, client, "sessions"),
        ]
        with ThreadPoolExecutor(WRITES) as writers, ThreadPoolExecutor(len(reads)) as readers:
            with locked(small.engines.store.location):
                written = [writers.submit(write, client, number) for number in range(WRITES)]
                _until_they_wait(small)
                assert _turns(small) == (WRITERS, WRITES - WRITERS), "one cap, whichever way writes come in"
                asked = [readers.submit(read) for read in reads]
                answered, _ = wait(asked, timeout=HUNG_S)
                still = not any(future.done() for future in written)
            assert len(answered) == len(reads)
            assert still
            assert [future.result().status_code for future in asked] == [200] * len(reads)
            assert {future.result().status_code for future in written} <= {200, 201, 303}


def _until_they_wait(service: Service) -> None:
    """As many as may are under way, and the others wait for their turn."""
    until = time.monotonic() + 10
    while time.monotonic() < until and _turns(service) != (WRITERS, WRITES - WRITERS):
        time.sleep(0.02)


def _turns(service: Service) -> tuple[int, int]:
    """Writes that have their turn, and those that wait for one."""
    found = service.writers.statistics()
    return found.borrowed_tokens, found.tasks_waiting


def test_mcp_starts_with_a_request_that_can_load_it(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then each is told why not, and all else is answered."""
    app = create_app(small)
    with TestClient(app, "http://localhost", client=HERE_ADDRESS) as client, monkeypatch.context() as broken:
        broken.setitem(sys.modules, "mcp.server.streamable_http_manager", None)
        refused = tool(client, "stats")
        assert (refused.status_code, refused.json()["type"]) == (501, "urn:fivefold:problem:missing-extra")
        assert "fivefold[mcp]" in refused.json()["detail"]
        assert client.get("/health").status_code == 200
        broken.undo()
        assert tool(client, "stats").status_code == 200
    without = TestClient(app, "http://localhost", raise_server_exceptions=False, client=HERE_ADDRESS)
    assert tool(without, "stats").status_code == 500
