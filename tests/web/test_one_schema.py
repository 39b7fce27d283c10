"""Library, REST and MCP say the same in the same words: one schema, and for one question one answer."""

from __future__ import annotations

from typing import Any

import pytest

import fivefold
from fivefold.mcp.tools import TOOLS
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.service.responses import Turns
from fivefold.values.fields import definitions, name_of, schema_of
from fivefold.values.reports import Page
from fivefold.web.rest.operations import OPERATIONS
from tests.support.mcp_client import Talk, over_http
from tests.support.web_server import Served

pytestmark = pytest.mark.slow

NOW = "2025-12-20T09:00:00Z"
QUESTION = "How many times did I actually go to Berlin in 2025, and when?"
SAME = {
    "remember": "remember",
    "remember_messages": "remember_messages",
    "recall": "context",
    "explain": "explain",
    "forget": "forget_memory",
    "used": "feedback",
    "stats": "stats",
    "health": "namespace_health",
    "delete_namespace": "delete_namespace",
}
"""Each tool with the operation that gives the same value."""

REF = "#/components/schemas/"
CHANCE = {"id", "recall_id", "ms", "timings"}
"""What no two recalls share."""


def settled(value: Any) -> Any:
    """Without what depends on the moment of the recall; a memory's own id stays."""
    if isinstance(value, list):
        return [settled(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = value if "content" in value else {name: item for name, item in value.items() if name not in CHANCE}
    return {name: settled(item) for name, item in kept.items() if name not in ("ms", "timings")}


@pytest.fixture(scope="module")
def document(served: Served) -> Any:
    return served.client.get("/openapi.json").json()


@pytest.fixture(scope="module")
def offered(served: Served) -> dict[str, Any]:
    with over_http(f"{served.url}/mcp") as talk:
        return {tool.name: tool for tool in talk.ask(talk.client.list_tools).tools}


def test_every_tool_is_compared(offered: dict[str, Any]) -> None:
    assert set(offered) == set(TOOLS) == {*SAME, "known", "sessions", "namespaces"}


@pytest.mark.parametrize("tool", SAME)
def test_tool_and_operation_give_the_library_s_value(tool: str, document: Any, offered: dict[str, Any]) -> None:
    kind = OPERATIONS[SAME[tool]].answers
    assert TOOLS[tool].gives is kind
    assert offered[tool].output_schema == schema_of(kind)
    written = definitions(kind, ref=REF)
    assert {name: document["components"]["schemas"][name] for name in written} == written
    operation = OPERATIONS[SAME[tool]]
    told = document["paths"][operation.path.replace(":name}", "}")][operation.method.lower()]
    answer = told["responses"][str(operation.status)]["content"]["application/json"]
    assert answer["schema"] == {"$ref": REF + name_of(kind)}


def test_sessions_are_those_of_rest_in_one_value(offered: dict[str, Any]) -> None:
    own = offered["sessions"].output_schema
    of_rest = {**schema_of(Page[fivefold.Session])["properties"], "turns": schema_of(Turns)["properties"]["turns"]}
    assert {name: own["properties"][name] for name in of_rest} == of_rest
    assert own["$defs"] == definitions(fivefold.Session, fivefold.Memory)


def test_what_is_asked_for_is_called_the_same(document: Any, offered: dict[str, Any]) -> None:
    bodies = document["components"]["schemas"]
    asked = {"remember": "RecordBody", "recall": "ContextBody", "explain": "RecallBody", "used": "FeedbackBody"}
    asked["remember_messages"] = "MessagesBody"
    further = {"remember": {"supersedes"}, "recall": {"ids"}, "explain": {"token_budget"}}
    """What only a tool takes; REST says it by a path, or has no use for it."""
    for tool, body in asked.items():
        own = set(offered[tool].input_schema["properties"]) - {"namespace"}
        assert own - set(bodies[body]["properties"]) == further.get(tool, set()), tool


@pytest.fixture(scope="module")
def engine(served: Served) -> Any:
    with fivefold.open(served.path) as opened:
        yield opened


@pytest.fixture(scope="module")
def talk(served: Served) -> Any:
    with over_http(f"{served.url}/mcp") as opened:
        yield opened


def test_one_question_has_one_trace(served: Served, engine: fivefold.Engine, talk: Talk) -> None:
    asked = {"question": QUESTION, "k": 3, "now": NOW, "recipe": "recall"}
    own = engine.recall(QUESTION, k=3, now=NOW, recipe=load_recipe("recall")).to_dict()
    rest = served.client.post("/v1/namespaces/default/explain", json=asked).json()
    mcp = talk.done("explain", **asked, token_budget=100_000)
    assert settled(rest) == settled(own) == settled(mcp)
    assert len(own["hits"]) == 3


def test_a_recall_without_its_trace_is_the_library_s_brief(served: Served, engine: fivefold.Engine) -> None:
    asked = {"question": QUESTION, "k": 3, "now": NOW}
    answer = served.client.post("/v1/namespaces/default/recall", json=asked)
    brief = engine.recall(QUESTION, k=3, now=NOW).brief
    assert settled(answer.json()) == settled(brief.to_dict())
    assert [hit.memory.id for hit in brief.hits] == [hit["memory"]["id"] for hit in answer.json()["hits"]]
    whole = served.client.post("/v1/namespaces/default/recall", json={**asked, "trace": True})
    assert len(answer.content) < len(whole.content) / 10
    for few, many in zip(answer.json()["hits"], whole.json()["hits"], strict=True):
        assert {**many, "memory": {name: many["memory"][name] for name in few["memory"]}}.items() >= few.items()


def test_one_question_has_one_context(served: Served, engine: fivefold.Engine, talk: Talk) -> None:
    asked = {"question": QUESTION, "k": 4, "now": NOW, "token_budget": 400, "effort": "low"}
    mcp = talk.done("recall", **asked)
    assert mcp["budget"] < 400  # the tool's own words take their share
    asked["token_budget"] = mcp["budget"]
    rest = served.client.post("/v1/namespaces/default/context", json=asked).json()
    own = engine.context(QUESTION, k=4, now=NOW, token_budget=mcp["budget"], effort="low").to_dict()
    assert settled(rest) == settled(own) == settled(mcp)


def test_one_memory_is_the_same_everywhere(served: Served, engine: fivefold.Engine) -> None:
    own = engine.get("s01.04").to_dict()
    assert served.client.get("/v1/namespaces/default/memories/s01.04").json() == own


def test_figures_are_the_same_everywhere(served: Served, engine: fivefold.Engine, talk: Talk) -> None:
    rest, mcp = served.client.get("/v1/namespaces/default/stats").json(), talk.done("stats")
    assert rest.keys() == mcp.keys() == engine.stats().to_dict().keys()
    assert {**rest, "recalls": 0, "bytes_on_disk": 0} == {**mcp, "recalls": 0, "bytes_on_disk": 0}
