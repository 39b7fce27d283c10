"""Small exports in the shapes their services give them, with invented talk."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

from fivefold.values.serialize import Json

NINE = 1_736_154_000.0
"""6 January 2025, 9:00 UTC."""


def node(id: str, parent: str | None, role: str, *parts: object, **more: Any) -> Json:
    """A message of a ChatGPT conversation in its place in the tree; `more` goes into the message."""
    kind = "text" if all(isinstance(part, str) for part in parts) else "multimodal_text"
    message = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": NINE,
        "update_time": None,
        "content": {"content_type": kind, "parts": list(parts)},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
    } | more
    return {"id": id, "message": message, "parent": parent, "children": []}


def chatgpt(*nodes: Json, id: str = "talk-1", title: str = "Bread", current: str | None = None) -> Json:
    root: Json = {"id": "root", "message": None, "parent": None, "children": []}
    mapping: Json = {"root": root} | {item["id"]: item for item in nodes}
    for item in nodes:
        mapping[item["parent"]]["children"].append(item["id"])
    return {
        "title": title,
        "create_time": NINE,
        "update_time": NINE + 60,
        "mapping": mapping,
        "current_node": current or (nodes[-1]["id"] if nodes else "root"),
        "conversation_id": id,
        "id": id,
    }


BREAD = chatgpt(
    node("m0", "root", "system", ""),
    node("m1", "m0", "user", "My sourdough starter is called Bertha", create_time=NINE + 1),
    node("m2", "m1", "assistant", "Bertha is a fine name.", create_time=NINE + 2, metadata={"model_slug": "gpt-x"}),
    node(
        "m3",
        "m2",
        "user",
        {"content_type": "image_asset_pointer", "asset_pointer": "file://a"},
        "Is she ripe?",
        create_time=NINE + 3,
    ),
    node("m4", "m3", "assistant", "search('ripe starter')", recipient="browser"),
    node("m5", "m4", "tool", "a page"),
    node("m6", "m5", "assistant", "Yes, she has doubled.", create_time=NINE + 4),
)


def claude(*messages: Json, id: str = "c-1", name: str = "The move") -> Json:
    at = "2025-02-03T10:00:00.000000Z"
    return {
        "uuid": id,
        "name": name,
        "created_at": at,
        "updated_at": at,
        "account": {"uuid": "me"},
        "chat_messages": list(messages),
    }


def said(id: str, sender: str, text: str, *blocks: Json, **more: Any) -> Json:
    """A message of a Claude conversation."""
    content = [*blocks, {"type": "text", "text": text, "citations": []}]
    at = "2025-02-03T10:00:05.123456Z"
    message = {"uuid": id, "text": text, "content": content, "sender": sender, "created_at": at, "updated_at": at}
    return message | {"attachments": [], "files": []} | more


MOVE = claude(
    said("a", "human", "We move to Bergen in May"),
    said("b", "assistant", "Then book the ferry early.", {"type": "thinking", "thinking": "ferries fill up"}),
    said("c", "human", "Here is the contract", files=[{"file_name": "contract.pdf"}]),
)


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def packed(path: Path, **files: object) -> Path:
    """An archive with a JSON file for each keyword."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/conversations.json", b"\x00 no JSON")
        for name, value in files.items():
            archive.writestr(f"export/{name}.json", json.dumps(value))
    return path


def message(kind: str, content: object, **data: Any) -> Json:
    """A message as LangChain writes it."""
    return {"type": kind, "data": {"content": content, "additional_kwargs": {}, "type": kind, "id": None} | data}


def message_store(path: Path, *rows: tuple[str, object]) -> Path:
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE message_store (id INTEGER PRIMARY KEY, session_id TEXT, message TEXT)")
        stored = [(session, item if isinstance(item, str) else json.dumps(item)) for session, item in rows]
        file.executemany("INSERT INTO message_store (session_id, message) VALUES (?, ?)", stored)
        file.commit()
    return path


def mem0_history(path: Path, *rows: tuple[str, str | None, str, str, str | None]) -> Path:
    """memory_id, new_memory, event, created_at, updated_at."""
    with closing(sqlite3.connect(path)) as file:
        file.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
            "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        file.executemany(
            "INSERT INTO history (memory_id, new_memory, event, created_at, updated_at, id) VALUES (?, ?, ?, ?, ?, ?)",
            [(*row, str(number)) for number, row in enumerate(rows)],
        )
        file.commit()
    return path
