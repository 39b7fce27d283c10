"""The parts of a message's content: text, images by their caption, calls and results of tools.

Each type is named as one of the services sends it: OpenAI in chats and responses, Anthropic, LangChain.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fivefold.errors import InvalidInput
from fivefold.values.json_shapes import require_object, require_text
from fivefold.values.serialize import Json
from fivefold.values.validate import visible

TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Parts of plain text, and the field that has it."""

IMAGES = frozenset({"image", "image_url", "image_file", "input_image"})
SOUNDS = frozenset({"audio", "input_audio"})
FILES = frozenset({"file", "input_file", "document", "container_upload"})
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
CALLS = frozenset({"tool_use", "tool_call", "function_call", "custom_tool_call", "server_tool_use", "mcp_tool_use"})
RESULTS = ("tool_result", "call_output")
"""How the type of a result ends: `web_search_tool_result`, `function_call_output`."""

_CAPTIONS = ("caption", "alt", "alt_text", "description", "title")
_INSIDE = ("image_url", "source", "image", "metadata", "extras")
_ARGUMENTS = ("input", "args", "arguments")
_CALL_IDS = ("call_id", "tool_call_id", "tool_use_id", "id")


@dataclass(frozen=True, slots=True)
class ToolText:
    """What a message says of a tool: that it is called with something, or what it answers."""

    tool: str
    text: str
    result: bool

    def line(self) -> str:
        return f"{'Result of' if self.result else 'Call of'} {self.tool}: {self.text}"


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
        """What a tool answers: a text, parts or any JSON."""
        id = next((str(result[key]) for key in _CALL_IDS if isinstance(result.get(key), str)), "")
        name = result.get("name")
        tool = name if isinstance(name, str) and name else self.tools.get(id, "a tool")
        answer = result.get("content", result.get("output"))
        self.tool_texts.append(ToolText(tool, self._result_text(answer), True))

    def _result_text(self, answer: object) -> str:
        if isinstance(answer, str):
            return answer
        if not isinstance(answer, list):
            return "" if answer is None else _as_text(answer)
        inner = Content(self.tools)
        inner.add([part if isinstance(part, str | dict) else _as_text(part) for part in answer])
        self.left_out += inner.left_out
        return "\n".join(inner.texts)

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
        """What is not text is remembered by what it is called, where that is said."""
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


def mapping_of(item: object) -> Json:
    """A message as a mapping: one already, a pair of role and text, or an object of a library that can be dumped."""
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(part, str) for part in item):
        return {"role": item[0], "content": item[1]}
    dump = getattr(item, "model_dump", None)
    if callable(dump) and not isinstance(item, type):
        return require_object(dump(), "a message")
    raise InvalidInput(f"a message is an object with role and content, not {type(item).__name__}")
