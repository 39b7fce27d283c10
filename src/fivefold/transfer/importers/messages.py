"""Messages of a chat in a file: a JSON list, an object with `messages`, a list of such objects, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.transfer.importers.arrays import items
from fivefold.transfer.importers.import_log import ImportLog
from fivefold.transfer.importers.records import source_id
from fivefold.transfer.importers.source_files import first_bytes, open_source_file
from fivefold.transfer.jsonl import objects
from fivefold.values.json_shapes import require_list, require_name
from fivefold.values.memory import Record
from fivefold.writing.messages import MessageReader

SOURCE = "messages"
_SESSIONS = ("session_id", "conversation_id", "thread_id", "id")


def read(path: Path, log: ImportLog) -> Iterator[Record]:
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
            name = source_id(SOURCE, path.stem, str(number)) if session is None else require_name(session, "session_id")
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
        name = own if isinstance(own, str) and own else source_id(SOURCE, path.stem)
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
