"""Messages of a conversation as OpenAI, Anthropic and LangChain send them, and the turns they become."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from fivefold.errors import InvalidInput
from fivefold.settings import Settings
from fivefold.values.memory import Record, origin_of, record_of
from fivefold.values.serialize import Json
from fivefold.values.times import replay_id
from fivefold.values.validate import (
    MAX_NAME,
    checked_name,
    optional_time,
    require_list,
    require_object,
    require_text,
    shorten,
    visible,
)

TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Parts of plain text, and the field that has it."""

IMAGES = frozenset({"image", "image_url", "image_file", "input_image"})
SOUNDS = frozenset({"audio", "input_audio"})
FILES = frozenset({"file", "input_file", "document", "container_upload"})
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
CALLS = frozenset({"tool_use", "tool_call", "function_call", "custom_tool_call", "server_tool_use", "mcp_tool_use"})
RESULTS = ("tool_result", "call_output")
"""Endings of the types of results: `web_search_tool_result`, `function_call_output`."""

_CAPTIONS = ("caption", "alt", "alt_text", "description", "title")
_INSIDE = ("image_url", "source", "image", "metadata", "extras")
_ARGUMENTS = ("input", "args", "arguments")
_CALL_IDS = ("call_id", "tool_call_id", "tool_use_id", "id")


@dataclass(frozen=True, slots=True)
class ToolText:
    """A message's text of a tool: its call with arguments, or its answer."""

    tool: str
    text: str
    result: bool

    def line(self) -> str:
        return f"{'Result' if self.result else 'Call'} of {self.tool}: {self.text}"


@dataclass(slots=True)
class Content:
    """The content of one message by what it is. `tools` has the name of each tool by the id of its call."""

    tools: dict[str, str]
    texts: list[str] = field(default_factory=list)
    tool_texts: list[ToolText] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, content: object) -> None:
        """Read a text, a part or a list of parts; nothing for None."""
        if isinstance(content, str):
            self.texts.append(content)
        elif isinstance(content, Mapping):
            self._add_part(content)
        elif isinstance(content, Iterable):
            for number, part in enumerate(content, 1):
                try:
                    self.add(part if isinstance(part, str) else require_object(part, "it"))
                except InvalidInput as error:
                    raise error.within(f"part {number}") from None
        elif content is not None:
            raise InvalidInput(f"should be a text or a list of parts, not {type(content).__name__}", field="content")

    def call(self, call: Mapping[str, object]) -> None:
        """A call of a tool, which the chats of OpenAI nest once more."""
        inner = next((call[name] for name in ("function", "custom") if isinstance(call.get(name), Mapping)), call)
        data = require_object(inner, "a call")
        name = require_text(data.get("name"), "the name of a call")
        for key in _CALL_IDS:
            if isinstance(call.get(key), str):
                self.tools[str(call[key])] = name
        arguments = next((data[key] for key in _ARGUMENTS if data.get(key) is not None), "")
        self.tool_texts.append(ToolText(name, _as_text(arguments), False))

    def result(self, result: Mapping[str, object]) -> None:
        """Adds a tool's answer: a text, parts or any JSON."""
        id = next((str(result[key]) for key in _CALL_IDS if isinstance(result.get(key), str)), "")
        name = result.get("name")
        tool = name if isinstance(name, str) and name else self.tools.get(id, "a tool")
        answer = result.get("content", result.get("output"))
        if isinstance(answer, list):
            inner = Content(self.tools)
            inner.add([part if isinstance(part, str | dict) else _as_text(part) for part in answer])
            self.left_out += inner.left_out
            answer = "\n".join(inner.texts)
        self.tool_texts.append(ToolText(tool, "" if answer is None else _as_text(answer), True))

    def _add_part(self, part: Mapping[str, object]) -> None:
        kind = part.get("type", "text" if isinstance(part.get("text"), str) else None)
        if not isinstance(kind, str):
            raise InvalidInput("a part has a type, such as text", field="type", statement="a part has no type")
        if kind in TEXTS:
            self.texts.append(require_text(part.get(TEXTS[kind]), f"the {kind} of a part"))
        elif kind in CALLS:
            self.call(part)
        elif kind.endswith(RESULTS):
            self.result(part)
        elif kind in IMAGES:
            self._captioned(part, "image", "images without a caption")
        elif kind in SOUNDS:
            self._captioned(part, "recording", "recordings without a transcript")
        elif kind in FILES:
            self._captioned(part, "file", "files without a title")
        else:
            self.left_out["thoughts" if kind in THOUGHTS else f"parts of type {kind}"] += 1

    def _captioned(self, part: Mapping[str, object], noun: str, missing: str) -> None:
        """Remembers a part that is not text by its name or caption, if it has one."""
        inside = [part[name] for name in _INSIDE if isinstance(part.get(name), Mapping)]
        fields = (*_CAPTIONS, "transcript") if noun == "recording" else _CAPTIONS
        found = (place.get(name) for place in (part, *inside) if isinstance(place, Mapping) for name in fields)
        caption = next((text for text in found if isinstance(text, str) and visible(text)), None)
        if caption is None:
            self.left_out[missing] += 1
        else:
            self.texts.append(f"[{noun}: {' '.join(caption.split())}]")


def _as_text(value: object) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        raise InvalidInput("the arguments or the result of a tool are not plain JSON") from None


Role = Literal["user", "assistant", "system", "tool"]

_NAMES: dict[Role, str] = {
    "user": "user human HumanMessageChunk",
    "assistant": "assistant ai AIMessageChunk model",
    "system": "system developer SystemMessageChunk",
    "tool": "tool function ToolMessageChunk FunctionMessageChunk",
}
ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
"""The roles that services have, and what they mean here."""

