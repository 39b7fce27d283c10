"""AutoGen: a memory for agents, which can be saved as a component and loaded again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeVar, Unpack, cast

from fivefold.adapters.hits import (
    CallOptions,
    all_memories,
    checked_options,
    hit_block,
    hit_lines,
    hit_metadata,
    hit_text,
    store_location,
)
from fivefold.engine import Engine
from fivefold.engine import open as open_engine
from fivefold.engine.async_engine import AsyncEngine, threads_of
from fivefold.errors import InvalidInput, MissingExtra, NotFound
from fivefold.values.filters import Filter, MetadataTest
from fivefold.values.memory import Memory as StoredMemory
from fivefold.values.recall import Hit, Recall

try:
    from autogen_core import CancellationToken, Component
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import LLMMessage, SystemMessage, UserMessage
    from pydantic import BaseModel, ConfigDict
except ImportError as _error:
    raise MissingExtra("the AutoGen adapter", "autogen") from _error

LIBRARY = "autogen"
T = TypeVar("T")


class FivefoldMemoryConfig(BaseModel):
    """The store and namespace that a saved memory opens, and its keywords of `Engine.recall`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    store: str
    namespace: str = "default"
    options: dict[str, Any] = {}


class FivefoldMemory(Memory, Component[FivefoldMemoryConfig]):
    """Puts the memories that the last question of a chat recalls before its answer, as quotes inside a fence."""

    component_config_schema = FivefoldMemoryConfig
    component_provider_override = "fivefold.adapters.autogen.FivefoldMemory"

    def __init__(self, engine: Engine, **options: Unpack[CallOptions]) -> None:
        """`options` are keywords of `Engine.recall`; a query may override them."""
        self.engine: Engine = engine
        self.options: dict[str, Any] = checked_options(options)

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        question = _last_question(await model_context.get_messages())
        if question is None:
            return UpdateContextResult(memories=MemoryQueryResult(results=[]))
        answer = await AsyncEngine(self.engine).recall(question, **self.options)
        if answer:
            await model_context.add_message(SystemMessage(content=hit_block(hit_lines(answer))))
        return UpdateContextResult(memories=_result(answer))

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """`kwargs` are keywords of `Engine.recall`."""
        question = query if isinstance(query, str) else _text(query)
        options = {**self.options, **checked_options(kwargs)}
        return _result(await _run(AsyncEngine(self.engine).recall(question, **options), cancellation_token))

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Texts and JSON; the metadata can be filtered by, as in `meta.room=hall`."""
        mime = content.mime_type.value if isinstance(content.mime_type, MemoryMimeType) else content.mime_type
        metadata = {**(content.metadata or {}), LIBRARY: {"added": True, "mime_type": mime}}
        await _run(AsyncEngine(self.engine).remember(_text(content), metadata=metadata), cancellation_token)

    async def clear(self) -> None:
        """Forget what was added by AutoGen; other memories of the namespace stay."""
        await threads_of(self.engine.store).run("write", self._clear)

    def _clear(self) -> None:
        added = Filter(metadata=(MetadataTest(key=f"{LIBRARY}.added", any_of=(True,)),))
        for memory in list(all_memories(self.engine, added)):
            with suppress(NotFound):
                self.engine.forget(memory.id)

    async def close(self) -> None:
        """Nothing to do: writes are already on disk, and the engine stays open for its other users."""

    def _to_config(self) -> FivefoldMemoryConfig:
        return FivefoldMemoryConfig(**store_location(self.engine), options=dict(self.options))

    @classmethod
    def _from_config(cls, config: FivefoldMemoryConfig) -> FivefoldMemory:
        engine = open_engine(config.store, namespace=config.namespace)
        return cls(engine, **cast(CallOptions, config.options))


async def _run(call: Coroutine[Any, Any, T], token: CancellationToken | None) -> T:
    task = asyncio.ensure_future(call)
    if token is not None:
        token.link_future(task)
    return await task


def _text(content: MemoryContent) -> str:
    if isinstance(content.content, dict):
        return json.dumps(content.content, ensure_ascii=False)
    if isinstance(content.content, str):
        return content.content
    raise InvalidInput("only texts and JSON can be remembered; describe an image or a file in words, with its URL")


def _result(answer: Recall) -> MemoryQueryResult:
    return MemoryQueryResult(results=[_content(answer, hit) for hit in answer])


def _content(answer: Recall, hit: Hit) -> MemoryContent:
    memory: StoredMemory = hit.memory
    metadata = {**memory.metadata, **hit_metadata(answer, hit)}
    mime = str((metadata.pop(LIBRARY, None) or {}).get("mime_type", MemoryMimeType.TEXT.value))
    text = hit_text(hit)
    if mime == MemoryMimeType.JSON.value:
        with suppress(ValueError):
            return MemoryContent(content=json.loads(text), mime_type=mime, metadata=metadata)
    return MemoryContent(content=text, mime_type=mime, metadata=metadata)


def _last_question(messages: Sequence[LLMMessage]) -> str | None:
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            parts = [message.content] if isinstance(message.content, str) else message.content
            return " ".join(part for part in parts if isinstance(part, str)) or None
    return None
