"""Pydantic AI's own agents with the memory as a capability."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from fivefold.adapters.pydantic_ai import FivefoldMemory
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from tests.support.hostile import HOSTILE, quotes_of

pytestmark = pytest.mark.slow


def calls(tool: str, **arguments: Any) -> FunctionModel:
    """A model that calls the tool once and then says what it returned."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if returned:
            return ModelResponse(parts=[TextPart(str(returned[0].content))])
        return ModelResponse(parts=[ToolCallPart(tool, arguments)])

    return FunctionModel(answer)


def run(memory: FivefoldMemory, model: Any, prompt: Any = "hello") -> str:
    return str(asyncio.run(Agent(model, capabilities=[memory]).run(prompt)).output)


def test_a_model_remembers_and_recalls(mem: Engine) -> None:
    memory = FivefoldMemory(mem, k=1)
    assert run(memory, calls("remember", text="The user takes tea without milk")) == "Remembered."
    assert run(memory, calls("remember", text="The user takes tea without milk")) == "That was known already."
    (stored,) = mem.memories()
    assert (stored.content, stored.origin) == ("The user takes tea without milk", "assistant")
    mem.remember("The gate is number 7", id="gate", speaker="ana")
    assert "tea without milk" in quotes_of(run(memory, calls("recall", question="how does the user take tea?")))
    only = FivefoldMemory(mem, filter="speaker:ana")
    assert "tea" not in quotes_of(run(only, calls("recall", question="how does the user take tea?")))
    mem.forget("gate")
    assert run(only, calls("recall", question="which gate?")) == "Nothing is stored yet."


def test_runs_are_turns_of_a_session(mem: Engine) -> None:
    class Answer(BaseModel):
        gate: int

    memory = FivefoldMemory(mem, session_id="trip")
    run(memory, TestModel(call_tools=[], custom_output_text="Gate 7 it is."), ["We leave from gate 7", "and at noon"])
    agent = Agent(TestModel(call_tools=[]), output_type=Answer, capabilities=[memory])
    asyncio.run(agent.run("Which gate?"))
    assert [(turn.speaker, turn.content) for turn in mem.turns("trip")] == [
        ("user", "We leave from gate 7\nand at noon"),
        ("assistant", "Gate 7 it is."),
        ("user", "Which gate?"),
        ("assistant", '{"gate":0}'),
    ]
    run(FivefoldMemory(mem), TestModel(call_tools=[]), "not kept")
    assert len(mem.memories()) == 4
    assert "gate 7" in run(FivefoldMemory(mem, "later"), calls("recall", question="from which gate do we leave?"))


def test_no_memory_is_in_the_instructions_nor_leaves_its_fence(mem: Engine) -> None:
    mem.remember_many(HOSTILE)
    seen: list[Any] = []

    def look(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((info.instructions, [tool.name for tool in info.function_tools]))
        return ModelResponse(parts=[TextPart("ok")])

    run(FivefoldMemory(mem, k=20), FunctionModel(look), "tea")
    instructions, tools = seen[0]
    assert tools == ["recall", "remember"]
    assert "long-term memory" in instructions
    assert not any(text in instructions for text in HOSTILE)
    quotes_of(run(FivefoldMemory(mem, k=20), calls("recall", question="tea")))


def test_what_is_wrong_is_said(mem: Engine) -> None:
    with pytest.raises(InvalidInput, match="unknown option 'filtre'"):
        FivefoldMemory(mem, filtre="speaker:ana")
    with pytest.raises(InvalidInput, match="session_id is empty"):
        FivefoldMemory(mem, " ")
    tries: list[Any] = []

    def stubborn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tries.append(messages[-1].parts[0])
        if len(tries) == 1:
            return ModelResponse(parts=[ToolCallPart("remember", {"text": " "})])
        return ModelResponse(parts=[TextPart("never mind")])

    assert run(FivefoldMemory(mem), FunctionModel(stubborn)) == "never mind"
    assert "empty" in str(tries[1].content), "the model is told, and can try again"
    assert mem.stats().memories == 0
