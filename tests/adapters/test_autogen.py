"""AutoGen's contexts and components over the memory."""

from __future__ import annotations

import asyncio
from typing import Any

import PIL.Image
import pytest
from autogen_core import CancellationToken, Image
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import AssistantMessage, UserMessage

from fivefold.adapters.autogen import FivefoldMemory
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from tests.support.hostile import HOSTILE, quotes_of

pytestmark = pytest.mark.slow

TEXT = MemoryMimeType.TEXT


def query(memory: FivefoldMemory, question: str | MemoryContent, **options: Any) -> list[MemoryContent]:
    return list(asyncio.run(memory.query(question, **options)).results)


def add(memory: FivefoldMemory, content: Any, mime: MemoryMimeType = TEXT, **metadata: Any) -> None:
    asyncio.run(memory.add(MemoryContent(content=content, mime_type=mime, metadata=metadata or None)))


def test_what_is_added_is_found_filtered_and_cleared(mem: Engine) -> None:
    memory = FivefoldMemory(mem, k=3)
    assert isinstance(memory, Memory)
    mem.remember("The garage door sticks", id="door", speaker="ana")
    add(memory, "The hall lamp is broken", room="hall")
    add(memory, {"boiler": "loud", "since": 2024}, MemoryMimeType.JSON, room="cellar")
    assert mem.recall("which lamp is broken?", k=1)[0].memory.metadata["room"] == "hall"
    first = query(memory, MemoryContent(content="which lamp is broken?", mime_type=TEXT))[0]
    assert (first.content, first.mime_type) == ("The hall lamp is broken", "text/plain")
    assert first.metadata is not None
    assert (first.metadata["room"], first.metadata["rank"]) == ("hall", 1)
    (found,) = query(memory, "what is loud?", filter="meta.room=cellar")
    assert found.content == {"boiler": "loud", "since": 2024}
    assert [each.content for each in query(memory, "door", filter="speaker:ana")] == ["The garage door sticks"]
    assert len(query(memory, "lamp", k=1)) == 1
    asyncio.run(memory.clear())
    assert [each.id for each in mem.memories()] == ["door"]
    asyncio.run(memory.close())
    assert mem.stats().memories == 1, "the engine stays open"


def test_a_context_gets_quotes_inside_their_fence(mem: Engine) -> None:
    mem.remember_many([*HOSTILE, "I take my tea without milk"])

    async def talk() -> tuple[Any, ...]:
        context = BufferedChatCompletionContext(buffer_size=9)
        memory = FivefoldMemory(mem, k=20)
        nothing = await memory.update_context(context)
        await context.add_message(UserMessage(content="How do I take my tea?", source="user"))
        await context.add_message(AssistantMessage(content="Let me see.", source="guide"))
        return nothing, await memory.update_context(context), await context.get_messages()

    nothing, found, messages = asyncio.run(talk())
    assert nothing.memories.results == []
    assert "without milk" in str(found.memories.results)
    quotes_of(messages[-1].content)
    assert [type(message).__name__ for message in messages] == ["UserMessage", "AssistantMessage", "SystemMessage"]


def test_it_is_saved_as_a_component(mem: Engine) -> None:
    add(FivefoldMemory(mem), "The hall lamp is broken")
    saved = FivefoldMemory(mem, k=1, filter="speaker:ana").dump_component()
    again = Memory.load_component(saved)
    assert isinstance(again, FivefoldMemory)
    try:
        assert again.options == {"k": 1, "filter": "speaker:ana"}
        assert again.engine.location == mem.location
        assert query(again, "lamp", filter="meta.autogen.added=true")[0].content == "The hall lamp is broken"
    finally:
        again.engine.close()


def test_a_call_can_be_cancelled(mem: Engine) -> None:
    async def use() -> None:
        token = CancellationToken()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await FivefoldMemory(mem).add(MemoryContent(content="never", mime_type=TEXT), token)

    asyncio.run(use())
    assert mem.stats().memories == 0


def test_what_is_wrong_is_said(mem: Engine) -> None:
    memory = FivefoldMemory(mem)
    with pytest.raises(InvalidInput, match="unknown option 'filtre'"):
        FivefoldMemory(mem, filtre="speaker:ana")  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="unknown option 'filtre'"):
        query(memory, "tea", filtre="speaker:ana")
    for content in (b"\x00", Image(PIL.Image.new("RGB", (1, 1)))):
        with pytest.raises(InvalidInput, match="only texts and JSON"):
            add(memory, content, MemoryMimeType.BINARY)
    assert mem.stats().memories == 0
