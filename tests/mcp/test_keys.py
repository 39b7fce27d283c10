"""Over HTTP: a key reaches its namespaces and nothing else, whatever is asked for and by whichever tool."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from mcp.shared.exceptions import MCPError

import fivefold
from fivefold.mcp.resources import MEMORY, PROMPTS, SESSION
from fivefold.mcp.tools import TOOLS
from fivefold.service.audit import Audit
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from fivefold.values.access import Role
from tests.support.mcp_client import HIDDEN, MODERN, Talk, over_http, text_of
from tests.support.web_server import Served

pytestmark = pytest.mark.slow

SECRETS = [*(record["content"] for record in HIDDEN), "Q-99613", "warden", "behind the clock"]
CALLERS: dict[str, tuple[Role, list[str]]] = {
    "reader": ("reader", ["default"]),
    "writer": ("writer", ["default"]),
    "admin": ("admin", ["default"]),
    "other": ("admin", ["other"]),
    "guest": ("admin", ["guest"]),
}

WITHOUT_IDS = {"remember_messages", "delete_namespace"}
"""Tools that ask for nothing by its id: one begins a session of any name, one deletes a whole namespace."""


class House(NamedTuple):
    """A server on a store with keys, one talk for each, and the id of a recall of the namespace `other`."""

    served: Served
    talks: dict[str, Talk]
    recall: str


@pytest.fixture(scope="module")
def house(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    path = str(shutil.copy(store, tmp_path_factory.mktemp("keys") / "small.db"))
    opened = open_store(path)
    ring = Keyring(opened)
    keys = {name: ring.create(name, role, namespaces)[1] for name, (role, namespaces) in CALLERS.items()}
    opened.close()
    with fivefold.open(path, namespace="other") as mem:
        recall = mem.recall("which badge opens the vault?").id
    with (
        Served(path) as served,
        over_http(f"{served.url}/mcp", keys["reader"]) as reader,
        over_http(f"{served.url}/mcp", keys["writer"], MODERN) as writer,
        over_http(f"{served.url}/mcp", keys["admin"]) as admin,
        over_http(f"{served.url}/mcp", keys["other"]) as other,
        over_http(f"{served.url}/mcp", keys["guest"]) as guest,
    ):
        talks = {"reader": reader, "writer": writer, "admin": admin, "other": other, "guest": guest}
        yield House(served, talks, recall)


def asked(recall: str = "nothing") -> dict[str, dict[str, Any]]:
    """Every tool, with arguments that speak of what `other` holds."""
    question = {"question": "which badge opens the vault?", "now": "2025-02-01T00:00Z"}
    return {
        "remember": {"content": "The vault is mine", "supersedes": "vault"},
        "remember_messages": {"session_id": "midnight", "messages": [{"role": "user", "content": "The vault is mine"}]},
        "recall": {**question, "session_id": "midnight", "recent_turns": 5, "ids": True},
        "explain": question,
        "forget": {"id": "vault"},
        "used": {"recall_id": recall, "used": ["vault"]},
        "sessions": {"session_id": "midnight"},
        "known": {"what": "recap", "of": "midnight"},
        "stats": {},
        "health": {},
        "namespaces": {},
        "delete_namespace": {},
    }


def ways(namespace: str, recall: str) -> dict[str, Callable[[Talk], str]]:
    """Every tool, resource and prompt, asked about a namespace."""

    def tool(name: str, given: dict[str, Any]) -> Callable[[Talk], str]:
        def ask(talk: Talk) -> str:
            answer = talk.call(name, **given, namespace=namespace)
            return f"{answer.is_error} {text_of(answer)} {json.dumps(answer.structured_content)}"

        return ask

    def read(uri: str) -> Callable[[Talk], str]:
        return lambda talk: _told(lambda: talk.ask(talk.client.read_resource, uri).model_dump_json())

    def prompt(name: str) -> Callable[[Talk], str]:
        given = {"question": "which badge opens the vault?", "namespace": namespace}
        return lambda talk: _told(lambda: talk.ask(talk.client.get_prompt, name, given).model_dump_json())

    return {
        **{name: tool(name, given) for name, given in asked(recall).items()},
        "memory": read(MEMORY.expand({"namespace": namespace, "id": "vault"})),
        "session": read(SESSION.expand({"namespace": namespace, "id": "midnight"})),
        "recall-before-answering": prompt("recall-before-answering"),
    }


def _told(work: Callable[[], str]) -> str:
    try:
        return work()
    except MCPError as error:
        return f"error {error.code} {error.message}"


def test_every_way_is_asked() -> None:
    static = {"remember-this-talk"}  # tells no memory
    assert set(ways("other", "")) == {*TOOLS, "memory", "session", *PROMPTS} - static


@pytest.mark.parametrize("way", ways("other", ""))
@pytest.mark.parametrize("caller", ["reader", "writer", "admin"])
def test_a_key_gets_nothing_of_another_namespace_nor_whether_it_exists(house: House, caller: str, way: str) -> None:
    talk = house.talks[caller]
    there, missing = (ways(name, house.recall)[way](talk) for name in ("other", "nowhere"))
    assert there.replace("'other'", "NAME").replace("other/", "NAME/") == missing.replace("'nowhere'", "NAME").replace(
        "nowhere/", "NAME/"
    )
    assert "does not reach namespace" in there
    assert not any(secret in there for secret in SECRETS)


@pytest.mark.parametrize("way", [*(way for way in asked() if way not in WITHOUT_IDS), "memory", "session"])
def test_ids_of_another_namespace_are_unknown_in_ones_own(house: House, way: str) -> None:
    """As unknown as ids that nobody has."""
    talk = house.talks["admin"]
    told = ways("default", house.recall)[way](talk)
    assert not any(secret in told for secret in SECRETS)
    named = {"vault": "nobody", "midnight": "nobody's", house.recall: "0" * 36}
    if way in TOOLS:
        given = {name: _renamed(value, named) for name, value in asked(house.recall)[way].items()}
        answer = talk.call(way, **given, namespace="default")
        unknown = f"{answer.is_error} {text_of(answer)} {json.dumps(answer.structured_content)}"
    else:
        uri = (MEMORY if way == "memory" else SESSION).expand({"namespace": "default", "id": "nobody"})
        unknown = _told(lambda: talk.ask(talk.client.read_resource, uri).model_dump_json())
    if way != "explain":  # which takes no id, and tells how long it took
        assert _masked(told, list(named)) == _masked(unknown, [*named.values(), "nobody"])


def _renamed(value: Any, named: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(item, named) for item in value]
    return named.get(value, value) if isinstance(value, str) else value


def _masked(text: str, names: list[str]) -> str:
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
    for name in sorted({*names, "ID"}, key=len, reverse=True):
        text = text.replace(f"'{name}'", "NAME").replace(f'"{name}"', "NAME")
    return re.sub(r"\d+", "#", text)


def test_numbers_told_to_one_key_mean_nothing_to_another(house: House) -> None:
    told = house.talks["other"].done("recall", question="which badge opens the vault?")
    assert told["sources"][0]["id"] == "vault"
    answer = house.talks["writer"].call("used", recall_id=told["recall_id"], used=["1"])
    assert "no recall" in text_of(answer)
    assert "vault" not in text_of(answer)


def test_a_key_of_one_namespace_need_not_name_it(house: House) -> None:
    assert house.talks["other"].done("stats")["namespace"] == "other"
    listed = house.talks["other"].ask(house.talks["other"].client.list_resources).resources
    assert {resource.name for resource in listed} == {"vault", "crypt", "midnight"}


@pytest.mark.parametrize("tool", [name for name, tool in TOOLS.items() if not tool.reads])
def test_a_reader_writes_nothing(house: House, tool: str) -> None:
    answer = house.talks["reader"].call(tool, **asked()[tool], namespace="default")
    role = "an admin" if tool == "delete_namespace" else "a writer"
    assert text_of(answer) == f"this key is a reader's; that needs {role}'s"


def test_only_an_admin_deletes_a_namespace(house: House) -> None:
    answer = house.talks["writer"].call("delete_namespace", namespace="default")
    assert text_of(answer) == "this key is a writer's; that needs an admin's"
    assert house.talks["writer"].done("namespaces")["names"] == ["default"]


def test_without_a_key_nothing_is_answered(house: House) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for key in (None, "nonsense", "ff_000000000000_" + "0" * 48):
        with house.served.asking(key) as client:
            refused = client.post("/mcp", json=message, headers={"Accept": "application/json"})
            assert refused.status_code == 401
            assert refused.headers["WWW-Authenticate"].startswith("Bearer")
            assert refused.json()["type"] == "urn:fivefold:problem:unauthorized"
            assert client.get("/mcp").status_code == 405


def test_other_sites_and_strange_names_are_refused(house: House) -> None:
    client = house.served.client
    for header, status in (({"Origin": "https://evil.example"}, 403), ({"Host": "evil.example"}, 421)):
        assert client.post("/mcp", json={}, headers=header).status_code == status


def test_calls_are_noted_with_their_key(house: House) -> None:
    house.talks["writer"].done("remember", content="The gate is shut at ten", id="gate")
    house.talks["writer"].call("recall", question="when is the gate shut?", namespace="other")
    house.served.client.get("/health")
    assert ("remember", "default", "gate", "ok") in audited(house, "writer")


def test_a_namespace_is_deleted_by_its_admin_and_that_is_noted(house: House) -> None:
    guest = house.talks["guest"]
    guest.done("remember", content="I stay for one night")
    deleted = guest.done("delete_namespace", namespace="guest")
    assert (deleted["namespace"], deleted["memories"]) == ("guest", 1)
    assert deleted["erasure"].keys() == {"complete", "detail", "since"}
    assert guest.done("namespaces")["names"] == []
    assert ("delete_namespace", "guest", None, "ok") in audited(house, "guest")


def audited(house: House, caller: str) -> list[tuple[str, str | None, str | None, str]]:
    """What the audit log has of a caller's key."""
    with closing(open_store(house.served.path)) as opened:
        keys = Keyring(opened).keys()
        (key,) = [key.id for key in keys if key.name == caller]
        return [(e.action, e.namespace, e.subject, e.outcome) for e in Audit(opened).entries(key=key)]
