"""LlamaIndex: a retriever for query engines, a block for its Memory, and a memory that keeps all in fivefold."""

from __future__ import annotations

import asyncio
from typing import Any

from fivefold.adapters.found import details, listed
from fivefold.adapters.turns import Said, Talk, spoken
from fivefold.engine import Engine
from fivefold.errors import MissingExtra
from fivefold.values.memory import Memory
from fivefold.values.recall import Effort
from fivefold.values.validate import MAX_K

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
    from llama_index.core.bridge.pydantic import ConfigDict, Field
    from llama_index.core.memory import BaseMemory, BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtra("the LlamaIndex adapter", "llama-index") from error

LIBRARY = "llama_index"
_UNSEEN = ["id", "score", "rank", "routes", "recall_id", "session_id", "kind", "type", "superseded"]
"""What a model is not shown beside a memory's text."""

RECALLED = "What is remembered from earlier:"


class FivefoldRetriever(BaseRetriever):
    """The memories that answer a question, as nodes with their scores."""

    def __init__(
        self, engine: Engine, k: int = 10, recipe: str = "default", effort: Effort = "normal", **given: Any
    ) -> None:
        """`given` goes to LlamaIndex's own retriever, as a callback manager does."""
        self.engine, self.k, self.recipe, self.effort = engine, k, recipe, effort
        super().__init__(**given)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answer = self.engine.recall(query_bundle.query_str, self.k, recipe=self.recipe, effort=self.effort)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.memory.id,
                    text=hit.memory.content,
                    metadata=details(answer, hit),
                    excluded_llm_metadata_keys=_UNSEEN,
                    excluded_embed_metadata_keys=_UNSEEN,
                ),
                score=hit.score,
            )
            for hit in answer
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class FivefoldMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory for LlamaIndex's `Memory`: what leaves its queue is remembered, what answers is recalled."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = "fivefold"
    engine: Engine = Field(exclude=True)
    k: int = 5
    recipe: str = "default"

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        question = _last_asked(messages or [])
        if question is None:
            return ""
        answer = await asyncio.to_thread(self.engine.recall, question, self.k, recipe=self.recipe)
        return "\n".join(listed(answer))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Messages of several sessions may come together; each says which it is of."""
        for session_id in dict.fromkeys(map(_session, messages)):
            said = [_said(message) for message in messages if _session(message) == session_id]
            await asyncio.to_thread(Talk(self.engine, session_id, LIBRARY).add, said)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The memories that answer least go first; four characters count as a token."""
        lines = content.split("\n- ")
        left = 4 * tokens_to_truncate
        while lines and left > 0:
            left -= len(lines.pop())
        return "\n- ".join(lines) or None


class FivefoldMemory(BaseMemory):
    """A chat's memory in fivefold: every message is a turn at once; `get` gives the last ones and what they recall."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Engine = Field(exclude=True)
    session_id: str
    recent: int = Field(default=20, ge=0)
    k: int = Field(default=5, ge=0)
    recipe: str = "default"

    @classmethod
    def class_name(cls) -> str:
        return "FivefoldMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> FivefoldMemory:
        return cls(**kwargs)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The last messages, and before them what else is remembered about the question they end with."""
        turns = self._talk.last(self.recent)
        messages = [self._message(turn) for turn in turns]
        question = input or _last_asked(messages)
        if question is None or self.k == 0:
            return messages
        shown = frozenset(turn.id for turn in turns)
        answer = self.engine.recall(question, min(self.k + len(shown), MAX_K), recipe=self.recipe)
        lines = listed(answer, shown)[: self.k]
        recalled = [ChatMessage(role=MessageRole.SYSTEM, content="\n".join([RECALLED, *lines]))] if lines else []
        return [*recalled, *messages]

    def get_all(self) -> list[ChatMessage]:
        return [self._message(turn) for turn in self._talk.turns()]

    def put(self, message: ChatMessage) -> None:
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        self._talk.add([_said(message) for message in messages])

    def set(self, messages: list[ChatMessage]) -> None:
        self.reset()
        self.put_messages(messages)

    def reset(self) -> None:
        self._talk.clear()

    @property
    def _talk(self) -> Talk:
        return Talk(self.engine, self.session_id, LIBRARY)

    def _message(self, turn: Memory) -> ChatMessage:
        kept = self._talk.kept(turn)
        return ChatMessage.model_validate(kept) if kept else _plain(turn)


def _last_asked(messages: list[ChatMessage]) -> str | None:
    asked = (message.content for message in reversed(messages) if message.role == MessageRole.USER)
    return next(filter(None, asked), None)


def _session(message: ChatMessage) -> str:
    return str(message.additional_kwargs.get("session_id", LIBRARY))


def _said(message: ChatMessage) -> Said:
    calls = " ".join(f"{b.tool_name} {b.tool_kwargs}" for b in message.blocks if isinstance(b, ToolCallBlock))
    role = message.role.value
    text = spoken(message.content or "", calls or f"({role} message without text)")
    return Said(text, role, message.model_dump(mode="json"))


def _plain(turn: Memory) -> ChatMessage:
    """A turn that was remembered by other means, as the message it would have been."""
    role = {"assistant": MessageRole.ASSISTANT, "ai": MessageRole.ASSISTANT, "system": MessageRole.SYSTEM}
    return ChatMessage(role=role.get((turn.speaker or "").casefold(), MessageRole.USER), content=turn.content)
