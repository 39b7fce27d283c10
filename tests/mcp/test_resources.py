"""Memories and conversations by their addresses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

import fivefold
from fivefold.mcp import resources
from fivefold.mcp.resources import list_resources
from fivefold.mcp.server import StdioTransport
from tests.support.mcp_client import RECORDS, Talk, within

in_both_ways = pytest.mark.parametrize("talk", ["within", "within, no handshake"], indirect=True, scope="module")


def read(talk: Talk, uri: str) -> Any:
    (content,) = talk.ask(talk.client.read_resource, uri).contents
    assert isinstance(content, types.TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "application/json")
    return json.loads(content.text)


@in_both_ways
def test_templates_say_how_addresses_look(talk: Talk) -> None:
    templates = talk.ask(talk.client.list_resource_templates).resource_templates
    assert [template.uri_template for template in templates] == [
        "fivefold://{namespace}/memories/{id}",
        "fivefold://{namespace}/sessions/{id}",
        "fivefold://{namespace}/health",
        "fivefold://{namespace}/known/{id}",
        "fivefold://{namespace}/sessions/{id}/recap",
    ]


@in_both_ways
def test_what_is_listed_can_be_read(talk: Talk) -> None:
    listed = talk.ask(talk.client.list_resources).resources
    assert [resource.name for resource in listed if "/sessions/" in resource.uri] == ["monday"]
    memories = {resource.name: resource for resource in listed if "/memories/" in resource.uri}
    assert set(memories) == {record["id"] for record in RECORDS}
    for id, resource in memories.items():
        assert read(talk, resource.uri)["id"] == id
        assert resource.title == read(talk, resource.uri)["content"]


@in_both_ways
def test_a_conversation_is_read_turn_by_turn(talk: Talk) -> None:
    assert [turn["id"] for turn in read(talk, "fivefold://default/sessions/monday")] == ["badge", "nod"]


@in_both_ways
def test_the_health_of_a_namespace_is_read(talk: Talk) -> None:
    report = read(talk, "fivefold://default/health")
    assert (report["namespace"], report["memories"]) == ("default", len(RECORDS))
    assert {"expired", "near-duplicates", "secrets"} <= {item["check"] for item in report["findings"]}


@in_both_ways
def test_what_is_known_is_read(talk: Talk) -> None:
    assert {"facts", "earlier"} <= read(talk, "fivefold://default/known/profile").keys()
    assert {"facts", "moved"} <= read(talk, "fivefold://default/known/agenda").keys()
    assert {"new", "replaced", "ended"} <= read(talk, "fivefold://default/known/changes").keys()
    assert read(talk, "fivefold://default/sessions/monday/recap")["session_id"] == "monday"


@in_both_ways
def test_names_are_percent_encoded(talk: Talk) -> None:
    assert read(talk, "fivefold://default/memories/a%2Fb%20%C3%BC%252F")["id"] == "a/b ü%2F"


@pytest.mark.parametrize(
    "uri",
    [
        "fivefold://default/memories/unknown",
        "fivefold://default/sessions/unknown",
        "fivefold://default/memories/",
        "fivefold://default/memories/%00",
        "fivefold://default/memories/%ff",
        "fivefold:///memories/badge",
        "fivefold://default/edges/1",
        "fivefold://default/health/1",
        "fivefold:///health",
        "fivefold://default/memories/badge/..",
        f"fivefold://a/memories/{'x' * 9_999}",
        "file:///etc/passwd",
        "https://example.org/",
        "",
        "fivefold://",
        "FIVEFOLD://default/memories/badge",
    ],
)
@in_both_ways
def test_other_addresses_are_refused_in_plain_words(talk: Talk, uri: str) -> None:
    with pytest.raises(MCPError) as refused:
        talk.ask(talk.client.read_resource, uri)
    assert refused.value.code == types.INVALID_PARAMS
    assert len(refused.value.message) <= 1_000
    assert "Traceback" not in refused.value.message


@in_both_ways
def test_a_cursor_of_nowhere_is_refused(talk: Talk) -> None:
    with pytest.raises(MCPError, match="cursor"):
        talk.ask(talk.client.list_resources, cursor="nowhere")


@pytest.mark.slow
def test_the_list_goes_on_through_older_memories(tmp_path: Path) -> None:
    with fivefold.open(tmp_path / "boxes.db", embedder="wordllama") as mem:
        mem.remember_many(
            {"content": f"Box {n} is in row {n}", "id": f"box {n}", "session_id": "in"} for n in range(60)
        )
    transport = StdioTransport(str(tmp_path / "boxes.db"), None)
    try:
        first = list_resources(transport, None, None)
        assert first.next_cursor is not None
        second = list_resources(transport, None, first.next_cursor)
    finally:
        transport.close()
    assert second.next_cursor is None
    assert [resource.name for resource in first.resources][:2] == ["in", "box 59"]
    names = [resource.name for resource in (*first.resources[1:], *second.resources)]
    assert names == [f"box {n}" for n in range(59, -1, -1)]


def test_of_a_long_conversation_the_last_turns_are_read(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_TURNS", 1)
    with within(store) as talk:
        assert [turn["id"] for turn in read(talk, "fivefold://default/sessions/monday")] == ["nod"]
