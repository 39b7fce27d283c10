"""A Claude export: conversations with their messages in order, each made of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.transfer.importers.conversations import conversations
from fivefold.transfer.importers.import_log import ImportLog
from fivefold.transfer.importers.records import text_records
from fivefold.values.json_shapes import optional_time, require_list, require_name, require_object, require_text
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.validate import visible

SOURCE = "claude"
_SPEAKERS = {"human": "user", "assistant": "assistant"}


def read(path: Path, log: ImportLog) -> Iterator[Record]:
    yield from conversations(path, log, _turns, "name")


def _turns(talk: Json, log: ImportLog) -> Iterator[Record]:
    key = require_name(talk.get("uuid"), "the conversation's uuid")
    at = optional_time(talk.get("created_at"), "created_at")
    for number, item in enumerate(require_list(talk.get("chat_messages"), "chat_messages"), 1):
        message = require_object(item, f"message {number}")
        id = require_name(message.get("uuid"), f"the uuid of message {number}")
        sender = require_name(message.get("sender"), f"the sender of message {number}")
        if sender not in _SPEAKERS:
            raise InvalidInput(f"the sender of message {number} should be human or assistant; it is {sender!r}")
        at = optional_time(message.get("created_at"), f"created_at of message {number}") or at
        text = _message_text(message, number, log)
        if text:
            yield from text_records(
                SOURCE, (key, id), text, speaker=_SPEAKERS[sender], session=(key,), at=at, title=talk.get("name")
            )


def _message_text(message: Json, number: int, log: ImportLog) -> str:
    """The text blocks together; an older message has only its text."""
    for name in ("attachments", "files"):
        log.left_out["attachments"] += len(require_list(message.get(name) or [], f"{name} of message {number}"))
    texts = []
    for item in require_list(message.get("content") or [], f"content of message {number}"):
        block = require_object(item, f"a block of message {number}")
        kind = require_name(block.get("type"), f"the type of a block of message {number}")
        if kind == "text":
            texts.append(require_text(block.get("text") or "", f"the text of message {number}"))
        else:
            log.left_out[f"{kind} blocks"] += 1
    text = "\n".join(filter(visible, texts))
    if not message.get("content"):
        text = require_text(message.get("text") or "", f"the text of message {number}")
    if not visible(text):
        log.left_out["empty messages"] += 1
        return ""
    return text
