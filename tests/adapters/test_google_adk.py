"""Google ADK's own runner, sessions and tools over the memory service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import load_memory, preload_memory
from google.genai.types import Content, Part
from pydantic import Field

import fivefold
from fivefold import SharedStore
from fivefold.adapters.google_adk import FivefoldMemoryService
from fivefold.errors import InvalidInput
from tests.support.hostile import HOSTILE, assert_harmless

pytestmark = pytest.mark.slow


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedStore]:
    with fivefold.store(tmp_path / "memory.db", embedder="wordllama") as opened:
        yield opened


def said(text: str, author: str = "user", id: str = "") -> Event:
    return Event(author=author, id=id, content=Content(role="user", parts=[Part(text=text)]))


def search(service: FivefoldMemoryService, query: str, user: str = "ana") -> list[MemoryEntry]:
    found = asyncio.run(service.search_memory(app_name="guide", user_id=user, query=query))
    return list(found.memories)


def text(entry: MemoryEntry) -> str:
    return "".join(part.text or "" for part in entry.content.parts or [])


def test_a_session_may_be_added_again_and_users_are_apart(shared: SharedStore) -> None:
    service = FivefoldMemoryService(shared)
    assert isinstance(service, BaseMemoryService)

    async def talk() -> None:
        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name="guide", user_id="ana", session_id="s1")
        await sessions.append_event(session, said("I live in Leeds", id="e1"))
        await service.add_session_to_memory(session)
        await sessions.append_event(session, said("A fine town.", "guide", id="e2"))
        thought = Part(text="She lives there.", thought=True)
        await sessions.append_event(session, Event(author="guide", content=Content(role="model", parts=[thought])))
        for _ in range(2):
            await service.add_session_to_memory(session)
        other = await sessions.create_session(app_name="guide", user_id="ben")
        await sessions.append_event(other, said("I live in Bristol"))
        await service.add_session_to_memory(other)

    asyncio.run(talk())
    turns = shared.namespace("guide.ana").turns("s1")
    assert [(turn.id, turn.speaker, turn.origin, turn.content) for turn in turns] == [
        ("e1", "user", "user", "I live in Leeds"),
        ("e2", "guide", "assistant", "A fine town."),
    ]
    assert turns[0].superseded_by is None
    found = search(service, "where do I live?")
    assert [text(entry) for entry in found] == ["I live in Leeds", "A fine town."]
    assert (found[0].id, found[0].author, found[0].custom_metadata["session_id"]) == ("e1", "user", "s1")
    assert found[0].timestamp == found[0].custom_metadata["event_at"]
    assert [text(entry) for entry in search(service, "where do I live?", "ben")] == ["I live in Bristol"]
    assert search(service, "where do I live?", "nobody") == []


def test_memories_are_added_filtered_and_forgotten(shared: SharedStore) -> None:
    service = FivefoldMemoryService(shared, filter="meta.room=hall", k=5)
    user: dict[str, Any] = {"app_name": "guide", "user_id": "ana"}
    hall = MemoryEntry(id="hall", content=Content(parts=[Part(text="The lamp in the hall is broken")]), author="ana")
    cellar = hall.model_copy(update={"id": "cellar", "custom_metadata": {"room": "cellar"}})
    events = [said("The boiler is loud", id="e1")]

    async def use() -> None:
        await service.add_memory(memories=[hall], custom_metadata={"room": "hall"}, **user)
        await service.add_memory(memories=[cellar], **user)
        for _ in range(2):
            await service.add_events_to_memory(events=events, custom_metadata={"room": "hall"}, **user)

    asyncio.run(use())
    assert sorted(str(entry.id) for entry in search(service, "what is broken?")) == ["e1", "hall"]
    assert {hit.memory.id for hit in shared.namespace("guide.ana").recall("broken lamp")} >= {"hall", "e1"}
    asyncio.run(service.delete_memory(memory_id="e1", **user))
    asyncio.run(service.delete_memory(memory_id="e1", **user))
    asyncio.run(service.delete_memory(**user))
    asyncio.run(service.add_events_to_memory(events=events, custom_metadata={"room": "hall"}, **user))
    assert [entry.id for entry in search(service, "what is broken?")] == ["hall"], "what was deleted stays away"


def test_what_is_wrong_is_said(shared: SharedStore) -> None:
    with pytest.raises(InvalidInput, match="unknown option 'filtre'"):
        FivefoldMemoryService(shared, filtre="speaker:ana")  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match=r"fivefold\.store"):
        FivefoldMemoryService(shared.namespace("ana"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="filtre"):
        asyncio.run(FivefoldMemoryService(shared).search_memory(app_name="a", user_id="b", query="c", filtre="d"))  # type: ignore[call-arg]


def test_no_memory_is_obeyed(shared: SharedStore) -> None:
    shared.namespace("guide.ana").remember_many(HOSTILE)
    for entry in search(FivefoldMemoryService(shared, k=20), "tea"):
        assert_harmless(text(entry))


class Parrot(BaseLlm):
    """A model that calls `load_memory` once, and then repeats all that it was given."""

    model: str = "parrot"
    asked: list[LlmRequest] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(llm_request)
        part = Part(text="Noted.")
        if len(self.asked) == 1:
            part = Part.from_function_call(name="load_memory", args={"query": "what does Ana drink?"})
        yield LlmResponse(content=Content(role="model", parts=[part]))


def test_an_agent_loads_what_an_earlier_session_said(shared: SharedStore) -> None:
    service, model = FivefoldMemoryService(shared), Parrot()
    agent = LlmAgent(name="guide", model=model, tools=[load_memory, preload_memory])

    async def talk() -> None:
        await service.add_memory(
            app_name="app", user_id="ana", memories=[MemoryEntry(content=Content(parts=[Part(text="Ana drinks tea")]))]
        )
        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name="app", user_id="ana")
        runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=service)
        message = Content(role="user", parts=[Part(text="What do I drink?")])
        async for _ in runner.run_async(user_id="ana", session_id=session.id, new_message=message):
            pass

    asyncio.run(talk())
    assert "Ana drinks tea" in str(model.asked[0].config.system_instruction) + str(model.asked[0].contents)
    parts = [part for content in model.asked[1].contents for part in content.parts or []]
    (response,) = (part.function_response for part in parts if part.function_response)
    assert "Ana drinks tea" in str(response.response)
