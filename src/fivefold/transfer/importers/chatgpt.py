"""A ChatGPT export: each conversation is a tree of messages, of which the branch shown last is read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.transfer.importers.conversations import conversations
from fivefold.transfer.importers.import_log import ImportLog
from fivefold.transfer.importers.records import text_records
from fivefold.values.json_shapes import optional_time, require_list, require_name, require_object, require_text
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.validate import visible

SOURCE = "chatgpt"
_SPOKEN = ("text", "multimodal_text")
_PARTS = {"image_asset_pointer": "images", "audio_asset_pointer": "recordings"}


def read(path: Path, log: ImportLog) -> Iterator[Record]:
    yield from conversations(path, log, _turns, "title")


def _turns(talk: Json, log: ImportLog) -> Iterator[Record]:
    key = require_name(talk.get("conversation_id") or talk.get("id"), "the conversation's id")
    at = optional_time(talk.get("create_time"), "create_time")
    for node, message in _current_branch(talk):
        at = optional_time(message.get("create_time"), f"create_time of message {node}") or at
        text = _text(node, message, log)
        if text is not None:
            yield from _turn(key, node, message, text, at, talk.get("title"))


def _turn(key: str, node: str, message: Json, text: str, at: datetime | None, title: object) -> Iterator[Record]:
    about = message.get("metadata")
    return text_records(
        SOURCE,
        (key, node),
        text,
        speaker=_role(message),
        session=(key,),
        at=at,
        title=title,
        model=about.get("model_slug") if isinstance(about, dict) else None,
    )


def _current_branch(talk: Json) -> list[tuple[str, Json]]:
    """The messages from the first to the one shown last."""
    mapping = require_object(talk.get("mapping"), "mapping")
    node = talk.get("current_node") or _latest(mapping)
    branch: list[tuple[str, Json]] = []
    passed: set[str] = set()
    while node is not None:
        node = require_name(node, "a node's id")
        if node in passed:
            raise InvalidInput(f"message {node} is its own ancestor")
        passed.add(node)
        here = require_object(mapping.get(node), f"message {node}")
        if here.get("message") is not None:
            branch.append((node, require_object(here["message"], f"the message in {node}")))
        node = here.get("parent")
    return branch[::-1]


def _latest(mapping: Json) -> str | None:
    """The last message nobody answered: where an older export does not name the current one."""
    ends = [node for node, here in mapping.items() if isinstance(here, dict) and not here.get("children")]
    return ends[-1] if ends else None


def _text(node: str, message: Json, log: ImportLog) -> str | None:
    """The text of a message, or None after counting what it is instead."""
    kind = require_object(message.get("content"), f"content of message {node}").get("content_type", "text")
    about = message.get("metadata")
    if _role(message) not in ("user", "assistant"):
        log.left_out[f"{_role(message)} messages"] += 1
    elif isinstance(about, dict) and about.get("is_visually_hidden_from_conversation"):
        log.left_out["hidden messages"] += 1
    elif message.get("recipient", "all") != "all":
        log.left_out["calls of tools"] += 1
    elif kind not in _SPOKEN:
        log.left_out[f"{kind} messages"] += 1
    else:
        return _message_text(require_list(message["content"].get("parts"), f"parts of message {node}"), log)
    return None


def _message_text(parts: list[object], log: ImportLog) -> str | None:
    texts = []
    for part in (part for part in parts if part is not None):
        if isinstance(part, dict) and not isinstance(part.get("text"), str):
            log.left_out[_PARTS.get(str(part.get("content_type")), "attachments")] += 1
        else:
            texts.append(require_text(part["text"] if isinstance(part, dict) else part, "a part"))
    text = "\n".join(filter(visible, texts))
    if not text and not any(isinstance(part, dict) for part in parts):
        log.left_out["empty messages"] += 1
    return text or None


def _role(message: Json) -> str:
    return require_name(require_object(message.get("author"), "author").get("role"), "the author's role")
