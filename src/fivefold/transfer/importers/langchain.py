"""Chat histories of LangChain: a JSON file for each session, a folder of them, or its SQL table in a SQLite file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path, PurePosixPath

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.transfer.importers.sources import (
    HEADER,
    ImportLog,
    columns,
    digest,
    first_bytes,
    items,
    matching_files,
    open_source_file,
    rows,
    text_records,
)
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.validate import require_list, require_name, require_object, require_text, visible

SOURCE = "langchain"
TABLE = "message_store"
_SPEAKERS = {"human": "user", "ai": "assistant", "HumanMessageChunk": "user", "AIMessageChunk": "assistant"}


def read(path: Path, log: ImportLog) -> Iterator[Record]:
    if path.is_file() and first_bytes(path, size=len(HEADER)) == HEADER:
        yield from _table(path, log)
        return
    names = matching_files(path, "*.json", log)
    if not names:
        raise InvalidFile(path, "holds no .json file")
    for name in names:
        session = str(PurePosixPath(name).with_suffix("")) if name else path.stem
        label = str(path / name)
        try:
            with open_source_file(path, name) as (stream, _):
                histories = _histories(list(items(stream, label)), session)
        except InvalidInput as error:
            log.skip(label, "", error)
            continue
        for key, messages in histories.items():
            yield from _session(key, messages, log, label, _write_time(path, name))


def _histories(entries: list[object], session: str) -> dict[str, list[object]]:
    """A bare list is one session; an object has one list a session."""
    whole = entries[0] if len(entries) == 1 else None
    if isinstance(whole, dict) and "type" not in whole and all(isinstance(item, list) for item in whole.values()):
        return whole
    return {session: entries} if entries else {}


def _table(path: Path, log: ImportLog) -> Iterator[Record]:
    known = columns(path).get(TABLE, [])
    if not {"session_id", "message"} <= set(known):
        raise InvalidFile(path, f"has no table {TABLE} with session_id and message")
    order = "session_id, id" if "id" in known else "session_id, rowid"
    stored = rows(path, f"SELECT session_id, message FROM {TABLE} ORDER BY {order}")
    for session, group in groupby(stored, key=lambda row: row[0]):
        yield from _session(str(session), (row[1] for row in group), log, str(path), _write_time(path, ""))


def _session(key: str, messages: Iterable[object], log: ImportLog, label: str, end: datetime) -> Iterator[Record]:
    """A session's turns. They have no times, so they follow each other up to when the file was written."""
    log.parts += 1
    seen: Counter[str] = Counter()
    try:
        entries = list(messages)
        start = end - timedelta(seconds=len(entries))
        turns = [
            record
            for number, item in enumerate(entries, 1)
            for record in _turn(key, _message(item, number), seen, start + timedelta(seconds=number), log)
        ]
    except InvalidInput as error:
        log.skip(label, f"session {key!r}", error)
    else:
        yield from turns


def _message(item: object, number: int) -> Json:
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


def _turn(key: str, message: Json, seen: Counter[str], at: datetime, log: ImportLog) -> Iterator[Record]:
    """A message without an id is known by its words and how often they came before."""
    kind, data = message["type"], message["data"]
    if kind in ("system", "tool", "function", "remove"):
        log.left_out[f"{kind} messages"] += 1
        return
    text = _message_text(data.get("content"), log)
    if not visible(text):
        log.left_out["calls of tools" if data.get("tool_calls") else "empty messages"] += 1
        return
    words = digest(kind, text)
    seen[words] += 1
    id = data.get("id")
    speaker = data.get("name") or _SPEAKERS.get(kind) or data.get("role")
    yield from text_records(
        SOURCE,
        (key, id if isinstance(id, str) and id else f"{words}:{seen[words]}"),
        text,
        speaker=require_name(speaker, "the speaker"),
        session=(key,),
        at=at,
        stated=False,
    )


def _message_text(content: object, log: ImportLog) -> str:
    """A message's text, or the texts of its blocks."""
    if isinstance(content, str):
        return content
    texts = []
    for block in require_list(content, "content"):
        if isinstance(block, dict) and not isinstance(block.get("text"), str):
            log.left_out[f"{block.get('type', 'other')} blocks"] += 1
        else:
            texts.append(require_text(block["text"] if isinstance(block, dict) else block, "a block"))
    return "\n".join(texts)


def _write_time(path: Path, name: str) -> datetime:
    file = path / name if path.is_dir() else path
    return datetime.fromtimestamp(int(file.stat().st_mtime), UTC)
