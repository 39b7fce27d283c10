"""Hermes Agent: a memory provider, which recalls before each turn and stores it afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Unpack

from fivefold.adapters.hits import CallOptions, checked_options, hit_block, hit_lines, hit_metadata, hit_text, storable
from fivefold.engine import Engine, SharedStore
from fivefold.engine import store as open_store
from fivefold.errors import FivefoldError, InvalidInput, MissingExtra
from fivefold.values.validate import MAX_TEXT, visible

try:
    from agent.memory_provider import MemoryProvider
except ImportError as _error:
    raise MissingExtra("the Hermes adapter", "hermes") from _error

RECALL, REMEMBER = "fivefold_recall", "fivefold_remember"


class FivefoldMemoryProvider(MemoryProvider):
    """A namespace for each profile of Hermes, in a gateway for each user; the store is a file in the profile's home.

    `store` is another store to use, which stays open for its other users; `options` are keywords of `Engine.recall`.
    """

    def __init__(self, store: SharedStore | None = None, **options: Unpack[CallOptions]) -> None:
        self.options: dict[str, Any] = checked_options(options)
        self._given = store
        self._store: SharedStore | None = None
        self._engine: Engine | None = None
        self._session = ""
        self._writes = True

    @property
    def name(self) -> str:
        return "fivefold"

    @property
    def engine(self) -> Engine:
        """The engine of the profile or user, after `initialize`."""
        if self._engine is None:
            raise InvalidInput("the provider is not initialized; Hermes does that when a session begins")
        return self._engine

    def is_available(self) -> bool:
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Open the store; only the primary agent of a session writes, not its helpers and timed tasks."""
        self.shutdown()
        self._store = self._given or open_store(Path(kwargs["hermes_home"]) / "fivefold.db")
        profile = str(kwargs.get("agent_identity") or "default")
        user = kwargs.get("user_id")
        self._engine = self._store.namespace(f"{profile} {kwargs.get('platform', '')}:{user}" if user else profile)
        self._session = session_id
        self._writes = kwargs.get("agent_context", "primary") == "primary"

    def system_prompt_block(self) -> str:
        return (
            f"Memories of earlier conversations come with each turn; {RECALL} finds others, {REMEMBER} stores a fact."
        )

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """The memories that answer a turn, as quotes, without those of its own session; empty if nothing answers."""
        if not visible(query):
            return ""
        answer = self.engine.recall(storable(query)[:MAX_TEXT], **self.options)
        running = session_id or self._session
        return hit_block(hit_lines(answer, frozenset(h.memory.id for h in answer if h.memory.session_id == running)))

    def sync_turn(
        self, user_content: str, assistant_content: str, *, session_id: str = "", messages: object = None
    ) -> None:
        """Store what both said; `messages` holds nothing else that is remembered."""
        said = (("user", user_content), ("assistant", assistant_content))
        turns = [{"role": role, "content": storable(text)} for role, text in said if visible(text)]
        if self._writes and turns:
            self.engine.remember_messages(turns, session_id=session_id or self._session)

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        self._session = new_session_id

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        question = {"type": "string", "description": "What you want to know, in plain words"}
        fact = {"type": "string", "description": "The fact, as a sentence that makes sense alone"}
        return [
            _tool(RECALL, "Find memories of earlier conversations.", "question", question),
            _tool(REMEMBER, "Store a fact for later conversations.", "content", fact),
        ]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """The answer as JSON; a refused value is named under `error`."""
        try:
            return json.dumps(self._called(tool_name, args), ensure_ascii=False, default=str)
        except FivefoldError as error:
            return json.dumps({"error": str(error)}, ensure_ascii=False)

    def _called(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        wanted = {RECALL: "question", REMEMBER: "content"}.get(tool)
        if wanted is None or set(args) != {wanted}:
            raise InvalidInput(f"{tool} takes {wanted} alone" if wanted else f"there is no tool {tool!r}")
        if tool == RECALL:
            answer = self.engine.recall(args[wanted], **self.options)
            return {"memories": [{**hit_metadata(answer, hit), "content": hit_text(hit)} for hit in answer]}
        if not self._writes:
            raise InvalidInput("only the primary agent of a session stores memories")
        return {"id": self.engine.remember(args[wanted]).id}

    def shutdown(self) -> None:
        """Close the store, unless it was given."""
        if self._store is not None and self._store is not self._given:
            self._store.close()
        self._store = self._engine = None


def _tool(name: str, description: str, field: str, schema: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {field: schema}, "required": [field], "additionalProperties": False}
    return {"name": name, "description": description, "parameters": parameters}


def register(context: Any) -> None:
    """Called by Hermes, which looks for this in a folder of its plugins or under an entry point."""
    context.register_memory_provider(FivefoldMemoryProvider())
