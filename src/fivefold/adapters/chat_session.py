"""Messages of other libraries as turns of a session: their text can be recalled, and each comes back unchanged."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fivefold.engine import Engine
from fivefold.engine.async_calls import AsyncCalls, reading, threads_of, writing
from fivefold.errors import InvalidInput, NotFound
from fivefold.values.limits import MAX_TEXT
from fivefold.values.memory import Memory
from fivefold.values.serialize import Json
from fivefold.values.validate import checked_name, visible

_BROKEN = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """A message to store in a session: its text, its speaker, and the message itself as JSON."""

    text: str
    speaker: str
    content: Json


@dataclass(frozen=True, slots=True)
class ChatSession:
    """One session of an engine, used by one library; a turn's metadata keeps the message under `framework`."""

    engine: Engine
    session_id: str
    framework: str

    def __post_init__(self) -> None:
        checked_name(self.session_id, "session_id")

    def turns(self) -> list[Memory]:
        """All turns, oldest first; empty for a new session."""
        try:
            return self.engine.turns(self.session_id)
        except NotFound:
            return []

    def last(self, most: int) -> list[Memory]:
        """The last turns, oldest first, without reading the others."""
        return self.engine.last_turns(self.session_id, most) if most > 0 else []

    def original_message(self, turn: Memory) -> Json | None:
        """The message a turn was made from; None if the turn came from elsewhere or its text has changed."""
        message = turn.metadata.get(self.framework)
        same = turn.metadata.get(self._stamp) == _digest(turn.content)
        return message if same and isinstance(message, dict) else None

    def add(self, messages: Sequence[SessionMessage]) -> None:
        if messages:
            self.engine.remember_many([self._record(message) for message in messages])

    def pop(self) -> Memory | None:
        """Forget the last turn and return it; a turn that another process forgets first is skipped."""
        while turns := self.last(1):
            try:
                return self.engine.forget(turns[-1].id)
            except NotFound:
                continue
        return None

    def clear(self) -> None:
        try:
            self.engine.forget_session(self.session_id)
        except NotFound:
            return

    def _record(self, message: SessionMessage) -> Json:
        size = len(json.dumps(message.content, ensure_ascii=False, default=str))
        if size > MAX_TEXT - 100:
            raise InvalidInput(
                f"a message of {size:,} characters is too long to store; the limit is {MAX_TEXT - 100:,}; "
                "refer to images and files by URL instead of including them"
            )
        text = _BROKEN.sub("\ufffd", message.text).strip()
        return {
            "content": text,
            "speaker": message.speaker,
            "session_id": self.session_id,
            "metadata": {self.framework: message.content, self._stamp: _digest(text)},
        }

    @property
    def _stamp(self) -> str:
        """The metadata key for the digest of the text that belongs to the message."""
        return f"{self.framework}_digest"


class AsyncChatSession(AsyncCalls[ChatSession]):
    """The methods of a session that reach the store, awaited."""

    def __init__(self, chat: ChatSession) -> None:
        super().__init__(chat, threads_of(chat.engine.store))

    turns = reading(ChatSession.turns)
    last = reading(ChatSession.last)
    add = writing(ChatSession.add)
    pop = writing(ChatSession.pop)
    clear = writing(ChatSession.clear)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def text_or_placeholder(text: str, placeholder: str) -> str:
    """The text of a message, or a placeholder for a message without text."""
    return text if visible(text) else placeholder
