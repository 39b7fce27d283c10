"""The audit log has every request: who, what, where, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from fivefold.service.audit import READS
from fivefold.service.service import Service
from fivefold.service.write_queue import QueuedWrite
from fivefold.values.access import AuditEntry
from fivefold.values.reports import Report
from fivefold.web.rest.operations import OPERATIONS
from tests.support.web_requests import ask, in_order
from tests.web.conftest import asking

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def keyed(service: Service) -> Iterator[tuple[TestClient, str]]:
    """A client with an admin's key, and the key's id."""
    key, secret = service.keyring.create("all", "admin", ["*"])
    with asking(service, secret) as client:
        yield client, key.id


def last(service: Service) -> AuditEntry:
    return service.audit.entries(1)[0]


@pytest.mark.parametrize("name", in_order())
def test_every_operation_is_noted(keyed: tuple[TestClient, str], service: Service, name: str) -> None:
    """Under its action, with the namespace and the id it was about; a write before it is answered."""
    operation, (client, key_id) = OPERATIONS[name], keyed
    answer = ask(client, operation)
    noted = last(service)
    assert (noted.action, noted.key_id, noted.outcome) == (operation.action, key_id, "ok")
    assert noted.namespace == operation.example.path.get("namespace")
    if operation.answers is QueuedWrite:
        assert noted.subject == answer.json()["id"]
    elif operation.answers is not Report:
        assert noted.subject == operation.example.path.get("id")
    else:
        report = answer.json()
        assert (noted.subject or "").split() == report["stored"] + [merged["id"] for merged in report["merged"]]


def test_what_changes_something_is_on_the_disk_before_it_is_answered() -> None:
    for operation in OPERATIONS.values():
        assert (operation.action in READS) == (not operation.writes), operation.name


@pytest.mark.parametrize("name", [name for name, item in OPERATIONS.items() if "namespace" in item.example.path])
def test_what_was_refused_is_noted_as_refused(service: Service, name: str) -> None:
    operation = OPERATIONS[name]
    key, secret = service.keyring.create("elsewhere", "admin", ["elsewhere"])
    with asking(service, secret) as client:
        assert ask(client, operation, body=operation.example.body).status_code == 403
    noted = last(service)
    assert (noted.action, noted.key_id, noted.outcome) == (operation.action, key.id, "refused")


def test_what_failed_and_what_was_sent_again_is_noted_so(keyed: tuple[TestClient, str], service: Service) -> None:
    client, _ = keyed
    client.get("/v1/namespaces/default/memories/none")
    assert (last(service).subject, last(service).outcome) == ("none", "failed")
    for outcome in ("ok", "replayed"):
        headers = {"Idempotency-Key": "noted"}
        client.post("/v1/namespaces/default/entities", json={"name": "Noted"}, headers=headers)
        assert last(service).outcome == outcome
        client.post("/v1/namespaces/default/memories", json={"content": "Noted", "id": "noted"}, headers=headers)
        assert (last(service).subject, last(service).outcome) == ("noted", outcome)


def test_notes_hold_no_contents(keyed: tuple[TestClient, str], service: Service) -> None:
    client, _ = keyed
    client.post("/v1/namespaces/default/memories", json={"content": "a private matter"})
    client.post("/v1/namespaces/default/recall", json={"question": "which private matter?", "recipe": "lexical"})
    assert "private" not in str(service.audit.entries(10))


def test_an_admin_of_some_namespaces_sees_the_notes_of_those(service: Service) -> None:
    _, secret = service.keyring.create("some", "admin", ["one"])
    with asking(service, secret) as client:
        client.get("/v1/namespaces/one/stats")
        found = client.get("/v1/audit", params={"limit": 1000}).json()["items"]
        assert {item["namespace"] for item in found} == {"one"}
        assert client.get("/v1/audit", params={"namespace": "default"}).status_code == 403
