"""LangChain: a retriever for chains, and chat histories that are remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar, Unpack

from fivefold.adapters.hits import (
    AsyncChatSession,
    CallOptions,
    ChatSession,
    SessionMessage,
    hit_metadata,
    hit_text,
    recall,
    recall_async,
    text_or_placeholder,
)
from fivefold.engine import Engine
from fivefold.errors import MissingExtra
from fivefold.retrieval.plan import RecipeChoice
from fivefold.values.filters import FilterInput
from fivefold.values.memory import ROLES, Memory
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Effort

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        message_to_dict,
        messages_from_dict,
    )
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, SkipValidation
except ImportError as _error:
    raise MissingExtra("the LangChain adapter", "langchain") from _error

_SPEAKERS = {"human": "user", "ai": "assistant"}


class FivefoldRetriever(BaseRetriever):
    """The memories that answer a question, as documents. `invoke(question, k=3)` overrides a field for one call.

    A call may also give the other keywords of `Engine.recall`, such as `now`.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    engine: Engine
    k: int = 10
    recipe: SkipValidation[RecipeChoice] = "default"
    effort: Effort = "normal"
    session_id: str | None = None
    min_chance: float | None = None
    filter: SkipValidation[FilterInput | None] = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Unpack[CallOptions]
    ) -> list[Document]:
        return _documents(recall(self, query, **options))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Unpack[CallOptions]
    ) -> list[Document]:
        return _documents(await recall_async(self, query, **options))


class FivefoldChatHistory(BaseChatMessageHistory):
    """The messages of one session. Each is a turn that can be recalled, and comes back unchanged."""

    def __init__(self, engine: Engine, session_id: str) -> None:
        self._chat = ChatSession(engine, session_id, "langchain")
        self._calls = AsyncChatSession(self._chat)

    @property
    def session_id(self) -> str:
        return self._chat.session_id

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        return [self._message(turn) for turn in self._chat.turns()]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self._chat.add([_session_message(message) for message in messages])

    def clear(self) -> None:
        self._chat.clear()

    async def aget_messages(self) -> list[BaseMessage]:
        return [self._message(turn) for turn in await self._calls.turns()]

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await self._calls.add([_session_message(message) for message in messages])

    async def aclear(self) -> None:
        await self._calls.clear()

    def _message(self, turn: Memory) -> BaseMessage:
        original = self._chat.original_message(turn)
        return messages_from_dict([original])[0] if original else _message_from_text(turn)


def _documents(answer: Recall) -> list[Document]:
    return [
        Document(id=hit.memory.id, page_content=hit_text(hit), metadata=hit_metadata(answer, hit)) for hit in answer
    ]


def _session_message(message: BaseMessage) -> SessionMessage:
    calls = " ".join(
        f"{call['name']} {json.dumps(call['args'], ensure_ascii=False, default=str)}"
        for call in getattr(message, "tool_calls", ())
    )
    text = text_or_placeholder(str(message.text), calls or f"({message.type} message without text)")
    kind = message.type.removesuffix("MessageChunk").lower()
    named = message.name or getattr(message, "role", None) or _SPEAKERS.get(kind, kind)
    return SessionMessage(text, str(named), message_to_dict(message))


def _message_from_text(turn: Memory) -> BaseMessage:
    """A turn that did not come from LangChain, as a message."""
    speaker = (turn.speaker or "user").casefold()
    if speaker in ("assistant", "ai"):
        return AIMessage(turn.content, id=turn.id)
    if speaker == "system":
        return SystemMessage(turn.content, id=turn.id)
    return HumanMessage(turn.content, id=turn.id, name=None if speaker in ROLES else turn.speaker)
