"""One message, whichever service wrote it: who speaks, what is said, what a tool is asked and answers, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from fivefold.errors import InvalidInput
from fivefold.values.json_shapes import optional_time, require_list, require_text
from fivefold.values.serialize import Json
from fivefold.values.validate import visible
from fivefold.writing.messages.parts import CALLS, RESULTS, THOUGHTS, Content, ToolText, mapping_of

Role = Literal["user", "assistant", "system", "tool"]

ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "HumanMessageChunk": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "function": "tool",
    "ToolMessageChunk": "tool",
    "FunctionMessageChunk": "tool",
}
"""The roles that services have, and what they mean here."""

TIMES = ("event_at", "timestamp", "created_at", "created", "create_time")
"""Where a message may say when it was written."""

_SILENT = ("_call", "_call_output", "_reference", "compaction", "remove")
"""How the types of items end that carry no words of a speaker, in OpenAI's responses and in LangChain."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one message brings: `text` is what `speaker` says, `tool_texts` what tools are asked and answer."""

    role: Role
    speaker: str
    text: str
    tool_texts: tuple[ToolText, ...]
    left_out: Counter[str]
    at: datetime | str | None
    id: str | None


def looks_like_message(item: object) -> bool:
    """Whether this is a message and no record: it has a role, or the type of a message."""
    if isinstance(item, Mapping):
        kind = item.get("type")
        return "role" in item or (isinstance(kind, str) and (kind in ROLES or kind == "chat" or _is_item(kind)))
    return callable(getattr(item, "model_dump", None)) and any(hasattr(item, name) for name in ("role", "type"))


def read_message(item: object, tools: dict[str, str]) -> Message:
    """The message in `item`; `tools` keeps the names of the tools that were called so far, by the id of the call."""
    data = mapping_of(item)
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
    id = data.get("id")
    return Message(
        role or "assistant",
        speaker,
        text,
        tuple(content.tool_texts),
        content.left_out,
        _time(data),
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
    """What stands next to the content: a refusal, a recording, calls, which LangChain repeats from the content."""
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


def _time(data: Json) -> datetime | str | None:
    value = next((data[name] for name in TIMES if data.get(name) not in (None, "")), None)
    return value if isinstance(value, str | datetime) else optional_time(value, "the time")
