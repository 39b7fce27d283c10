"""Google's Agent Development Kit: a memory service, in which each user of an app has a namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Unpack

from fivefold.adapters.hits import (
    CallOptions,
    checked_options,
    checked_store,
    hit_metadata,
    hit_text,
    namespace_name,
    storable,
)
from fivefold.engine import SharedStore
from fivefold.engine.async_engine import AsyncEngine
from fivefold.errors import MissingExtra, NotFound
from fivefold.values.serialize import Json
from fivefold.values.times import iso
from fivefold.values.validate import visible

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part
except ImportError as _error:
    raise MissingExtra("the Google ADK adapter", "google-adk") from _error

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session


class FivefoldMemoryService(BaseMemoryService):
    """The memory of all users of a `Runner`: what `guide` learns of `ana` is in the namespace `guide.ana`.

    Events become turns of their session, known by their ids: a session that has grown adds only what is new, and what
    was deleted stays away.
    """

    def __init__(self, store: SharedStore, **options: Unpack[CallOptions]) -> None:
        """`options` are keywords of `Engine.recall`, for every search."""
        self.store: SharedStore = checked_store(store)
        self.options: dict[str, Any] = checked_options(options)

    async def add_session_to_memory(self, session: Session) -> None:
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Without a session the events are notes."""
        records = [
            {
                "id": event.id or None,
                "content": text,
                "speaker": event.author or "user",
                "origin": "user" if event.author in ("", "user") else "assistant",
                "session_id": session_id,
                "event_at": datetime.fromtimestamp(event.timestamp, UTC),
                "metadata": dict(custom_metadata or {}),
            }
            for event in events
            if visible(text := _text(event.content))
        ]
        await self._remember(app_name, user_id, records)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        records = [
            {
                "id": entry.id,
                "content": _text(entry.content),
                "speaker": entry.author,
                "event_at": entry.timestamp,
                "metadata": {**entry.custom_metadata, **(custom_metadata or {})},
            }
            for entry in memories
        ]
        await self._remember(app_name, user_id, records)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        answer = await self._engine(app_name, user_id).recall(query, **self.options)
        return SearchMemoryResponse(
            memories=[
                MemoryEntry(
                    id=hit.memory.id,
                    content=Content(role="user", parts=[Part(text=hit_text(hit))]),
                    author=(metadata := hit_metadata(answer, hit))["speaker"],
                    timestamp=iso(hit.memory.event_at),
                    custom_metadata=metadata,
                )
                for hit in answer
            ]
        )

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        if memory_id:
            with suppress(NotFound):
                await self._engine(app_name, user_id).forget(memory_id)

    async def _remember(self, app_name: str, user_id: str, records: Sequence[Json]) -> None:
        if records:
            await self._engine(app_name, user_id).remember_many(records)

    def _engine(self, app_name: str, user_id: str) -> AsyncEngine:
        return AsyncEngine(self.store.namespace(namespace_name((app_name, user_id))))


def _text(content: Content | None) -> str:
    """The words of the parts, without a model's thoughts."""
    parts = (content.parts if content else None) or []
    return storable(" ".join(part.text for part in parts if part.text and not part.thought))
