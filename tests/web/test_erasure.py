"""What is forgotten over REST and MCP says whether its bytes are gone, or until when some may remain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from starlette.testclient import TestClient

from fivefold.service.service import Service, open_service
from fivefold.web.app import create_app

pytestmark = pytest.mark.slow

HERE = "/v1/namespaces/default"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    opened = open_service(str(tmp_path / "memory.db"), "wordllama")
    engine = opened.engines.namespace("default")
    engine.configure(find_changes=False, find_repeats=False)
    engine.remember_many([{"id": f"m{n}", "content": f"Parcel {n} came", "session_id": f"s{n % 2}"} for n in range(4)])
    yield opened
    opened.close()


def forgotten(client: TestClient, id: str) -> tuple[dict[str, Any], str]:
    asked = {"name": "forget", "arguments": {"id": id}}
    told = client.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked},
        headers={"Accept": "application/json, text/event-stream"},
    )
    return client.delete(f"{HERE}/memories/{id[:-1]}{int(id[-1]) + 1}").json(), told.text


def test_the_answer_says_where_bytes_remain(service: Service) -> None:
    path = service.engines.location
    app = create_app(service, pages=False)
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50_000)) as client:
        by_rest, by_tool = forgotten(client, "m0")
        assert (by_rest["content"], by_rest["erasure"]["complete"]) == ("Parcel 1 came", True)
        assert "may remain" not in by_tool
        reader = apsw.Connection(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchall()
        by_rest, by_tool = forgotten(client, "m2")
        session = client.delete(f"{HERE}/sessions/s0")
        deleted = client.delete(HERE).json()
        assert session.status_code == 404
        for told in (by_rest, deleted):
            assert not told["erasure"]["complete"]
            assert "may remain in the write-ahead log until every reader ends" in told["erasure"]["detail"]
            assert told["erasure"]["since"] is not None
            assert path not in str(told)
        assert "may remain in the write-ahead log" in by_tool
        assert path not in by_tool
        reader.close()
