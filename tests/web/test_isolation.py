"""Isolation: whatever a key of one namespace asks, nothing of another comes back, not even whether it exists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.testclient import TestClient

from fivefold.service.service import Service, open_service
from fivefold.values.access import ROLES, Role
from fivefold.web.rest.operations import OPERATIONS, Operation
from tests.support.web_requests import ask, path_of
from tests.web.conftest import UNLIMITED, asking

pytestmark = pytest.mark.slow

THEIRS, MINE, NOBODYS = "quokkas", "mine", "nowhere"
SECRETS = ("quokka", "Xanthippe", "Zebulon", "tuxedo")
"""Words that only the other namespace holds: in its name, ids, texts, names, tags, settings."""


@dataclass(frozen=True)
class Worlds:
    service: Service
    recall_id: str
    ids: dict[str, str]
    """Ids of the other namespace, for each part of a path that names something by one."""
    clients: dict[Role, TestClient]
    """A client for each role in the one namespace."""


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    service = open_service(str(tmp_path_factory.mktemp("worlds") / "memory.db"), "wordllama", limits=UNLIMITED)
    other = service.engines.namespace(THEIRS)
    other.remember("Xanthippe lost her tuxedo", id="quokka-note", speaker="Zebulon", tags=["tuxedo"])
    other.remember("Zebulon works at Quokka Ltd", id="quokka-turn", session_id="quokka-talk")
    entity = next(item for item in other.graph.entities("Zebulon"))
    edge = other.graph.relate(entity.id, "knows", other.graph.add("Xanthippe Quokka").id)
    service.engines.namespace(MINE).remember("The kettle is new", id="kettle", session_id="today")
    recalled = other.recall("who lost a tuxedo?", recipe="lexical")
    secrets = {role: service.keyring.create(role, role, [MINE])[1] for role in ROLES}
    clients = {role: asking(service, secret) for role, secret in secrets.items()}
    waits = service.queue.add_records(THEIRS, ["Xanthippe wants another tuxedo"], None).id
    ids = {"memories": "quokka-note", "sessions": "quokka-talk", "entities": str(entity.id), "edges": str(edge.id)}
    ids["queue"] = waits
    yield Worlds(service, recalled.id, ids, clients)
    service.close()


SPACED = [name for name, operation in OPERATIONS.items() if "namespace" in operation.example.path]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", SPACED)
def test_another_namespace_answers_as_one_that_is_not_there(worlds: Worlds, name: str, role: Role) -> None:
    operation, client = OPERATIONS[name], worlds.clients[role]
    there, missing = (
        ask(
            client,
            operation,
            path_of(operation, namespace=space, **_named(worlds, operation)),
            body=_body(worlds, operation),
        )
        for space in (THEIRS, NOBODYS)
    )
    assert there.status_code == missing.status_code == 403
    assert _without(there, THEIRS) == _without(missing, NOBODYS)


@pytest.mark.parametrize("name", SPACED)
def test_ids_of_another_namespace_lead_nowhere_in_ones_own(worlds: Worlds, name: str) -> None:
    """Under the own namespace, with every id that the other one has."""
    operation, client = OPERATIONS[name], worlds.clients["admin"]
    path = path_of(operation, namespace=MINE, **_named(worlds, operation))
    answer = ask(client, operation, path, body=_body(worlds, operation))
    told = answer.text.replace(path, "").replace(json.dumps(_body(worlds, operation)), "")
    for id in (*worlds.ids.values(), worlds.recall_id):
        told = told.replace(repr(id), "")
    assert not [word for word in SECRETS if word.casefold() in told.casefold()], told
    if "{id:" in operation.path:
        assert answer.status_code in {404, 422}, answer.text


def test_lists_of_the_server_leave_the_other_namespace_out(worlds: Worlds) -> None:
    for name in set(OPERATIONS) - set(SPACED):
        answer = ask(worlds.clients["admin"], OPERATIONS[name])
        assert answer.status_code == 200
        assert THEIRS not in answer.text
    assert worlds.clients["reader"].get("/v1/audit").status_code == 403


def test_tricks_with_names_reach_no_further(worlds: Worlds) -> None:
    client = worlds.clients["admin"]
    for trick in (
        f" {THEIRS}",
        f"{THEIRS} ",
        f"{MINE},{THEIRS}",
        "*",
        f"{MINE}/../{THEIRS}",
        f"{MINE}%2F..%2F{THEIRS}",
    ):
        path = path_of(OPERATIONS["list_memories"], namespace=trick)
        assert client.get(path).status_code == 403
    raw = client.get(f"/v1/namespaces/{MINE}/../{THEIRS}/memories")
    assert raw.status_code in {403, 404}


def test_the_other_namespace_is_untouched(worlds: Worlds) -> None:
    """After all of the above."""
    assert {memory.id for memory in worlds.service.engines.namespace(THEIRS).memories()} == {
        "quokka-note",
        "quokka-turn",
    }
    assert worlds.service.engines.namespace(THEIRS).graph.entity(int(worlds.ids["entities"])).name == "Zebulon"
    assert NOBODYS not in worlds.service.engines.store.namespaces()


def _named(worlds: Worlds, operation: Operation) -> dict[str, str]:
    return {"id": worlds.ids[operation.path.split("/")[4]]} if "id" in operation.example.path else {}


def _body(worlds: Worlds, operation: Operation) -> Any:
    """The example, with ids of the other namespace wherever it has some."""
    theirs: dict[str, Any] = {
        "feedback": {"recall_id": worlds.recall_id, "used": ["quokka-note"]},
        "merge_entities": {"gone": int(worlds.ids["entities"])},
        "split_entity": {"name": "A name", "memories": ["quokka-note"]},
        "add_edge": {"source": int(worlds.ids["entities"]), "relation": "knows", "target": int(worlds.ids["entities"])},
    }
    return theirs.get(operation.name, operation.example.body)


def _without(answer: Any, namespace: str) -> tuple[str, dict[str, str]]:
    """The answer but for what the asker has said, and for what differs each time."""
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in {"x-request-id", "content-length", "ratelimit", "date"}
    }
    return answer.text.replace(namespace, "NAMED"), headers
