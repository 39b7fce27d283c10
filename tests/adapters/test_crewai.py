"""CrewAI's crews, scopes and tools over the memory."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory
from crewai.tools.memory_tools import create_memory_tools
from pydantic import Field, ValidationError

from fivefold.adapters.crewai import FivefoldMemory, FivefoldStorage
from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from tests.support.hostile import HOSTILE, assert_harmless

pytestmark = pytest.mark.slow


def texts(found: list[Any]) -> list[str]:
    return [match.record.content for match in found]


def test_what_is_remembered_is_recalled_filtered_and_forgotten(mem: Engine) -> None:
    memory = FivefoldMemory(engine=mem)
    mem.remember("The garage door sticks", id="door", speaker="ana")
    record = memory.remember(
        "The hall lamp is broken", scope="/house/hall", categories=["lamp"], metadata={"urgent": 1}
    )
    assert isinstance(memory, Memory)
    assert record is not None
    assert (record.scope, record.categories, record.metadata) == ("/house/hall", ["lamp"], {"urgent": 1})
    again = memory.remember("The hall lamp is broken", scope="/house/hall")
    assert again is not None
    assert again.id == record.id, "a scope keeps the same text once"
    elsewhere = memory.remember("The hall lamp is broken", scope="/office")
    assert elsewhere is not None
    assert elsewhere.id != record.id
    memory.remember_many(["The boiler is loud", "The cellar is dry"], scope="/house/cellar", categories=["pipes"])
    assert texts(memory.recall("what is loud?", limit=1)) == ["The boiler is loud"]
    assert texts(memory.recall("which lamp is broken?", scope="/house"))[0] == "The hall lamp is broken"
    assert len(memory.recall("lamp or boiler", scope="/house")) == 3
    assert set(texts(memory.recall("anything", categories=["pipes"]))) == {"The boiler is loud", "The cellar is dry"}
    assert mem.recall("which lamp is broken?", k=1, filter="tag:lamp")[0].memory.id == record.id
    assert texts(memory.recall("door", scope="/"))[0] == "The garage door sticks"
    assert texts(FivefoldMemory(engine=mem, filter="speaker:ana").recall("lamp")) == ["The garage door sticks"]
    assert memory.forget(record_ids=[record.id, "unknown"]) == 1
    assert memory.forget(scope="/house", categories=["pipes"]) == 2
    assert memory.forget(metadata_filter={"urgent": 1}) == 0
    assert {each.id for each in mem.memories()} == {"door", elsewhere.id}
    memory.reset_all()
    assert mem.stats().memories == 0


def test_scopes_are_a_tree(mem: Engine) -> None:
    memory = FivefoldMemory(engine=mem, root_scope="/crew")
    for scope in ("/a/x", "/a/y", "/ab", "/"):
        memory.remember(f"It is noted in {scope}", scope=scope, categories=[scope.strip("/") or "root"])
    assert memory.list_scopes("/") == ["/crew/a", "/crew/ab"]
    assert memory.list_scopes("/a") == ["/crew/a/x", "/crew/a/y"]
    info = memory.info("/a")
    assert (info.record_count, info.categories, info.child_scopes) == (2, ["a/x", "a/y"], ["/crew/a/x", "/crew/a/y"])
    assert memory.list_categories("/a") == {"a/x": 1, "a/y": 1}
    assert [record.scope for record in memory.list_records(limit=2, offset=1)] == ["/crew/ab", "/crew/a/y"]
    assert "/crew/a (2 records)" in memory.tree()
    assert texts(memory.scope("/a").recall("what is noted in x?", limit=1)) == ["It is noted in /a/x"]
    memory.reset("/a")
    assert memory.info().record_count == 2


def test_a_private_memory_is_for_its_source(mem: Engine) -> None:
    memory = FivefoldMemory(engine=mem)
    memory.remember("The present is a bicycle", source="ana", private=True)
    assert memory.recall("what is the present?") == memory.recall("what is the present?", source="ben") == []
    assert texts(memory.recall("what is the present?", source="ana")) == ["The present is a bicycle"]
    assert len(memory.recall("what is the present?", include_private=True)) == 1


def test_a_storage_does_what_the_protocol_says(mem: Engine) -> None:
    storage = FivefoldMemory(engine=mem).storage
    assert isinstance(storage, FivefoldStorage)
    assert isinstance(storage, StorageBackend)
    old = datetime(2024, 1, 2, 3, 4, 5)
    record = MemoryRecord(content="We moved in", scope="/house", importance=0.9, created_at=old, source="ana")
    storage.save([record, record.model_copy(update={"id": "copy"})])
    assert storage.count("/house") == 2
    stored = storage.get_record(record.id)
    assert stored is not None
    assert stored.model_dump(exclude={"last_accessed"}) == record.model_dump(exclude={"last_accessed"})
    assert mem.get(record.id).event_at == old.replace(tzinfo=UTC)
    storage.update(record.model_copy(update={"content": "We moved out", "scope": "/past", "categories": ["moves"]}))
    changed = storage.get_record(record.id)
    assert changed is not None
    assert (changed.content, changed.scope, changed.categories) == ("We moved out", "/past", ["moves"])
    asyncio.run(storage.asave([record.model_copy(update={"id": "late", "created_at": old + timedelta(days=9)})]))
    assert asyncio.run(storage.adelete(older_than=old + timedelta(days=1))) == 2
    assert [each.id for each in storage.list_records()] == ["late"]
    assert storage.get_record("nobody") is None


def test_what_is_wrong_is_said(mem: Engine) -> None:
    with pytest.raises(ValidationError, match="filtre"):
        FivefoldMemory(engine=mem, filtre="speaker:ana")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="of its own"):
        FivefoldMemory(engine=mem, storage="lancedb")
    with pytest.raises(TypeError, match="filtre"):
        FivefoldMemory(engine=mem).recall("tea", filtre="x")  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="not for a vector"):
        FivefoldMemory(engine=mem).storage.search([1.0])
    with pytest.raises(InvalidInput, match="unknown recipe"):
        FivefoldMemory(engine=mem, recipe="best").recall("tea")


def test_no_memory_is_obeyed(mem: Engine) -> None:
    mem.remember_many(HOSTILE)
    for text in texts(FivefoldMemory(engine=mem).recall("tea", limit=20)):
        assert_harmless(text)


def test_the_tools_of_crewai_work(mem: Engine) -> None:
    recall, remember = create_memory_tools(FivefoldMemory(engine=mem))
    assert "Saved to memory" in remember.run(contents=["The gate is number 7"])
    assert "The gate is number 7" in recall.run(queries=["which gate?"])


class Scripted(BaseLLM):
    """A model that answers the same to everything, and keeps what it was asked."""

    asked: list[str] = Field(default_factory=list)

    def call(self, messages: Any, *given: Any, **named: Any) -> str:
        self.asked.append(str(messages))
        return "Thought: I know it.\nFinal Answer: We leave from gate 7."


def test_a_crew_uses_and_fills_it(mem: Engine) -> None:
    mem.remember("The window seat is 12 A", speaker="user")
    model = Scripted(model="scripted")
    agent = Agent(role="Guide", goal="Guide", backstory="A guide", llm=model, allow_delegation=False)
    task = Task(description="From which gate do we leave, and which seat?", expected_output="A gate", agent=agent)
    memory = FivefoldMemory(engine=mem)
    crew = Crew(agents=[agent], tasks=[task], memory=memory)
    assert "gate 7" in str(crew.kickoff())
    memory.close()
    assert any("The window seat is 12 A" in asked for asked in model.asked)
    assert mem.recall("from which gate do we leave?", k=1)[0].memory.origin == "assistant"
