"""Chats: exports of ChatGPT and Claude, messages in a file, and the histories of LangChain."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import ClassVar

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.sources import (
    CONVERSATIONS,
    ImportLog,
    columns,
    digest,
    first_bytes,
    is_database,
    items,
    json_object,
    matching_files,
    open_source_file,
    rows,
    source_id,
    text_records,
    written_at,
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

MAX_TITLE = 60
"""Characters of a conversation's title in an error."""


class ChatExport(ABC):
    """The export of a chat service: a list of conversations, each read whole or skipped with a reason."""

    source: str
    label: str
    title: str
    """The field that names a conversation."""

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]:
        names = matching_files(path, CONVERSATIONS, log)
        if not names:
            raise InvalidFile(path, "holds no conversations.json; name the export as it was downloaded")
        for name in names:
            with open_source_file(path, name) as (stream, label):
                for number, item in enumerate(items(stream, label), 1):
                    title = item.get(self.title) if isinstance(item, dict) else None
                    named = f" {shorten(title, MAX_TITLE)!r}" if isinstance(title, str) and title else ""
                    yield from log.part(label, f"conversation {number}{named}", self._turns(item, log))

    @abstractmethod
    def _turns(self, item: object, log: ImportLog) -> Iterator[Record]:
        """The turns of one conversation."""


class ChatGPT(ChatExport):
    """Each conversation is a tree of messages, of which the branch shown last is read."""

    source: str = "chatgpt"
    label: str = "a ChatGPT export"
    title: str = "title"
    _assets: ClassVar = {"image_asset_pointer": "images", "audio_asset_pointer": "recordings"}

    def _turns(self, item: object, log: ImportLog) -> Iterator[Record]:
        talk = require_object(item, "a conversation")
        key = require_name(talk.get("conversation_id") or talk.get("id"), "the conversation's id")
        at = optional_time(talk.get("create_time"), "create_time")
        for node, message in self._branch(require_object(talk.get("mapping"), "mapping"), talk.get("current_node")):
            at = optional_time(message.get("create_time"), f"create_time of message {node}") or at
            about = message.get("metadata")
            about = about if isinstance(about, dict) else {}
            content = require_object(message.get("content"), f"content of message {node}")
            speaker = require_name(require_object(message.get("author"), "author").get("role"), "the author's role")
            text = self._text(node, message, content, speaker, about, log)
            if text:
                yield from text_records(
                    self.source,
                    (key, node),
                    text,
                    speaker=speaker,
                    session=(key,),
                    at=at,
                    title=talk.get("title"),
                    model=about.get("model_slug"),
                )

    def _branch(self, mapping: Json, node: object) -> list[tuple[str, Json]]:
        """The messages from the first to the one shown last.

        An older export does not name the last one; there it is the last message that nobody answered.
        """
        ends = [id for id, here in mapping.items() if isinstance(here, dict) and not here.get("children")]
        node = node or (ends[-1] if ends else None)
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

    def _text(self, node: str, message: Json, content: Json, speaker: str, about: Json, log: ImportLog) -> str | None:
        """The text of a message, or None after counting what it is instead."""
        kind = content.get("content_type", "text")
        if speaker not in ("user", "assistant"):
            log.left_out[f"{speaker} messages"] += 1
        elif about.get("is_visually_hidden_from_conversation"):
            log.left_out["hidden messages"] += 1
        elif message.get("recipient", "all") != "all":
            log.left_out["calls of tools"] += 1
        elif kind not in ("text", "multimodal_text"):
            log.left_out[f"{kind} messages"] += 1
        else:
            parts = [
                part for part in require_list(content.get("parts"), f"parts of message {node}") if part is not None
            ]
            asset = lambda part: self._assets.get(str(part.get("content_type")), "attachments")  # noqa: E731
            text = "\n".join(filter(visible, _texts(parts, "a part", asset, log)))
            if not text and not any(isinstance(part, dict) for part in parts):
                log.left_out["empty messages"] += 1
            return text
        return None


class Claude(ChatExport):
    """Conversations with their messages in order, each made of blocks."""

    source: str = "claude"
    label: str = "a Claude export"
    title: str = "name"
    _speakers: ClassVar = {"human": "user", "assistant": "assistant"}

    def _turns(self, item: object, log: ImportLog) -> Iterator[Record]:
        talk = require_object(item, "a conversation")
        key = require_name(talk.get("uuid"), "the conversation's uuid")
        at = optional_time(talk.get("created_at"), "created_at")
        for number, entry in enumerate(require_list(talk.get("chat_messages"), "chat_messages"), 1):
            message = require_object(entry, f"message {number}")
            id = require_name(message.get("uuid"), f"the uuid of message {number}")
            sender = require_name(message.get("sender"), f"the sender of message {number}")
            if sender not in self._speakers:
                raise InvalidInput(f"the sender of message {number} should be human or assistant; it is {sender!r}")
            at = optional_time(message.get("created_at"), f"created_at of message {number}") or at
            text, speaker = self._text(message, number, log), self._speakers[sender]
            if visible(text):
                yield from text_records(
                    self.source, (key, id), text, speaker=speaker, session=(key,), at=at, title=talk.get("name")
                )
            else:
                log.left_out["empty messages"] += 1

    def _text(self, message: Json, number: int, log: ImportLog) -> str:
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
        if message.get("content"):
            return "\n".join(filter(visible, texts))
        return require_text(message.get("text") or "", f"the text of message {number}")


