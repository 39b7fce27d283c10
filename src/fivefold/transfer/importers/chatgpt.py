"""A ChatGPT export: each conversation is a tree of messages, of which the branch last looked at is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.transfer.importers.account import Account
from fivefold.transfer.importers.chats import conversations
from fivefold.transfer.importers.expected import a_list, a_moment, a_name, a_text, an_object
from fivefold.transfer.importers.records import pieces
from fivefold.values.memory import Record
from fivefold.values.serialize import Json
from fivefold.values.validate import visible

SOURCE = "chatgpt"
_SPOKEN = ("text", "multimodal_text")
_PARTS = {"image_asset_pointer": "images", "audio_asset_pointer": "recordings"}


def read(path: Path, account: Account) -> Iterator[Record]:
    yield from conversations(path, account, _turns, "title")


def _turns(talk: Json, account: Account) -> Iterator[Record]:
    key = a_name(talk.get("conversation_id") or talk.get("id"), "the conversation's id")
    at = a_moment(talk.get("create_time"), "create_time")
    for node, message in _branch(talk):
        at = a_moment(message.get("create_time"), f"create_time of message {node}") or at
        text = _text(node, message, account)
        if text is not None:
            yield from _turn(key, node, message, text, at, talk.get("title"))


def _turn(key: str, node: str, message: Json, text: str, at: datetime | None, title: object) -> Iterator[Record]:
    about = message.get("metadata")
    return pieces(
        SOURCE,
        (key, node),
        text,
        speaker=_role(message),
        session=(key,),
        at=at,
        title=title,
        model=about.get("model_slug") if isinstance(about, dict) else None,
    )


def _branch(talk: Json) -> list[tuple[str, Json]]:
    """From the message last shown up to the first, then turned round."""
    mapping = an_object(talk.get("mapping"), "mapping")
    node = talk.get("current_node") or _latest(mapping)
    branch: list[tuple[str, Json]] = []
    passed: set[str] = set()
    while node is not None:
        node = a_name(node, "a node's id")
        if node in passed:
            raise InvalidInput(f"message {node} is its own ancestor")
        passed.add(node)
        here = an_object(mapping.get(node), f"message {node}")
        if here.get("message") is not None:
            branch.append((node, an_object(here["message"], f"the message in {node}")))
        node = here.get("parent")
    return branch[::-1]


def _latest(mapping: Json) -> str | None:
    """The last message nobody answered: where an older export does not name the current one."""
    ends = [node for node, here in mapping.items() if isinstance(here, dict) and not here.get("children")]
    return ends[-1] if ends else None


def _text(node: str, message: Json, account: Account) -> str | None:
    """What was said, or None with a count of what it is instead."""
    kind = an_object(message.get("content"), f"content of message {node}").get("content_type", "text")
    about = message.get("metadata")
    if _role(message) not in ("user", "assistant"):
        account.left_out[f"{_role(message)} messages"] += 1
    elif isinstance(about, dict) and about.get("is_visually_hidden_from_conversation"):
        account.left_out["hidden messages"] += 1
    elif message.get("recipient", "all") != "all":
        account.left_out["calls of tools"] += 1
    elif kind not in _SPOKEN:
        account.left_out[f"{kind} messages"] += 1
    else:
        return _said(a_list(message["content"].get("parts"), f"parts of message {node}"), account)
    return None


def _said(parts: list[object], account: Account) -> str | None:
    texts = []
    for part in (part for part in parts if part is not None):
        if isinstance(part, dict) and not isinstance(part.get("text"), str):
            account.left_out[_PARTS.get(str(part.get("content_type")), "attachments")] += 1
        else:
            texts.append(a_text(part["text"] if isinstance(part, dict) else part, "a part"))
    said = "\n".join(filter(visible, texts))
    if not said and not any(isinstance(part, dict) for part in parts):
        account.left_out["empty messages"] += 1
    return said or None


def _role(message: Json) -> str:
    return a_name(an_object(message.get("author"), "author").get("role"), "the author's role")
