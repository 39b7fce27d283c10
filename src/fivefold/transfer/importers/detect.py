"""What a file or folder is, by its contents."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from fivefold.errors import Call, InvalidFile, InvalidInput
from fivefold.transfer.importers import transcripts as claude_code
from fivefold.transfer.importers import transcripts as codex
from fivefold.transfer.importers import transcripts as cursor
from fivefold.transfer.importers.langchain import TABLE
from fivefold.transfer.importers.markdown import is_markdown
from fivefold.transfer.importers.mem0 import HISTORY
from fivefold.transfer.importers.sources import (
    CONVERSATIONS,
    HEADER,
    columns,
    files_below,
    first_bytes,
    is_utf8,
    items,
    matching_files,
    open_source_file,
)
from fivefold.values.serialize import Json
from fivefold.writing.messages import is_message

Format = Literal[
    "chatgpt", "claude", "mem0", "langchain", "markdown", "messages", "claude-code", "codex", "cursor", "jsonl"
]
FORMATS: tuple[Format, ...] = get_args(Format)

NAMES: dict[Format, str] = {
    "chatgpt": "a ChatGPT export",
    "claude": "a Claude export",
    "mem0": "memories of mem0",
    "langchain": "chat histories of LangChain",
    "markdown": "Markdown notes",
    "messages": "messages of a chat",
    "claude-code": "transcripts of Claude Code",
    "codex": "transcripts of Codex",
    "cursor": "transcripts of Cursor",
    "jsonl": "JSON lines",
}

FIRST_LINES = 50
"""Lines of a file by which a transcript is known."""

_LINES: dict[Format, Callable[[Json], bool]] = {
    "claude-code": claude_code.is_line,
    "codex": codex.codex_is_line,
    "cursor": cursor.cursor_is_line,
}


def detect_format(source: str | os.PathLike[str]) -> Format:
    """The format of what lies at a path; objects that are nothing else are taken for JSON lines."""
    path = Path(source)
    if path.is_dir():
        return _folder(path)
    start = first_bytes(path)
    if start.startswith(HEADER):
        return _database(path)
    if zipfile.is_zipfile(path):
        return _archive(path)
    if is_markdown(path.name):
        return "markdown"
    if not is_utf8(start):
        raise _unknown(path, "is neither text nor an archive nor a SQLite file")
    return _text(path, start)


def _folder(path: Path) -> Format:
    talks = matching_files(path, CONVERSATIONS)
    if talks:
        return _document(path, talks[0])
    if files_below(path, is_markdown):
        return "markdown"
    if any(_holds_messages(path, name) for name in matching_files(path, "*.json")):
        return "langchain"
    for name in matching_files(path, "*.jsonl"):
        transcript = _transcript(first_bytes(path, name))
        if transcript is not None:
            return transcript
    raise InvalidFile(
        path,
        "is a folder; name a file of JSON lines, or a folder with conversations.json, Markdown notes, LangChain "
        "histories or transcripts of a coding agent",
    )


def _holds_messages(path: Path, name: str) -> bool:
    try:
        return _document(path, name) == "langchain"
    except InvalidInput:
        return False


def _archive(path: Path) -> Format:
    talks = matching_files(path, CONVERSATIONS)
    if talks:
        return _document(path, talks[0])
    raise InvalidFile(path, "is an archive without conversations.json; unpack it and name the folder")


def _database(path: Path) -> Format:
    tables = columns(path)
    if TABLE in tables:
        return "langchain"
    if set(tables.get("history", [])) >= HISTORY:
        return "mem0"
    if {"memories", "namespaces"} <= set(tables):
        raise InvalidFile(path, "is a store of fivefold", advice="copy it with {call}", call=Call("migrate"))
    raise InvalidFile(path, f"is a SQLite file without LangChain's {TABLE} or mem0's history")


def _text(path: Path, start: bytes) -> Format:
    """A whole JSON document, or else lines."""
    text = start.decode("utf-8-sig", "ignore").lstrip()
    if text.startswith("["):
        return _document(path, "")
    if text.startswith("{"):
        try:
            first = json.loads(text.split("\n", 1)[0])
        except (ValueError, RecursionError):
            return _object(path)
        return _transcript(start) or _shape(first) or "jsonl"
    if text:
        raise _unknown(path, "holds neither JSON nor JSON lines")
    return "jsonl"


def _transcript(start: bytes) -> Format | None:
    """The coding agent whose transcript begins like this; its first lines may be of any kind."""
    for line in start.decode("utf-8-sig", "ignore").splitlines()[:FIRST_LINES]:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for format, is_line in _LINES.items():
            if isinstance(data, dict) and is_line(data):
                return format
    return None


def _object(path: Path) -> Format:
    """An object that is spread over several lines, or a line that is longer than the beginning."""
    try:
        with open_source_file(path, "") as (stream, label):
            return _shape(next(items(stream, label))) or "jsonl"
    except InvalidInput:
        return "jsonl"


def _document(path: Path, name: str) -> Format:
    with open_source_file(path, name) as (stream, label):
        first = next(items(stream, label), None)
    shape = _shape(first)
    if shape is None or (name and shape == "mem0"):
        hint = "; JSON lines have one object a line, not a list" if first is not None else ""
        raise _unknown(label, f"is not a known list of conversations, messages or memories{hint}")
    return shape


def _unknown(file: object, reason: str) -> InvalidFile:
    """The error for a format that is not recognized, with all formats that can be named."""
    call = Call(arguments={"format": "|".join(FORMATS)})
    return InvalidFile(file, reason, advice="name its format with {call}", call=call)


def _shape(value: object) -> Format | None:
    """What an object, such as the first of a list, belongs to."""
    if not isinstance(value, dict):
        return None
    if "mapping" in value:
        return "chatgpt"
    if "chat_messages" in value:
        return "claude"
    if isinstance(value.get("results"), list) or ("memory" in value and "id" in value):
        return "mem0"
    if "type" in value and isinstance(value.get("data"), dict):
        return "langchain"
    if is_message(value) and ("role" in value or isinstance(value.get("messages"), list)):
        return "messages"
    if value and all(isinstance(item, list) and item and _shape(item[0]) == "langchain" for item in value.values()):
        return "langchain"
    return None
