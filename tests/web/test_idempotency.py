"""Idempotency-Key: sent twice, done once, answered the same."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import fivefold
from fivefold.errors import DiskFull
from fivefold.service.idempotency import IdempotencyStore, PendingRequest
from fivefold.service.service import Service, open_service
from tests.web.conftest import UNLIMITED, asking

pytestmark = pytest.mark.slow

HERE = "/v1/namespaces/default"
PROBLEM = "urn:fivefold:problem:"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = open_service(str(tmp_path_factory.mktemp("small") / "memory.db"), "wordllama", limits=UNLIMITED)
    yield service
    service.close()


@pytest.fixture(scope="module")
def client(small: Service) -> Iterator[TestClient]:
    with asking(small) as asks:
        yield asks


def under(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_a_memory_that_is_sent_twice_is_stored_once(client: TestClient) -> None:
    body = {"content": "The plumber comes on Tuesday", "session_id": "monday"}
    first = client.post(f"{HERE}/memories", json=body, headers=under("plumber"))
    again = client.post(f"{HERE}/memories", json=body, headers=under("plumber"))
    assert (first.status_code, first.json()) == (again.status_code, again.json()) == (201, first.json())
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert len(client.get(f"{HERE}/sessions/monday").json()["turns"]) == 1
    other = client.post(f"{HERE}/memories", json=body)
    assert other.json()["stored"] != first.json()["stored"]


@pytest.mark.parametrize("part", ["audit", "requests"])
def test_a_full_disk_is_told_as_it_is(
    client: TestClient, small: Service, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The write had room, and only its note or its kept answer had none."""

    def no_room(*given: object) -> None:
        raise DiskFull("the disk is full. The write was undone")

    with monkeypatch.context() as full:
        full.setattr(getattr(small.engines.store, part), "add" if part == "audit" else "finish", no_room)
        answer = client.post(
            f"{HERE}/memories", json={"content": f"Full {part}", "id": f"full-{part}"}, headers=under(part)
        )
    assert (answer.status_code, answer.json()["type"]) == (507, f"{PROBLEM}stored-without-note")
    assert "this was done and is stored, but there was no room for" in answer.json()["detail"]
    assert client.get(f"{HERE}/memories/full-{part}").status_code == 200
    if part == "requests":
        assert next(entry.outcome for entry in small.audit.entries(5) if entry.action == "remember") == "ok"


def test_another_request_under_the_same_key_is_refused(client: TestClient) -> None:
    assert client.post(f"{HERE}/memories", json={"content": "One"}, headers=under("same")).status_code == 201
    other = client.post(f"{HERE}/memories", json={"content": "Two"}, headers=under("same"))
    assert (other.status_code, other.json()["type"]) == (422, f"{PROBLEM}key-used-otherwise")
    elsewhere = client.post("/v1/namespaces/other/memories", json={"content": "Two"}, headers=under("same"))
    assert elsewhere.status_code == 201


def test_what_failed_may_be_sent_again_put_right(client: TestClient) -> None:
    wrong = client.post(f"{HERE}/memories", json={"content": ""}, headers=under("put right"))
    assert wrong.status_code == 422
    assert client.post(f"{HERE}/memories", json={"content": "Right"}, headers=under("put right")).status_code == 201


def test_a_key_whose_time_is_over_can_come_with_another_text(client: TestClient, small: Service) -> None:
    """Neither a day later nor after a first try that was stored and then failed is the new text lost."""
    path, today, tomorrow = f"{HERE}/memories", b'{"content": "Rain today"}', b'{"content": "Sun today"}'
    headers = {"Content-Type": "application/json", **under("daily note")}
    taken = begun(small.idempotency, path, "daily note", today)
    small.engines.namespace("default").remember("Rain today", id=taken.record_id(0))
    small.idempotency.abandon(taken)
    (id,) = client.post(path, content=tomorrow, headers=headers).json()["stored"]
    assert client.get(f"{path}/{id}").json()["content"] == "Sun today"


