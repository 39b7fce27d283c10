"""A Claude export: conversations with their messages in order, each made of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.transfer.importers.account import Account
from fivefold.transfer.importers.chats import conversations
from fivefold.transfer.importers.expected import a_list, a_moment, a_name, a_text, an_object
from fivefold.transfer.importers.records import pieces
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.validate import visible

SOURCE = "claude"
_SPEAKERS = {"human": "user", "assistant": "assistant"}


def read(path: Path, account: Account) -> Iterator[Record]:
    yield from conversations(path, account, _turns, "name")


def _turns(talk: Json, account: Account) -> Iterator[Record]:
    key = a_name(talk.get("uuid"), "the conversation's uuid")
    at = a_moment(talk.get("created_at"), "created_at")
    for number, item in enumerate(a_list(talk.get("chat_messages"), "chat_messages"), 1):
        message = an_object(item, f"message {number}")
        id = a_name(message.get("uuid"), f"the uuid of message {number}")
        sender = a_name(message.get("sender"), f"the sender of message {number}")
        if sender not in _SPEAKERS:
            raise InvalidInput(f"the sender of message {number} should be human or assistant; it is {sender!r}")
        at = a_moment(message.get("created_at"), f"created_at of message {number}") or at
        said = _said(message, number, account)
        if said:
            yield from pieces(
                SOURCE, (key, id), said, speaker=_SPEAKERS[sender], session=(key,), at=at, title=talk.get("name")
            )


def _said(message: Json, number: int, account: Account) -> str:
    """The text blocks together; an older message has only its text."""
    for name in ("attachments", "files"):
        account.left_out["attachments"] += len(a_list(message.get(name) or [], f"{name} of message {number}"))
    texts = []
    for item in a_list(message.get("content") or [], f"content of message {number}"):
        block = an_object(item, f"a block of message {number}")
        kind = a_name(block.get("type"), f"the type of a block of message {number}")
        if kind == "text":
            texts.append(a_text(block.get("text") or "", f"the text of message {number}"))
        else:
            account.left_out[f"{kind} blocks"] += 1
    said = "\n".join(filter(visible, texts))
    if not message.get("content"):
        said = a_text(message.get("text") or "", f"the text of message {number}")
    if not visible(said):
        account.left_out["empty messages"] += 1
        return ""
    return said
