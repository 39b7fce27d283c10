"""Messages become turns of a session: roles are speakers, the order is that of the turns.

The id of a turn follows from its message, so that the same messages, sent again or as part of a longer history, are
stored once. A message is known by its own id; without one by its session, speaker, text and time; without a time
by how many equal ones came before it in the same call.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from fivefold.errors import InvalidInput
from fivefold.settings import Settings
from fivefold.values.ids import replay_id
from fivefold.values.json_shapes import require_list
from fivefold.values.limits import MAX_NAME
from fivefold.values.memory import Record, origin_of
from fivefold.values.records import record_of
from fivefold.values.shorten import shorten
from fivefold.values.validate import checked_name
from fivefold.writing.messages.message import Message, looks_like_message, read_message
from fivefold.writing.messages.parts import ToolText


def is_message(item: object) -> bool:
    """Whether a thing to remember is a message or a conversation of them, and no record."""
    return (isinstance(item, Mapping) and "messages" in item) or looks_like_message(item)


class MessageReader:
    """Reads the messages of one call. `left_out` counts what has no text to remember, or is not wanted."""

    def __init__(self, settings: Settings) -> None:
        self.left_out: Counter[str] = Counter()
        self._settings = settings
        self._seen: Counter[str] = Counter()
        self._tools: dict[str, str] = {}

    def conversation(self, messages: Iterable[object], session_id: str) -> list[Record]:
        """The turns of all messages; an error names the number of the message."""
        if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):
            raise InvalidInput("should be a list of messages", field="messages")
        session, turns = checked_name(session_id, "session_id"), []
        at: datetime | str | None = None
        for number, item in enumerate(messages, 1):
            try:
                message = read_message(item, self._tools)
                at = message.at or at
                turns += list(self._turns(message, session, at))
            except InvalidInput as error:
                raise error.within(f"message {number}") from None
        return turns

    def item(self, item: object) -> list[Record]:
        """A message or a conversation that names its session itself."""
        session = item.get("session_id") if isinstance(item, Mapping) else getattr(item, "session_id", None)
        if session is None:
            reason = "a message belongs to a session; give its session_id"
            raise InvalidInput(reason, field="session_id", statement=reason)
        if isinstance(item, Mapping) and "messages" in item:
            return self.conversation(require_list(item["messages"], "messages"), session)
        name = checked_name(session, "session_id")
        message = read_message(item, self._tools)
        return list(self._turns(message, name, message.at))

    def notes(self) -> tuple[str, ...]:
        """What a report says of the messages and parts that are not remembered."""
        counts = ", ".join(f"{what} ({count})" for what, count in sorted(self.left_out.items()))
        return (f"left out of the messages: {counts}",) if counts else ()

    def _turns(self, message: Message, session: str, at: datetime | str | None) -> Iterator[Record]:
        """What is said is one turn, what tools are asked and answer another, each as far as the settings want it."""
        self.left_out += message.left_out
        tools = self._tool_text(message.tool_texts)
        if message.text and message.role == "system" and self._settings.system_messages == "skip":
            self.left_out["system messages"] += 1
        elif message.text:
            yield self._turn(message, session, at, message.speaker, message.text)
        elif not message.tool_texts and not message.left_out:
            self.left_out["empty messages"] += 1
        if tools:
            yield self._turn(message, session, at, "tool", tools, [text.tool for text in message.tool_texts])

    def _tool_text(self, texts: Iterable[ToolText]) -> str:
        lines = []
        for text in texts:
            if self._settings.tool_messages == "skip":
                self.left_out["results of tools" if text.result else "calls of tools"] += 1
            elif self._settings.tool_messages == "short":
                lines.append(shorten(text.line(), self._settings.tool_length))
            else:
                lines.append(text.line())
        return "\n".join(lines)

    def _turn(
        self,
        message: Message,
        session: str,
        at: datetime | str | None,
        speaker: str,
        text: str,
        tools: Iterable[str] = (),
    ) -> Record:
        about = {"tools": list(dict.fromkeys(tools))} if tools else {}
        content = text.replace("\x00", "\ufffd")
        return record_of(
            {
                "id": self._id(message, session, speaker, content),
                "content": content,
                "speaker": shorten(speaker, MAX_NAME),
                "session_id": session,
                "event_at": at,
                "origin": "tool" if tools else origin_of(message.role),
                "metadata": about,
            }
        )

    def _id(self, message: Message, session: str, speaker: str, text: str) -> str:
        if message.id is not None:
            part = ":tool" if speaker == "tool" and message.role != "tool" else ""
            readable = f"{session}:{message.id}{part}"
            if len(readable) <= MAX_NAME and readable.isprintable() and readable == readable.strip():
                return readable
            return replay_id(readable, 1)
        canonical = json.dumps([session, speaker, text, str(message.at or "")], ensure_ascii=False)
        self._seen[canonical] += 1
        try:
            return replay_id(canonical, self._seen[canonical])
        except UnicodeEncodeError:
            raise InvalidInput("holds half a surrogate pair; it is not valid Unicode text", field="content") from None