def test_what_was_forgotten_is_not_told_again(client: TestClient, small: Service) -> None:
    """Nor is it kept anywhere, as the answer to its forgetting."""
    client.post(f"{HERE}/memories", json={"content": "Soon gone", "id": "gone"})
    first = client.delete(f"{HERE}/memories/gone", headers=under("forget it"))
    assert first.status_code == 200
    again = client.delete(f"{HERE}/memories/gone", headers=under("forget it"))
    assert (again.status_code, again.json()["type"]) == (410, f"{PROBLEM}answer-forgotten")
    assert client.delete(f"{HERE}/memories/gone").status_code == 404
    assert b"Soon gone" not in Path(small.engines.store.location).read_bytes()


def begun(answers: IdempotencyStore, path: str, key: str, body: bytes) -> PendingRequest:
    """A request that a process has begun and not ended."""
    taken = answers.begin("default", f"here POST {path}", key, hashlib.sha256(b"\n" + body).digest())
    assert isinstance(taken, PendingRequest)
    return taken


def test_a_request_that_is_under_way_is_not_begun_again(client: TestClient, small: Service) -> None:
    body = b'{"content": "One"}'
    headers = {"Content-Type": "application/json", **under("busy")}
    taken = begun(small.idempotency, f"{HERE}/memories", "busy", body)
    other = client.post(f"{HERE}/memories", content=body, headers=headers)
    assert (other.status_code, other.json()["type"]) == (409, f"{PROBLEM}under-way")
    assert int(other.headers["retry-after"]) > 0
    small.idempotency.abandon(taken)
    assert client.post(f"{HERE}/memories", content=body, headers=headers).status_code == 201


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("memories", {"content": "Stored before the end"}),
        ("memories/batch", {"records": [{"content": "First of two"}, {"content": "Second of two"}]}),
        ("memories/old/supersede", {"content": "What came after"}),
    ],
)
def test_a_process_that_died_between_write_and_answer_repeats_nothing(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    """The store as such a process leaves it: the request begun, its memories stored, no answer kept."""
    location, url, sent = str(tmp_path / "memory.db"), f"{HERE}/{path}", json.dumps(body).encode()
    with fivefold.open(location, embedder="wordllama") as engine:
        engine.remember("What was before", id="old")
        answers = IdempotencyStore(engine.store, lease=timedelta(milliseconds=20))
        once = begun(answers, url, "died", sent)
        answers.close()
        sent_records = enumerate(body.get("records", [body]))
        records = [{**record, "id": once.record_id(number)} for number, record in sent_records]
        if path.endswith("supersede"):
            engine.supersede("old", records[0])
        else:
            engine.remember_many(records)
    time.sleep(0.05)  # what a dead process had begun is free again soon
    service = open_service(location, limits=UNLIMITED)
    try:
        with asking(service) as client:
            before = client.get(f"{HERE}/memories").json()["items"]
            headers = {"Content-Type": "application/json", **under("died")}
            answer = client.post(url, content=sent, headers=headers)
            assert answer.status_code == 201, answer.text
            assert [merged["id"] for merged in answer.json()["merged"]] == [record["id"] for record in records]
            assert client.get(f"{HERE}/memories").json()["items"] == before
            assert client.post(url, content=sent, headers=headers).headers["idempotent-replayed"] == "true"
    finally:
        service.close()


@pytest.mark.parametrize("key", ["", " ", "x" * 201, "a\tb"])
def test_a_key_that_is_none_is_refused(client: TestClient, key: str) -> None:
    answer = client.post(f"{HERE}/memories", json={"content": "One"}, headers=under(key))
    assert (answer.status_code, answer.json()["type"]) == (422, f"{PROBLEM}invalid-input")


def test_an_import_is_done_once_too(client: TestClient) -> None:
    headers = {"Content-Type": "application/x-ndjson", **under("lines")}
    first = client.post(f"{HERE}/import", content=b'{"content": "By line"}\n', headers=headers)
    again = client.post(f"{HERE}/import", content=b'{"content": "By line"}\n', headers=headers)
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"
    other = client.post(f"{HERE}/import", content=b'{"content": "Another"}\n', headers=headers)
    assert other.status_code == 422
