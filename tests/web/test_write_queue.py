"""`wait=false`: accepted with an id, stored soon, seen and cancelled by that id, and refused when too much waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fivefold.service.limits import Limits
from fivefold.service.service import Service, open_service
from tests.web.conftest import asking

pytestmark = pytest.mark.slow

HERE = "/v1/namespaces/default"
LATER = {"wait": "false"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server that accepts; what waits is stored when a test says so."""
    path = str(tmp_path_factory.mktemp("queue") / "memory.db")
    service = open_service(path, "wordllama", limits=Limits(per_minute=0, queue=5))
    yield service
    service.close()


@pytest.fixture
def client(small: Service) -> Iterator[TestClient]:
    with asking(small) as asks:
        yield asks
    small.queue_writer.drain()


def test_a_write_is_accepted_and_stored_soon(client: TestClient, small: Service) -> None:
    accepted = client.post(f"{HERE}/memories", params=LATER, json={"content": "The plumber comes", "id": "plumber"})
    assert accepted.status_code == 202
    write = accepted.json()
    assert (write["state"], write["waiting"], write["report"]) == ("waiting", ["plumber"], None)
    assert accepted.headers["location"] == f"{HERE}/queue/{write['id']}"
    assert client.get(f"{HERE}/memories/plumber").status_code == 404
    state = client.get(f"{HERE}/queue").json()
    assert (state["waiting"], state["room"]) == (1, 4)
    assert "fivefold_queue_records 1.0" in client.get("/metrics").text
    small.queue_writer.drain()
    done = client.get(accepted.headers["location"]).json()
    assert (done["state"], done["report"]["stored"]) == ("done", ["plumber"])
    assert client.get(f"{HERE}/memories/plumber").json()["content"] == "The plumber comes"
    notes = [entry for entry in small.audit.entries() if entry.action == "remember"]
    assert [(entry.subject, entry.outcome) for entry in notes] == [("plumber", "ok"), ("plumber", "queued")]


def test_batches_and_messages_can_be_stored_later_too(client: TestClient, small: Service) -> None:
    batch = client.post(
        f"{HERE}/memories/batch", params=LATER, json={"records": [{"content": "one"}, {"content": "2"}]}
    )
    messages = {"session_id": "s", "messages": [{"role": "user", "content": "The boiler is loud"}]}
    turns = client.post(f"{HERE}/messages", params=LATER, json=messages)
    assert (batch.status_code, len(batch.json()["waiting"])) == (202, 2)
    assert (turns.status_code, turns.json()["ahead"]) == (202, 2)
    assert client.delete(f"{HERE}/sessions/s").json()["turns"] == 1
    cancelled = client.delete(batch.headers["location"]).json()
    assert (cancelled["state"], cancelled["waiting"]) == ("done", [])
    assert client.get(batch.headers["location"]).status_code == 404
    assert small.queue_writer.drain() == 0


def test_too_much_is_refused_until_there_is_room(client: TestClient, small: Service) -> None:
    body = {"records": [{"content": f"parcel {number}"} for number in range(4)]}
    assert client.post(f"{HERE}/memories/batch", params=LATER, json=body).status_code == 202
    full = client.post(f"{HERE}/memories/batch", params=LATER, json=body)
    assert (full.status_code, full.json()["type"], full.json()["limit"]) == (429, "urn:fivefold:problem:queue-full", 5)
    assert int(full.headers["retry-after"]) >= 1
    assert client.post(f"{HERE}/memories", json={"content": "at once"}).status_code == 201
    small.queue_writer.drain()
    assert client.post(f"{HERE}/memories/batch", params=LATER, json=body).status_code == 202


def test_a_write_that_is_sent_twice_under_a_key_waits_once(client: TestClient, small: Service) -> None:
    body, key = {"content": "The plumber comes on Tuesday"}, {"Idempotency-Key": "tuesday"}
    first = client.post(f"{HERE}/memories", params=LATER, json=body, headers=key)
    again = client.post(f"{HERE}/memories", params=LATER, json=body, headers=key)
    assert (again.status_code, again.json(), again.headers["idempotent-replayed"]) == (202, first.json(), "true")
    assert client.post(f"{HERE}/memories", json=body, headers=key).status_code == 422
    assert small.queue.waiting() == 1
    known = first.json()
    assert small.queue.add_records("default", [body], None, known["id"]).waiting == tuple(known["waiting"])
    assert small.queue.waiting() == 1, "a process that died before it answered is asked again"


def test_what_cannot_be_used_is_refused_at_once(client: TestClient, small: Service) -> None:
    assert client.post(f"{HERE}/memories", params=LATER, json={"content": ""}).status_code == 422
    assert client.post(f"{HERE}/memories", params={"wait": "perhaps"}, json={"content": "x"}).status_code == 422
    assert client.get(f"{HERE}/queue/%FF").status_code == 404
    assert small.queue.waiting() == 0


def test_keys_reach_only_their_own_queue(tmp_path: Path) -> None:
    service = open_service(str(tmp_path / "memory.db"), "wordllama")
    _, writer = service.keyring.create("writer", "writer", ["a"])
    _, reader = service.keyring.create("reader", "reader", ["a"])
    _, other = service.keyring.create("other", "admin", ["b"])
    with asking(service, writer) as mine, asking(service, reader) as reads, asking(service, other) as theirs:
        write = mine.post("/v1/namespaces/a/memories", params=LATER, json={"content": "tea"}).headers["location"]
        assert reads.get(write).status_code == 200
        assert reads.delete(write).status_code == 403
        assert reads.post("/v1/namespaces/a/memories", params=LATER, json={"content": "x"}).status_code == 403
        assert theirs.get(write).status_code == theirs.get("/v1/namespaces/a/queue").status_code == 403
        assert theirs.get(write.replace("/a/", "/b/")).status_code == 404
        assert theirs.get("/v1/namespaces/b/queue").json()["waiting"] == 0
    service.close()
