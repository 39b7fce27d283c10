"""The REST interface: each operation on the sample, names of any kind, pages, times, text on request."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from fivefold.service.service import Service
from fivefold.values.explain import NOT_FOUND
from fivefold.values.filters import filter_of, write_filter
from fivefold.web.rest.operations import IN, JSON, OPERATIONS
from fivefold.web.security import quoted
from tests.support.web_requests import ask, in_order

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
HERE = "/v1/namespaces/default"
PAGE = 3
NAMES = ["a/b", "ü", "%2F", "..", ".", "a b", "?x=1#y", "日本", "'\"", "a%", "+", "batch", "-1", "{x}"]


@pytest.mark.parametrize("name", in_order())
def test_every_example_works(client: TestClient, name: str) -> None:
    operation = OPERATIONS[name]
    answer = ask(client, operation)
    assert answer.status_code == operation.status, answer.text
    assert answer.headers["content-type"].partition(";")[0] == operation.gives[0]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_kind_stand_in_a_path(client: TestClient, name: str) -> None:
    """As a namespace, as the id of a memory, and as a session."""
    space = f"/v1/namespaces/{quoted(name)}"
    told = client.post(f"{space}/memories", json={"content": "The gate code is 4711", "id": name, "session_id": name})
    assert told.status_code == 201, told.text
    assert told.json()["stored"] == [name]
    memory = client.get(f"{space}/memories/{quoted(name)}").json()
    assert (memory["id"], memory["namespace"], memory["session_id"]) == (name, name, name)
    assert [turn["id"] for turn in client.get(f"{space}/sessions/{quoted(name)}").json()["turns"]] == [name]
    assert client.delete(f"{space}/memories/{quoted(name)}").json()["id"] == name
    assert client.get(f"{space}/memories/{quoted(name)}").status_code == 404


@pytest.mark.parametrize("path", ["%FF", "%C3", "%00", "%0A", "%ED%A0%80", "a" * 201])
def test_names_that_cannot_be_are_refused_in_plain_words(client: TestClient, path: str) -> None:
    memory = client.get(f"{HERE}/memories/{path}")
    assert (memory.status_code, memory.json()["type"]) == (404, "urn:fivefold:problem:not-found")
    for headers in ({}, {"Idempotency-Key": "odd"}):
        made = client.post(f"/v1/namespaces/{path}/memories", json={"content": "x"}, headers=headers)
        assert (made.status_code, made.json()["type"]) == (422, "urn:fivefold:problem:invalid-input")


def test_pages_put_together_are_the_whole_list(client: TestClient) -> None:
    for path in ("memories", "sessions", "entities", "entities/1/edges", "entities/1/memories"):
        whole = client.get(f"{HERE}/{path}", params={"limit": 1_000}).json()
        assert whole["cursor"] is None
        parts, cursor = [], ""
        while cursor is not None:
            page = client.get(
                f"{HERE}/{path}",
                params={"limit": PAGE if "/" in path else 150, **({"cursor": cursor} if cursor else {})},
            ).json()
            parts += page["items"]
            cursor = page["cursor"]
        assert parts == whole["items"]
        assert len(parts) > PAGE


def test_namespaces_come_in_pages_too(client: TestClient, service: Service) -> None:
    for name in ("one", "two", "three"):
        service.engines.namespace(name).remember("a note")
    found, cursor = [], ""
    while cursor is not None:
        given: dict[str, Any] = {"limit": 1, **({"cursor": cursor} if cursor else {})}
        page = client.get("/v1/namespaces", params=given).json()
        found += [item["name"] for item in page["items"]]
        cursor = page["cursor"]
    assert found == sorted(service.engines.store.namespaces())


@pytest.mark.parametrize("cursor", ["x", "bm8", "💥", "", "a" * 1_000])
def test_a_cursor_of_another_list_is_refused(client: TestClient, cursor: str) -> None:
    for path in ("memories", "sessions", "entities", "entities/1/edges", "entities/1/memories"):
        assert client.get(f"{HERE}/{path}", params={"cursor": cursor}).status_code == 422


def test_explain_is_text_when_text_is_wanted(client: TestClient) -> None:
    asked = {"question": "what's my badge ID?", "recipe": "engram", "k": 2}
    text = client.post(f"{HERE}/explain", json=asked, headers={"Accept": "text/plain"})
    assert text.headers["content-type"].startswith("text/plain")
    assert text.text.splitlines()[0].startswith("what's my badge ID?")
    told = client.post(f"{HERE}/explain", json=asked, headers={"Accept": "text/plain;q=0.5, application/json"})
    again = client.post(f"{HERE}/explain", json=asked)
    assert [hit["score"] for hit in told.json()["hits"]] == [hit["score"] for hit in again.json()["hits"]]


def test_a_recall_is_the_librarys(client: TestClient, service: Service) -> None:
    asked: dict[str, Any] = {"question": "where do I work?", "k": 3, "now": "2025-12-20T09:00:00Z", "recipe": "lexical"}
    over_http = client.post(f"{HERE}/recall", json={**asked, "trace": True}).json()
    own = service.engines.namespace("default").recall(**asked).to_dict()
    assert over_http["hits"] == own["hits"]
    assert set(over_http) == set(own)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"recipe": "/etc/passwd"}, "unknown-recipe"),
        ({"recipe": "./own.toml"}, "unknown-recipe"),
        ({"overrides": {"rerank.cross_encoder.model": "cohere:rerank-v3.5"}}, "invalid-input"),
        ({"overrides": {"nonsense": 1}}, "invalid-input"),
        ({"effort": "utmost"}, "invalid-input"),
        ({"k": 101}, "k-too-large"),
        ({"k": 0}, "invalid-input"),
        ({"k": "5"}, "invalid-input"),
        ({"question": ""}, "invalid-input"),
        ({"question": "a" * 100_001}, "text-too-long"),
        ({"history": ["a" * 100_001]}, "text-too-long"),
        ({"history": ["a" * 50_000] * 2}, "text-too-long"),
        ({"unheard": 1}, "invalid-input"),
        ({"now": "tomorrow"}, "invalid-input"),
        ({"question": "half a pair \ud800"}, "invalid-input"),
    ],
)
def test_what_cannot_be_asked_is_told_by_kind(client: TestClient, asked: dict[str, Any], kind: str) -> None:
    answer = client.post(
        f"{HERE}/recall", content=json.dumps({"question": "what?", **asked}), headers={"Content-Type": JSON}
    )
    assert (answer.status_code, answer.json()["type"]) == (422, f"urn:fivefold:problem:{kind}")


def test_chances_are_given_and_can_be_asked_for(client: TestClient) -> None:
    asked = {"question": "what's my badge ID?", "now": "2025-12-20T09:00:00Z", "k": 3, "recent_turns": 0}
    every = client.post(f"{HERE}/recall", json=asked).json()
    chances = [hit["chance"] for hit in every["hits"]]
    assert all(0 <= chance <= 1 for chance in [every["chance"], *chances])
    least = max(chances)
    likely = client.post(f"{HERE}/recall", json={**asked, "min_chance": least}).json()
    assert likely["hits"]
    assert all(hit["chance"] >= least for hit in likely["hits"])
    block = client.post(f"{HERE}/context", json={**asked, "min_chance": 1}).json()
    assert (block["found"], block["sources"], block["text"]) == (False, [], NOT_FOUND)
    refused = client.post(f"{HERE}/recall", json={**asked, "recipe": "ditto", "min_chance": 0.5})
    assert refused.status_code == 422
    assert "use 'default'" in refused.json()["detail"]
    assert client.post(f"{HERE}/recall", json={**asked, "min_chance": 2}).status_code == 422


@pytest.mark.parametrize(
    "keep", ["session:s01 speaker:user", {"session_ids": ["s01"], "speakers": "user"}, {"words": "badge"}]
)
def test_a_filter_says_which_memories_may_answer(client: TestClient, keep: Any) -> None:
    asked = {"question": "what's my badge ID?", "k": 4, "filter": keep}
    listed = client.get(f"{HERE}/memories", params={"filter": write_filter(filter_of(keep)), "limit": 100}).json()
    ids = {memory["id"] for memory in listed["items"]}
    answer = client.post(f"{HERE}/recall", json={**asked, "trace": True}).json()
    assert len(answer["hits"]) == min(4, len(ids))
    assert {hit["memory"]["id"] for hit in answer["hits"]} <= ids
    assert client.post(f"{HERE}/plan", json=asked).json()["filter"] == answer["plan"]["filter"]
    sources = client.post(f"{HERE}/context", json=asked).json()["sources"]
    assert {source["id"] for source in sources if not source["recent"]} <= ids


@pytest.mark.parametrize("keep", ["colour:red", "tag:'; --", {"colour": "red"}, {"metadata": {"a": {}}}, 3, ["tag:x"]])
def test_a_wrong_filter_says_what_is_allowed(client: TestClient, keep: Any) -> None:
    refused = client.post(f"{HERE}/recall", json={"question": "what?", "filter": keep})
    assert refused.status_code == 422
    assert "filter" in refused.text
    if isinstance(keep, str):
        assert client.get(f"{HERE}/memories", params={"filter": keep}).status_code == 422


def test_settings_say_what_is_wrong_with_them(client: TestClient) -> None:
    for body in (
        {"timezone": "Mars"},
        {"timezone": [1, 2]},
        {"recent_days": "many"},
        {"few_days": 3},
        {"unknown": 1},
        [1],
        "x",
    ):
        answer = client.patch(f"{HERE}/settings", json=body)
        assert answer.status_code == 422, (body, answer.text)
    assert client.patch(f"{HERE}/settings", json={"recent_days": 14}).json()["recent_days"] == 14
    assert client.patch(f"{HERE}/settings", json={"recent_days": None}).json()["recent_days"] == 30


def test_the_server_says_that_it_is_well(client: TestClient) -> None:
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/ready").json()["status"] == "ok"
    assert [client.head(path).status_code for path in ("/health", "/ready")] == [200, 200]


def test_the_page_tells_of_every_operation() -> None:
    text = (ROOT / "docs/serve.md").read_text("utf-8")
    told = re.findall(r"^\| `([A-Z]+) (\S+)` \| (\w+) \| .*?( \(201\))? \|$", text, re.MULTILINE)
    for item in OPERATIONS.values():
        path = item.path.replace(IN, "…").replace(":name}", "}")
        assert (item.method, path, item.role, " (201)" if item.status == 201 else "") in told
    assert len(told) == len(OPERATIONS)
