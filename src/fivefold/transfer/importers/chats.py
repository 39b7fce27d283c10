"""What exports of chat services have in common: a list of conversations, each read whole or skipped with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.transfer.importers.account import Account
from fivefold.transfer.importers.arrays import items
from fivefold.transfer.importers.expected import an_object
from fivefold.transfer.importers.places import CONVERSATIONS, found, opened
from fivefold.values.memory import Record
from fivefold.values.serialize import Json

SHOWN = 60
Turns = Callable[[Json, Account], Iterator[Record]]


def conversations(path: Path, account: Account, turns: Turns, title: str) -> Iterator[Record]:
    """The turns of every conversation; `title` names the field by which a person knows one again."""
    names = found(path, CONVERSATIONS, account)
    if not names:
        raise InvalidInput(f"{str(path)!r} holds no conversations.json; name the export as it was downloaded")
    for name in names:
        with opened(path, name) as (stream, shown):
            for number, item in enumerate(items(stream, shown), 1):
                account.parts += 1
                try:
                    read = list(turns(an_object(item, "a conversation"), account))
                except InvalidInput as error:
                    account.skip(f"{shown}, conversation {number}{_titled(item, title)}", error)
                else:
                    yield from read


def _titled(item: object, title: str) -> str:
    given = item.get(title) if isinstance(item, dict) else None
    if not isinstance(given, str) or not given:
        return ""
    return f" {given if len(given) <= SHOWN else given[:SHOWN] + '…'!r}"
