"""OpenAI Agents SDK: a session whose items are remembered and come back unchanged."""

from __future__ import annotations

from typing import Any, cast

from fivefold.adapters.hits import AsyncChatSession, ChatSession, SessionMessage, text_or_placeholder
from fivefold.engine import Engine
from fivefold.errors import MissingExtra, StoreClosed
from fivefold.values.memory import Memory
from fivefold.values.serialize import Json

try:
    from agents import TResponseInputItem
    from agents.memory.session import SessionABC
    from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit
except ImportError as _error:
    raise MissingExtra("the OpenAI Agents adapter", "openai-agents") from _error


class FivefoldSession(SessionABC):
    """The items of one conversation, for `Runner.run(…, session=…)`. Reads and writes run in threads."""

    session_settings: SessionSettings | None = None

    def __init__(
        self, engine: Engine, session_id: str, session_settings: SessionSettings | dict[str, Any] | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self._chat = ChatSession(engine, session_id, "openai_agents")
        self._closed = False

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """All items, or the last `limit`, oldest first."""
        most = resolve_session_limit(limit, self.session_settings)
        turns = await (self._calls.turns() if most is None else self._calls.last(most))
        return [self._item(turn) for turn in turns]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        await self._calls.add([_session_message(cast(Json, item)) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Forget the last item and return it."""
        turn = await self._calls.pop()
        return None if turn is None else self._item(turn)

    async def clear_session(self) -> None:
        await self._calls.clear()

    async def close(self) -> None:
        """End the use of this session; using it afterwards is an error. The engine stays open, for its other users."""
        self._closed = True

    @property
    def _calls(self) -> AsyncChatSession:
        if self._closed:
            raise StoreClosed("this session was closed; make another FivefoldSession of the engine")
        return AsyncChatSession(self._chat)

    def _item(self, turn: Memory) -> TResponseInputItem:
        return cast(TResponseInputItem, self._chat.original_message(turn) or _message_from_text(turn))


def _session_message(item: Json) -> SessionMessage:
    """A message as its text; other items as the words in them, so that they can be recalled too."""
    kind = str(item.get("type", "message"))
    if "role" in item:
        return SessionMessage(
            text_or_placeholder(_text(item.get("content")), f"({kind} without text)"), str(item["role"]), item
        )
    if "name" in item and "arguments" in item:
        return SessionMessage(f"{item['name']} {item['arguments']}", "assistant", item)
    if "output" in item:
        return SessionMessage(text_or_placeholder(_text(item["output"]), f"({kind})"), "tool", item)
    return SessionMessage(text_or_placeholder(_text(item.get("summary")), f"({kind})"), "assistant", item)


def _text(content: Any) -> str:
    """The words of a text or of the parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _message_from_text(turn: Memory) -> Json:
    """A turn that did not come from this SDK, as a message."""
    speaker = (turn.speaker or "user").casefold()
    role = {"ai": "assistant", "assistant": "assistant", "system": "system"}.get(speaker, "user")
    return {"role": role, "content": turn.content}
