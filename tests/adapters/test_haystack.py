"""Haystack's own pipelines over the retriever, also written to YAML and read back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage

import fivefold
from fivefold.adapters.haystack import FivefoldMemoryStore, FivefoldMemoryWriter, FivefoldRetriever
from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from tests.support.hostile import HOSTILE, assert_harmless

pytestmark = pytest.mark.slow

TEMPLATE = "{% for document in documents %}{{ document.content }}\n{% endfor %}---\n{{ question }}"
ASKED = {"memory": {"query": "what is my badge ID?"}, "prompt": {"question": "what is my badge ID?"}}


def pipeline(retriever: FivefoldRetriever) -> Pipeline:
    made = Pipeline()
    made.add_component("memory", retriever)
    made.add_component(
        "prompt", ChatPromptBuilder([ChatMessage.from_user(TEMPLATE)], required_variables=["documents", "question"])
    )
    made.add_component("llm", MockChatGenerator())
    made.connect("memory.documents", "prompt.documents")
    made.connect("prompt.prompt", "llm.messages")
    return made


def reply(done: dict[str, Any]) -> str:
    text = done["llm"]["replies"][0].text
    assert isinstance(text, str)
    return text


def test_documents_say_where_they_come_from(facts: Engine) -> None:
    found: list[Document] = FivefoldRetriever(facts, top_k=2).run("what is my badge ID?")["documents"]
    assert len(found) == 2
    first = found[0]
    assert (first.id, first.content) == ("badge", "My badge ID is E-47821")
    assert first.score is not None
    assert first.meta["event_at"] == "2025-01-06T09:00:00Z"
    assert first.meta["speaker"] == "user"
    assert first.meta["routes"]
    facts.feedback(first.meta["recall_id"], used=[first.id])
    assert Document.from_dict(first.to_dict()) == first


def test_a_pipeline_answers_from_memory(facts: Engine) -> None:
    made = pipeline(FivefoldRetriever(facts, top_k=1))
    assert reply(made.run(ASKED)) == "My badge ID is E-47821\n---\nwhat is my badge ID?"
    more = made.run({**ASKED, "memory": {"query": "tea, ferns, badge, key", "top_k": 3}})
    assert reply(more).count("\n") == 4
    assert reply(asyncio.run(made.run_async(ASKED))) == "My badge ID is E-47821\n---\nwhat is my badge ID?"


def test_a_pipeline_is_written_and_read_back(facts: Engine) -> None:
    made = pipeline(FivefoldRetriever(facts, top_k=1, recipe="lexical", effort="low"))
    text = made.dumps()
    again = Pipeline.loads(text, allowed_modules=["fivefold.adapters.haystack"])
    retriever: Any = again.get_component("memory")
    try:
        assert retriever.engine is not facts
        assert (retriever.top_k, retriever.recipe, retriever.effort) == (1, "lexical", "low")
        assert again.dumps() == text
        assert reply(again.run(ASKED)) == reply(made.run(ASKED))
    finally:
        retriever.engine.close()


def test_what_cannot_be_opened_again_is_not_written() -> None:
    with fivefold.open(":memory:", embedder="wordllama") as mem, pytest.raises(InvalidInput, match="cannot be saved"):
        FivefoldRetriever(mem).to_dict()


def test_a_relative_path_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fivefold.open("here.db", embedder="wordllama") as mem:
        engine = FivefoldRetriever(mem).to_dict()["init_parameters"]["engine"]
        assert engine == {"store": str(tmp_path / "here.db"), "namespace": "default"}


def test_async_runs_go_side_by_side(facts: Engine) -> None:
    retriever = FivefoldRetriever(facts, top_k=1)

    async def ask() -> list[dict[str, list[Document]]]:
        return list(await asyncio.gather(*(retriever.run_async(query) for query in ("tea", "badge", "ferns"))))

    assert [found["documents"][0].id for found in asyncio.run(ask())] == ["tea", "badge", "fern"]


SAID = [
    ChatMessage.from_system("Be brief."),
    ChatMessage.from_user("The hall lamp is broken", meta={"room": "hall", "floor": 1}),
    ChatMessage.from_assistant("I will call the electrician."),
    ChatMessage.from_user("The boiler is loud", name="Ines", meta={"room": "cellar", "floor": -1}),
    ChatMessage.from_assistant(" "),
]


def test_a_memory_store_keeps_users_apart(tmp_path: Path) -> None:
    with fivefold.store(tmp_path / "memory.db", embedder="wordllama") as shared:
        store = FivefoldMemoryStore(shared, recipe="lexical")
        assert len(store.add_memories(messages=SAID, user_id="ana")) == 4
        assert store.add_memories(messages=SAID, user_id="ana") == []
        store.add_memories(messages=[ChatMessage.from_user("The lamp is new")], user_id="ben")
        found = store.search_memories(query="which lamp is broken?", top_k=1, user_id="ana")
        assert [(message.text, message.meta["room"], message.meta["rank"]) for message in found] == [
            ("The hall lamp is broken", "hall", 1)
        ]
        assert shared.namespace("ana").recall("lamp", k=1, recipe="lexical")[0].memory.speaker == "user"
        for query in (None, "lamp or boiler"):
            filters = {"field": "meta.floor", "operator": "<", "value": 0}
            (below,) = store.search_memories(query=query, filters=filters, user_id="ana")
            assert below.text == "The boiler is loud"
            (by_name,) = store.search_memories(query=query, filter="speaker:Ines", user_id="ana")
            assert by_name.meta["id"] == below.meta["id"]
        assert len(store.search_memories(user_id="ana", top_k=3)) == 3
        store.delete_memory(below.meta["id"], user_id="ana")
        with pytest.raises(NotFound):
            store.delete_memory(below.meta["id"], user_id="ana")
        store.delete_all_memories(user_id="ana")
        assert store.search_memories(user_id="ana") == store.search_memories(query="lamp") == []
        assert len(store.search_memories(query="lamp", user_id="ben")) == 1
        store.add_memories(messages=[ChatMessage.from_user(text) for text in HOSTILE])
        for message in (*store.search_memories(top_k=20), *store.search_memories(query="tea", top_k=20)):
            assert_harmless(str(message.text))
        with pytest.raises(InvalidInput, match="unknown option 'filtre'"):
            store.search_memories(query="lamp", filtre="speaker:ana")
        with pytest.raises(InvalidInput, match="unknown option 'filtre'"):
            FivefoldMemoryStore(shared, filtre="speaker:ana")  # type: ignore[call-arg]


def test_a_writer_in_a_saved_pipeline_adds_what_is_new(tmp_path: Path) -> None:
    with fivefold.store(tmp_path / "memory.db", embedder="wordllama") as shared:
        made = Pipeline()
        made.add_component("writer", FivefoldMemoryWriter(FivefoldMemoryStore(shared, k=3)))
        given: dict[str, Any] = {"messages": SAID[1:3], "user_id": "ana", "session_id": "s"}
        assert made.run({"writer": given}) == {"writer": {"memories_written": 2}}
        again = Pipeline.loads(made.dumps(), allowed_modules=["fivefold.adapters.haystack"])
        writer: Any = again.get_component("writer")
        try:
            assert writer.memory_store.options == {"k": 3}
            grown = {**given, "messages": SAID[1:]}
            assert asyncio.run(again.run_async({"writer": grown})) == {"writer": {"memories_written": 1}}
        finally:
            writer.memory_store.store.close()
        assert [(turn.speaker, turn.content) for turn in shared.namespace("ana").turns("s")] == [
            ("user", "The hall lamp is broken"),
            ("assistant", "I will call the electrician."),
            ("Ines", "The boiler is loud"),
        ]
