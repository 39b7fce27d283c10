"""LangChain's own chains over the retriever and the chat history."""

from __future__ import annotations

import asyncio
import copy
import threading
from typing import Any

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.load import dumps, loads
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from fivefold.adapters.langchain import FivefoldChatHistory, FivefoldRetriever
from fivefold.engine import Engine
from fivefold.errors import InvalidInput

pytestmark = pytest.mark.slow

MESSAGES: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage(
        [
            {"type": "text", "text": "What grows here?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/bed.png"}},
        ],
        id="h-1",
        name="Ines",
    ),
    AIMessage(
        "",
        id="a-1",
        tool_calls=[{"name": "lookup", "args": {"light": "shade", "n": 2}, "id": "call-1", "type": "tool_call"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        response_metadata={"model": "x", "logprobs": None},
    ),
    ToolMessage('["fern"]', tool_call_id="call-1", status="success", artifact={"rows": [1, 2]}),
    AIMessage("  Ferns.\n\x00 ", additional_kwargs={"refusal": None}),
    ChatMessage(content="Noted.", role="gardener"),
    AIMessageChunk(content="Moss too."),
    HumanMessage(""),
]


def told(documents: list[Document]) -> str:
    return "\n".join(document.page_content for document in documents)


@pytest.mark.filterwarnings("ignore:The function `loads` is in beta")
def test_documents_say_where_they_come_from(facts: Engine) -> None:
    found = FivefoldRetriever(engine=facts, k=2).invoke("what is my badge ID?")
    assert len(found) == 2
    first = found[0]
    assert (first.id, first.page_content) == ("badge", "My badge ID is E-47821")
    assert first.metadata["speaker"] == "user"
    assert first.metadata["event_at"] == "2025-01-06T09:00:00Z"
    assert first.metadata["score"] >= found[1].metadata["score"]
    assert set(first.metadata["routes"]) <= {"dense", "lexical", "graph", "temporal", "associative", "recency"}
    facts.feedback(first.metadata["recall_id"], used=[first.metadata["id"]])
    assert loads(dumps(first), allowed_objects="core") == first


def test_a_call_may_ask_for_fewer_and_another_time(facts: Engine) -> None:
    retriever = FivefoldRetriever(engine=facts, recipe="lexical")
    assert len(retriever.invoke("tea or ferns or badge", k=1)) == 1
    early = retriever.invoke("tea or badge", now="2025-01-06T12:00:00Z")
    assert {document.id for document in early} <= {document.id for document in retriever.invoke("tea or badge")}
    with pytest.raises(InvalidInput, match="k must be a whole number from 1 to 1000"):
        FivefoldRetriever(engine=facts, k=-1).invoke("tea")


def test_a_chain_answers_from_memory(facts: Engine) -> None:
    seen: list[Any] = []

    def looked_at(prompt: Any) -> Any:
        seen.append(prompt.to_string())
        return prompt

    chain = (
        {"context": FivefoldRetriever(engine=facts, k=1) | told, "question": RunnablePassthrough()}
        | ChatPromptTemplate.from_template("{context}\n---\n{question}")
        | looked_at
        | FakeListChatModel(responses=["E-47821"])
        | StrOutputParser()
    )
    assert chain.invoke("what is my badge ID?") == "E-47821"
    assert seen == ["Human: My badge ID is E-47821\n---\nwhat is my badge ID?"]
    assert chain.batch(["my badge?", "the badge ID?"]) == ["E-47821", "E-47821"]


def test_async_recalls_run_in_other_threads(facts: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    recall = Engine.recall

    def noted(self: Engine, *given: Any, **named: Any) -> Any:
        threads.add(threading.get_ident())
        return recall(self, *given, **named)

    monkeypatch.setattr(Engine, "recall", noted)

    async def ask() -> list[list[Document]]:
        retriever = FivefoldRetriever(engine=facts)
        found = await asyncio.gather(*(retriever.ainvoke(question, k=1) for question in ("tea", "badge", "ferns")))
        assert threads
        assert threading.get_ident() not in threads
        return list(found)

    assert [[document.id for document in found] for found in asyncio.run(ask())] == [["tea"], ["badge"], ["fern"]]


def test_messages_come_back_as_they_were(mem: Engine) -> None:
    history = FivefoldChatHistory(mem, "garden")
    assert history.messages == []
    history.add_messages(MESSAGES)
    assert FivefoldChatHistory(mem, "garden").messages == MESSAGES
    assert [type(message) for message in history.messages] == [type(message) for message in MESSAGES]
    speakers = [turn.speaker for turn in mem.turns("garden")]
    assert speakers == ["system", "Ines", "assistant", "tool", "assistant", "gardener", "assistant", "user"]
    assert mem.turns("garden")[2].content == 'lookup {"light": "shade", "n": 2}'
    assert mem.recall("what grows here?", k=1)[0].memory.session_id == "garden"
    assert str(history).startswith("System: Be brief.")


def test_a_history_is_added_to_and_cleared(mem: Engine) -> None:
    history, other = FivefoldChatHistory(mem, "one"), FivefoldChatHistory(mem, "two")

    async def talk() -> list[BaseMessage]:
        await history.aadd_messages([HumanMessage("ok"), HumanMessage("ok")])
        other.add_user_message("elsewhere")
        return await history.aget_messages()

    assert [message.content for message in asyncio.run(talk())] == ["ok", "ok"]
    assert asyncio.run(copy.deepcopy(history).aget_messages()) == history.messages
    asyncio.run(history.aclear())
    history.clear()
    assert (history.messages, len(other.messages)) == ([], 1)


def test_turns_from_elsewhere_are_messages_too(mem: Engine) -> None:
    for speaker in ("user", "assistant", "system", "Mia", None):
        mem.remember(f"by {speaker}", speaker=speaker, session_id="s")
    messages = FivefoldChatHistory(mem, "s").messages
    assert [(message.type, message.name) for message in messages] == [
        ("human", None),
        ("ai", None),
        ("system", None),
        ("human", "Mia"),
        ("human", None),
    ]


def test_a_turn_that_was_changed_says_what_it_says_now(mem: Engine) -> None:
    history = FivefoldChatHistory(mem, "s")
    history.add_messages([HumanMessage("My password is hunter2", id="h"), AIMessage("I will not tell.", id="a")])
    turn = mem.turns("s")[0]
    mem.update(turn.id, content="(removed)")
    assert history.messages == [HumanMessage("(removed)", id=turn.id), AIMessage("I will not tell.", id="a")]


def test_what_is_too_long_to_keep_is_said(mem: Engine) -> None:
    history = FivefoldChatHistory(mem, "s")
    with pytest.raises(InvalidInput, match="refer to images and files by URL"):
        history.add_user_message("x" * 100_001)
    with pytest.raises(InvalidInput, match="session_id is empty"):
        FivefoldChatHistory(mem, " ")


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_chain_with_history_remembers_what_was_said(mem: Engine) -> None:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])

    def history(session_id: str) -> BaseChatMessageHistory:
        return FivefoldChatHistory(mem, session_id)

    chain = RunnableWithMessageHistory(
        prompt | FakeListChatModel(responses=["Noted.", "Bertha."]),
        history,
        input_messages_key="question",
        history_messages_key="history",
    )
    config: Any = {"configurable": {"session_id": "bread"}}
    chain.invoke({"question": "My starter is called Bertha"}, config)
    assert chain.invoke({"question": "What is it called?"}, config).content == "Bertha."
    asyncio.run(chain.ainvoke({"question": "Feed it"}, config))
    assert [turn.content for turn in mem.turns("bread")] == [
        "My starter is called Bertha",
        "Noted.",
        "What is it called?",
        "Bertha.",
        "Feed it",
        "Noted.",
    ]