class Messages:
    """Messages of a chat: a JSON list, an object with `messages`, a list of such objects, or JSON lines."""

    source: str = "messages"
    label: str = "messages of a chat"
    _sessions = ("session_id", "conversation_id", "thread_id", "id")

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]:
        """The turns of each conversation. One that does not name its session has that of the file, and its number.

        Messages that stand alone have the session that each names, else that of the file.
        """
        reader = MessageReader(log.settings)
        loose: dict[str, list[object]] = {}
        for number, item in enumerate(self._entries(path), 1):
            if isinstance(item, dict) and "messages" in item:
                session = next((item[name] for name in self._sessions if item.get(name)), None)
                turns = self._conversation(
                    item["messages"], session, source_id(self.source, path.stem, str(number)), reader
                )
                yield from log.part(str(path), f"conversation {number}", turns)
            else:
                own = item.get("session_id") if isinstance(item, dict) else None
                name = own if isinstance(own, str) and own else source_id(self.source, path.stem)
                loose.setdefault(name, []).append(item)
        for session, messages in loose.items():
            yield from log.part(str(path), f"session {session!r}", self._conversation(messages, None, session, reader))
        log.left_out += reader.left_out

    def _conversation(self, messages: object, session: object, default: str, reader: MessageReader) -> Iterator[Record]:
        name = default if session is None else require_name(session, "session_id")
        yield from reader.conversation(require_list(messages, "messages"), name)

    def _entries(self, path: Path) -> Iterator[object]:
        """The objects of a JSON document or of JSON lines."""
        start = first_bytes(path).decode("utf-8-sig", "ignore").lstrip()
        if start.startswith("{") and json_object(start.split("\n", 1)[0]) is not None:
            yield from (data for _, data in objects(path))
        else:
            with open_source_file(path, "") as (stream, label):
                yield from items(stream, label)


class LangChain:
    """Histories: a JSON file for each session, a folder of them, or a table in a SQLite file."""

    source: str = "langchain"
    label: str = "chat histories of LangChain"
    table = "message_store"
    _speakers: ClassVar = {
        "human": "user",
        "ai": "assistant",
        "HumanMessageChunk": "user",
        "AIMessageChunk": "assistant",
    }

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]:
        if path.is_file() and is_database(path):
            yield from self._table(path, log)
            return
        names = matching_files(path, "*.json", log)
        if not names:
            raise InvalidFile(path, "holds no .json file")
        for name in names:
            label, end = str(path / name), written_at(path, name)
            try:
                with open_source_file(path, name) as (stream, _):
                    entries = list(items(stream, label))
            except InvalidInput as error:
                log.skip(label, "", error)
                continue
            session = str(PurePosixPath(name).with_suffix("")) if name else path.stem
            histories: dict[str, list[object]] = {session: entries} if entries else {}
            whole = entries[0] if len(entries) == 1 else None  # a list is one session, an object has a list for each
            if isinstance(whole, dict) and "type" not in whole and all(isinstance(it, list) for it in whole.values()):
                histories = whole
            for key, messages in histories.items():
                yield from log.part(label, f"session {key!r}", self._turns(key, messages, end, log))

    def _table(self, path: Path, log: ImportLog) -> Iterator[Record]:
        known = columns(path).get(self.table, [])
        if not {"session_id", "message"} <= set(known):
            raise InvalidFile(path, f"has no table {self.table} with session_id and message")
        order = "session_id, id" if "id" in known else "session_id, rowid"
        stored = rows(path, f"SELECT session_id, message FROM {self.table} ORDER BY {order}")
        for session, group in groupby(stored, key=lambda row: row[0]):
            turns = self._turns(str(session), (row[1] for row in group), written_at(path), log)
            yield from log.part(str(path), f"session {str(session)!r}", turns)

    def _turns(self, key: str, messages: Iterable[object], end: datetime, log: ImportLog) -> Iterator[Record]:
        """A session's turns. They have no times, so they follow each other up to when the file was written.

        A message without an id is known by its words and how often they came before.
        """
        seen: Counter[str] = Counter()
        entries = list(messages)
        for number, item in enumerate(entries, 1):
            message = self._message(item, number)
            kind, data = message["type"], message["data"]
            if kind in ("system", "tool", "function", "remove"):
                log.left_out[f"{kind} messages"] += 1
                continue
            content = data.get("content")
            if not isinstance(content, str):
                blocks = require_list(content, "content")
                content = "\n".join(_texts(blocks, "a block", lambda part: f"{part.get('type', 'other')} blocks", log))
            if not visible(content):
                log.left_out["calls of tools" if data.get("tool_calls") else "empty messages"] += 1
                continue
            words = digest(kind, content)
            seen[words] += 1
            id = data.get("id")
            speaker = data.get("name") or self._speakers.get(kind) or data.get("role")
            yield from text_records(
                self.source,
                (key, id if isinstance(id, str) and id else f"{words}:{seen[words]}"),
                content,
                speaker=require_name(speaker, "the speaker"),
                session=(key,),
                at=end - timedelta(seconds=len(entries) - number),
                stated=False,
            )

    def _message(self, item: object, number: int) -> Json:
        """A message as an object; a table holds it as JSON text."""
        if isinstance(item, str):
            try:
                item = json.loads(item)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(f"message {number} is not JSON: {error}") from None
        message = require_object(item, f"message {number}")
        require_text(message.get("type"), f"the type of message {number}")
        require_object(message.get("data"), f"data of message {number}")
        return message


def _texts(parts: Iterable[object], what: str, other: Callable[[Json], str], log: ImportLog) -> list[str]:
    """The texts among the parts of a message; what has no text is counted under a name of its own."""
    texts = []
    for part in parts:
        if isinstance(part, dict) and not isinstance(part.get("text"), str):
            log.left_out[other(part)] += 1
        else:
            texts.append(require_text(part["text"] if isinstance(part, dict) else part, what))
    return texts
