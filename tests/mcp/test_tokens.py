"""What a model pays for, counted by a tokenizer that models use: the list of tools, and each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources

import mcp_types as types
import pytest
from tokenizers import Tokenizer

from fivefold import sample
from tests.support.mcp_client import Talk, over_http, text_of, within
from tests.support.web_server import Served

MOST_TOOLS = 2_500
"""Tokens of the whole list of tools, as it goes to a client."""


@pytest.fixture(scope="module")
def count() -> Callable[[str], int]:
    """The tokenizer of Llama 2, which comes with an embedder."""
    file = resources.files("wordllama").joinpath("tokenizers/l2_supercat_tokenizer_config.json")
    tokenizer = Tokenizer.from_str(file.read_text("utf-8"))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.fixture(scope="module")
def plain(sample_path: str) -> Iterator[Talk]:
    """The sample year, by a server as it is started without options."""
    with within(sample_path, structured=False) as talk:
        yield talk


def written(value: types.ListToolsResult | types.CallToolResult) -> str:
    return value.model_dump_json(by_alias=True, exclude_none=True)


def test_the_list_of_tools_is_short(plain: Talk, count: Callable[[str], int]) -> None:
    tools = plain.ask(plain.client.list_tools)
    assert len(tools.tools) >= 8
    assert count(written(tools)) <= MOST_TOOLS


@pytest.mark.parametrize("budget", [400, *(pytest.param(each, marks=pytest.mark.slow) for each in (200, 1_000, 3_000))])
def test_a_recall_takes_no_more_than_its_budget(plain: Talk, count: Callable[[str], int], budget: int) -> None:
    used = []
    for question in sample.questions()[:12]:
        answer = plain.call("recall", question=question.query, now=question.now, token_budget=budget, recent_turns=2)
        assert answer.structured_content is None
        used.append(count(text_of(answer)))
    assert max(used) <= budget
    assert max(used) > budget / 2 or budget > 1_000, "the room is used"


@pytest.mark.parametrize("tool", ["explain", "sessions"])
def test_other_answers_take_no_more_than_their_budget(plain: Talk, count: Callable[[str], int], tool: str) -> None:
    given = {"question": "what did Sarah say?"} if tool == "explain" else {"session_id": "s05"}
    for budget in (200, 1_000):
        answer = plain.call(tool, **given, token_budget=budget)
        assert answer.structured_content is None
        assert count(text_of(answer)) <= budget


@pytest.mark.slow
def test_over_http_the_address_asks_for_structured_values(sample_path: str) -> None:
    with Served(sample_path) as served:
        for address, structured in ((f"{served.url}/mcp?", False), (f"{served.url}/mcp?structured=1", True)):
            with over_http(address) as talk:
                tools = talk.ask(talk.client.list_tools).tools
                assert {tool.output_schema is not None for tool in tools} == {structured}
                assert (talk.call("stats").structured_content is not None) is structured