TIMES = ("event_at", "timestamp", "created_at", "created", "create_time")
"""Fields in which a message may say when it was written."""

_SILENT = ("_call", "_call_output", "_reference", "compaction", "remove")
"""Endings of the types of items without words of a speaker, in OpenAI's responses and in LangChain."""


@dataclass(frozen=True, slots=True)
class Message:
    """The content of one message: `text` is the speaker's, `tool_texts` are calls and answers of tools."""

    role: Role
    speaker: str
    text: str
    tool_texts: tuple[ToolText, ...]
    left_out: Counter[str]
    at: datetime | str | None
    id: str | None


def read_message(item: object, tools: dict[str, str]) -> Message:
    """The message in a mapping, a pair of role and text, or a library's object; `tools` has called tools by id."""
    dump = None if isinstance(item, type) else getattr(item, "model_dump", None)
    if isinstance(item, Mapping):
        data = dict(item)
    elif isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(part, str) for part in item):
        data = {"role": item[0], "content": item[1]}
    elif callable(dump):
        data = require_object(dump(), "a message")
    else:
        raise InvalidInput(f"a message is an object with role and content, not {type(item).__name__}")
    if isinstance(data.get("data"), Mapping):
        data = {**data["data"], "type": data.get("type")}
    role, speaker = _role(data)
    content = Content(tools)
    if role is None:
        content.add(data)
    elif role == "tool":
        content.result(data)
    else:
        content.add(data.get("content", data.get("parts")))
        _add_calls(data, content)
    text = "\n".join(part.strip() for part in content.texts if visible(part))
    id, at = data.get("id"), next((data[name] for name in TIMES if data.get(name) not in (None, "")), None)
    at = at if isinstance(at, str | datetime) else optional_time(at, "the time")
    return Message(
        role or "assistant",
        speaker,
        text,
        tuple(content.tool_texts),
        content.left_out,
        at,
        id if isinstance(id, str) and id else None,
    )


def _role(data: Json) -> tuple[Role | None, str]:
    """The role and the speaker. An item of a response has no role of its own, and then the assistant speaks."""
    said, kind = data.get("role"), data.get("type")
    if said is None and isinstance(kind, str):
        if _is_item(kind):
            return None, "assistant"
        said = kind
    name = data.get("name")
    named = name if isinstance(name, str) and visible(name) else None
    if said is None:
        raise InvalidInput("has no role", field="role", statement="a message has no role; it is user, assistant, …")
    role = ROLES.get(require_text(said, "role"))
    if role is None and kind == "chat":
        return "user", named or str(said)
    if role is None:
        known = ", ".join(name for name in ROLES if name.islower())
        raise InvalidInput(f"{said!r} is unknown; it is one of {known}", field="role")
    return role, "tool" if role == "tool" else named or role


def _is_item(kind: str) -> bool:
    return kind in CALLS | THOUGHTS or kind.endswith((*RESULTS, *_SILENT))


def _add_calls(data: Json, content: Content) -> None:
    """Adds the parts next to the content: a refusal, a recording, calls, which LangChain repeats from the content."""
    if isinstance(data.get("refusal"), str):
        content.add(data["refusal"])
    if isinstance(data.get("audio"), Mapping):
        content.add({**data["audio"], "type": "audio"})
    calls = require_list(data.get("tool_calls") or [], "tool_calls")
    if isinstance(data.get("function_call"), Mapping):
        calls = [*calls, data["function_call"]]
    if any(not text.result for text in content.tool_texts):
        return
    for call in calls:
        if not isinstance(call, Mapping):
            raise InvalidInput("should be a list of objects", field="tool_calls")
        content.call(call)


def is_message(item: object) -> bool:
    """True if a thing to remember is a conversation or a message, which has a role or the type of one, not a record."""
    if isinstance(item, Mapping):
        kind = item.get("type")
        typed = isinstance(kind, str) and (kind in ROLES or kind == "chat" or _is_item(kind))
        return "messages" in item or "role" in item or typed
    return callable(getattr(item, "model_dump", None)) and any(hasattr(item, name) for name in ("role", "type"))


class MessageReader:
    """Reads the messages of one call. `left_out` counts what has no text to remember, or is not wanted."""

    def __init__(self, settings: Settings) -> None:
        self.left_out: Counter[str] = Counter()
        self.settings = settings
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
        """Notes of a report on the messages and parts that are not remembered."""
        counts = ", ".join(f"{what} ({count})" for what, count in sorted(self.left_out.items()))
        return (f"left out of the messages: {counts}",) if counts else ()

    def _turns(self, message: Message, session: str, at: datetime | str | None) -> Iterator[Record]:
        """One turn for the speaker's text and another for calls and answers of tools, each as far as the settings want
        it."""
        self.left_out += message.left_out
        lines = []
        for tool in message.tool_texts:
            if self.settings.tool_messages == "skip":
                self.left_out["results of tools" if tool.result else "calls of tools"] += 1
            else:
                short = self.settings.tool_messages == "short"
                lines.append(shorten(tool.line(), self.settings.tool_length) if short else tool.line())
        if message.text and message.role == "system" and self.settings.system_messages == "skip":
            self.left_out["system messages"] += 1
        elif message.text:
            yield self._turn(message, session, at, message.speaker, message.text)
        elif not message.tool_texts and not message.left_out:
            self.left_out["empty messages"] += 1
        if any(lines):
            yield self._turn(message, session, at, "tool", "\n".join(lines), [it.tool for it in message.tool_texts])

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
