"""Prompts: what they tell the model, and which tools they have it call."""

from __future__ import annotations

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from fivefold.mcp.tools import TOOLS
from tests.support.mcp_client import Talk

pytestmark = pytest.mark.parametrize("talk", ["within"], indirect=True, scope="module")


def text(talk: Talk, name: str, **given: str) -> str:
    (message,) = talk.ask(talk.client.get_prompt, name, given).messages
    assert message.role == "user"
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def test_prompts_are_offered_with_their_arguments(talk: Talk) -> None:
    offered = {prompt.name: prompt for prompt in talk.ask(talk.client.list_prompts).prompts}
    assert {name: [(each.name, bool(each.required)) for each in p.arguments or ()] for name, p in offered.items()} == {
        "recall-before-answering": [("question", True), ("namespace", False)],
        "remember-this-talk": [("about", False), ("namespace", False)],
    }


def test_recall_before_answering_brings_the_memories_and_their_recall(talk: Talk) -> None:
    told = text(talk, "recall-before-answering", question="what is my badge ID?")
    assert "My badge ID is E-47821" in told
    assert "Question: what is my badge ID?" in told
    recall_id = told.partition("recall_id ")[2].split()[0]
    assert talk.done("used", recall_id=recall_id, used=["1"])["used"]


def test_braces_in_a_question_are_only_text(talk: Talk) -> None:
    assert "Question: {block} {0} {question!r}" in text(
        talk, "recall-before-answering", question="{block} {0} {question!r}"
    )


def test_remember_this_talk_names_tools_that_exist(talk: Talk) -> None:
    told = text(talk, "remember-this-talk", about="the move", namespace="default")
    assert "about the move" in told
    assert "in namespace 'default'" in told
    for tool in ("remember", "recall"):
        assert f" {tool} " in told
        assert tool in TOOLS


def test_missing_and_unknown_arguments_are_said(talk: Talk) -> None:
    with pytest.raises(MCPError, match="question is missing: The question to answer"):
        text(talk, "recall-before-answering")
    with pytest.raises(MCPError, match="there is no argument 'topic'; known are about, namespace"):
        text(talk, "remember-this-talk", topic="x")
    with pytest.raises(MCPError, match="only the namespace this was started for"):
        text(talk, "recall-before-answering", question="x", namespace="other")
