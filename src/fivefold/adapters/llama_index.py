"""LlamaIndex: a retriever for query engines, a block for its Memory, and a chat memory stored in fivefold."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from fivefold.adapters.hits import (
    AsyncChatSession,
    ChatSession,
    SessionMessage,
    block_lines,
    checked_engine,
    hit_block,
    hit_lines,
    hit_metadata,
    hit_text,
    recall,
    recall_async,
    text_or_placeholder,
)
from fivefold.engine import Engine
from fivefold.engine.async_engine import threads_of
from fivefold.errors import MissingExtra
from fivefold.retrieval.plan import RecipeChoice
from fivefold.values.filters import FilterInput
from fivefold.values.memory import Memory
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Effort
from fivefold.values.validate import MAX_K

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
    from llama_index.core.bridge.pydantic import ConfigDict, Field
    from llama_index.core.memory import BaseMemory, BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from pydantic import SkipValidation
except ImportError as _error:
    raise MissingExtra("the LlamaIndex adapter", "llama-index") from _error

LIBRARY = "llama_index"
_UNSEEN = ["id", "score", "rank", "routes", "recall_id", "session_id", "kind", "type", "superseded"]
"""Metadata that a model does not see."""


class FivefoldRetriever(BaseRetriever):
    """The memories that answer a question, as nodes with their scores."""

    def __init__(
        self,
        engine: Engine,
        k: int = 10,
        recipe: RecipeChoice = "default",
        effort: Effort = "normal",
        session_id: str | None = None,
        min_chance: float | None = None,
        filter: FilterInput | None = None,
        **options: Any,
    ) -> None:
        """`options` go to LlamaIndex's own retriever, such as a callback manager."""
        self.engine = checked_engine(engine)
        self.k = k
        self.recipe = recipe
        self.effort = effort
        self.session_id = session_id
        self.min_chance = min_chance
        self.filter = filter
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(recall(self, query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await recall_async(self, query_bundle.query_str))


class FivefoldMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory for LlamaIndex's `Memory`: messages that leave its queue are remembered and can be recalled."""

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str = "fivefold"
    engine: Engine = Field(exclude=True)
    k: int = 5
    recipe: SkipValidation[RecipeChoice] = "default"
    effort: Effort = "normal"
    session_id: str | None = None
    min_chance: float | None = None
    filter: SkipValidation[FilterInput | None] = None

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """LlamaIndex's memory names its session; a call of its `get` may override the other fields."""
        question = _last_user_text(messages or [])
        if question is None:
            return ""
        return hit_block(hit_lines(await recall_async(self, question, **block_kwargs)))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Messages of several sessions may come together; each names its session."""
        for session_id in dict.fromkeys(map(_session, messages)):
            of_session = [_session_message(message) for message in messages if _session(message) == session_id]
            await AsyncChatSession(ChatSession(self.engine, session_id, LIBRARY)).add(of_session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Drop the lowest-ranked memories first; four characters count as one token."""
        lines = block_lines(content)
        left = 4 * tokens_to_truncate
        while lines and left > 0:
            left -= len(lines.pop())
        return hit_block(lines) or None


class FivefoldMemory(BaseMemory):
    """A chat memory in fivefold: every message is stored at once; `get` gives the last ones and what they recall."""

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    engine: Engine = Field(exclude=True)
    session_id: str
    recent: int = Field(default=20, ge=0)
    k: int = Field(default=5, ge=0)
    recipe: SkipValidation[RecipeChoice] = "default"
    effort: Effort = "normal"
    min_chance: float | None = None
    filter: SkipValidation[FilterInput | None] = None

    @classmethod
    def class_name(cls) -> str:
        return "FivefoldMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> FivefoldMemory:
        return cls(**kwargs)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The last messages, preceded by other memories that answer the question they end with.

        `kwargs` override the fields for this call.
        """
        kwargs.pop("initial_token_count", None)  # LlamaIndex's chat engines give it to every memory
        most = self.k if (given := kwargs.pop("k", None)) is None else given
        turns = self._chat.last(self.recent)
        messages = [self._message(turn) for turn in turns]
        question = input or _last_user_text(messages)
        if question is None or most == 0:
            return messages
        recent = frozenset(turn.id for turn in turns)
        lines = hit_lines(recall(self, question, k=min(most + len(recent), MAX_K), **kwargs), recent)[:most]
        recalled = [ChatMessage(role=MessageRole.SYSTEM, content=hit_block(lines))] if lines else []
        return [*recalled, *messages]

    def get_all(self) -> list[ChatMessage]:
        return [self._message(turn) for turn in self._chat.turns()]

    def put(self, message: ChatMessage) -> None:
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        self._chat.add([_session_message(message) for message in messages])

    def set(self, messages: list[ChatMessage]) -> None:
        self.reset()
        self.put_messages(messages)

    def reset(self) -> None:
        self._chat.clear()

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        return await threads_of(self.engine.store).run("read", partial(self.get, input, **kwargs))

    async def aget_all(self) -> list[ChatMessage]:
        return [self._message(turn) for turn in await AsyncChatSession(self._chat).turns()]

    async def aput(self, message: ChatMessage) -> None:
        await self.aput_messages([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        await AsyncChatSession(self._chat).add([_session_message(message) for message in messages])

    async def aset(self, messages: list[ChatMessage]) -> None:
        await threads_of(self.engine.store).run("write", partial(self.set, messages))

    async def areset(self) -> None:
        await AsyncChatSession(self._chat).clear()

    @property
    def _chat(self) -> ChatSession:
        return ChatSession(self.engine, self.session_id, LIBRARY)

    def _message(self, turn: Memory) -> ChatMessage:
        original = self._chat.original_message(turn)
        return ChatMessage.model_validate(original) if original else _message_from_text(turn)


def _nodes(answer: Recall) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(
                id_=hit.memory.id,
                text=hit_text(hit),
                metadata=hit_metadata(answer, hit),
                excluded_llm_metadata_keys=_UNSEEN,
                excluded_embed_metadata_keys=_UNSEEN,
            ),
            score=hit.score,
        )
        for hit in answer
    ]


def _last_user_text(messages: list[ChatMessage]) -> str | None:
    texts = (message.content for message in reversed(messages) if message.role == MessageRole.USER)
    return next(filter(None, texts), None)


def _session(message: ChatMessage) -> str:
    return str(message.additional_kwargs.get("session_id", LIBRARY))


def _session_message(message: ChatMessage) -> SessionMessage:
    calls = " ".join(f"{b.tool_name} {b.tool_kwargs}" for b in message.blocks if isinstance(b, ToolCallBlock))
    role = message.role.value
    text = text_or_placeholder(message.content or "", calls or f"({role} message without text)")
    return SessionMessage(text, role, message.model_dump(mode="json"))


def _message_from_text(turn: Memory) -> ChatMessage:
    """A turn that did not come from LlamaIndex, as a message."""
    role = {"assistant": MessageRole.ASSISTANT, "ai": MessageRole.ASSISTANT, "system": MessageRole.SYSTEM}
    return ChatMessage(role=role.get((turn.speaker or "").casefold(), MessageRole.USER), content=turn.content)
