"""Messages of a chat in a file: a JSON list, an object with `messages`, a list of such objects, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.sources import (
    CONVERSATIONS,
    ImportLog,
    first_bytes,
    items,
    matching_files,
    open_source_file,
    source_id,
    text_records,
)
from fivefold.transfer.jsonl import objects
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.validate import (
    optional_time,
    require_list,
    require_name,
    require_object,
    require_text,
    shorten,
    visible,
)
from fivefold.writing.messages import MessageReader

# What exports of chat services have in common: a list of conversations, each read whole or skipped with a reason.

TITLE_LENGTH = 60
Turns = Callable[[Json, ImportLog], Iterator[Record]]


def conversations(path: Path, log: ImportLog, turns: Turns, title: str) -> Iterator[Record]:
    """The turns of every conversation; `title` is the field that names a conversation in errors."""
    names = matching_files(path, CONVERSATIONS, log)
    if not names:
        raise InvalidFile(path, "holds no conversations.json; name the export as it was downloaded")
    for name in names:
        with open_source_file(path, name) as (stream, label):
            for number, item in enumerate(items(stream, label), 1):
                log.parts += 1
                try:
                    records = list(turns(require_object(item, "a conversation"), log))
                except InvalidInput as error:
                    log.skip(label, f"conversation {number}{_title_of(item, title)}", error)
                else:
                    yield from records


def _title_of(item: object, title: str) -> str:
    value = item.get(title) if isinstance(item, dict) else None
    if not isinstance(value, str) or not value:
        return ""
    return f" {shorten(value, TITLE_LENGTH)!r}"


# A ChatGPT export: each conversation is a tree of messages, of which the branch shown last is read.

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


# A Claude export: conversations with their messages in order, each made of blocks.

CLAUDE_SOURCE = "claude"
_SPEAKERS = {"human": "user", "assistant": "assistant"}


def claude_read(path: Path, log: ImportLog) -> Iterator[Record]:
    yield from conversations(path, log, _claude_turns, "name")


def _claude_turns(talk: Json, log: ImportLog) -> Iterator[Record]:
    key = require_name(talk.get("uuid"), "the conversation's uuid")
    at = optional_time(talk.get("created_at"), "created_at")
    for number, item in enumerate(require_list(talk.get("chat_messages"), "chat_messages"), 1):
        message = require_object(item, f"message {number}")
        id = require_name(message.get("uuid"), f"the uuid of message {number}")
        sender = require_name(message.get("sender"), f"the sender of message {number}")
        if sender not in _SPEAKERS:
            raise InvalidInput(f"the sender of message {number} should be human or assistant; it is {sender!r}")
        at = optional_time(message.get("created_at"), f"created_at of message {number}") or at
        text = _claude_message_text(message, number, log)
        if text:
            yield from text_records(
                CLAUDE_SOURCE, (key, id), text, speaker=_SPEAKERS[sender], session=(key,), at=at, title=talk.get("name")
            )


def _claude_message_text(message: Json, number: int, log: ImportLog) -> str:
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


MESSAGES_SOURCE = "messages"
_SESSIONS = ("session_id", "conversation_id", "thread_id", "id")


def messages_read(path: Path, log: ImportLog) -> Iterator[Record]:
    """The turns of each conversation. One that does not name its session has that of the file, and its number."""
    reader = MessageReader(log.settings)
    loose: list[object] = []
    for number, item in enumerate(_entries(path), 1):
        if not (isinstance(item, dict) and "messages" in item):
            loose.append(item)
            continue
        log.parts += 1
        try:
            session = next((item[name] for name in _SESSIONS if item.get(name)), None)
            name = (
                source_id(MESSAGES_SOURCE, path.stem, str(number))
                if session is None
                else require_name(session, "session_id")
            )
            turns = reader.conversation(require_list(item["messages"], "messages"), name)
        except InvalidInput as error:
            log.skip(str(path), f"conversation {number}", error)
        else:
            yield from turns
    yield from _loose(path, loose, reader, log)
    log.left_out += reader.left_out


def _loose(path: Path, messages: list[object], reader: MessageReader, log: ImportLog) -> Iterator[Record]:
    """Messages that stand alone, by the session that each names, else by that of the file."""
    sessions: dict[str, list[object]] = {}
    for message in messages:
        own = message.get("session_id") if isinstance(message, dict) else None
        name = own if isinstance(own, str) and own else source_id(MESSAGES_SOURCE, path.stem)
        sessions.setdefault(name, []).append(message)
    for session, part in sessions.items():
        log.parts += 1
        try:
            turns = reader.conversation(part, session)
        except InvalidInput as error:
            log.skip(str(path), f"session {session!r}", error)
        else:
            yield from turns


def _entries(path: Path) -> Iterator[object]:
    """The objects of a JSON document or of JSON lines."""
    start = first_bytes(path).decode("utf-8-sig", "ignore").lstrip()
    if start.startswith("{") and _is_line(start.split("\n", 1)[0]):
        yield from (data for _, data in objects(path))
    else:
        with open_source_file(path, "") as (stream, label):
            yield from items(stream, label)


def _is_line(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
