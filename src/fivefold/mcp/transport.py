"""The parts that differ between standard streams and HTTP: the service they open, and the session of a request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fivefold.errors import InvalidInput
from fivefold.service.shared_tables import MemoryTable, Table
from fivefold.values.access import ALL, Caller

if TYPE_CHECKING:
    from fivefold.service.service import Service
    from fivefold.service.session import Session


MAX_RECALLS = 1_000
"""The number of recalls whose numbers are known; a number is used soon after the answer, or never."""

MAX_DIGITS = 9
"""Digits of a source number."""


class SourceNumbers:
    def __init__(self, table: Table | None = None) -> None:
        self._ids = table or MemoryTable(MAX_RECALLS)

    def record(self, namespace: str, recall_id: str, ids: Sequence[str]) -> None:
        """The sources of a recall have these ids, in the order of their numbers."""
        self._ids.change(_key(namespace, recall_id), lambda _: json.dumps([*ids]))

    def ids(self, namespace: str, recall_id: str, names: Sequence[str]) -> list[str]:
        """Ids as they are, and those of numbers such as '2' or '[2]'; an id that looks like a number stays one."""
        stored = self._ids.get(_key(namespace, recall_id))
        known: list[str] = [] if stored is None else json.loads(stored)
        return [name if name in known else self._id(name, known) for name in names]

    def lost(self, namespace: str, recall_id: str, names: Sequence[str]) -> bool:
        """True if some of the names are numbers unknown here: of another server, or of a recall long ago."""
        return self._ids.get(_key(namespace, recall_id)) is None and any(map(_number, names))

    def _id(self, name: str, ids: Sequence[str]) -> str:
        number = _number(name)
        if not ids or number is None:
            return name
        if len(number) > MAX_DIGITS or not 1 <= int(number) <= len(ids):
            raise InvalidInput(f"there is no source {number[:20]}; that recall has 1 to {len(ids)}")
        return ids[int(number) - 1]


def _key(namespace: str, recall_id: str) -> str:
    return json.dumps([namespace, recall_id])


def _number(name: str) -> str | None:
    """The digits of a name such as '2' or '[2]'."""
    number = name.strip("[] ")
    return number if number.isascii() and number.isdigit() else None


class Transport(Protocol):
    """One of the two ways in."""

    @property
    def source_numbers(self) -> SourceNumbers: ...

    def preload(self) -> None:
        """Load what takes long; called once the client has had its first answer."""

    def service(self) -> Service: ...

    def session(self, request: Any, namespace: str | None) -> Session:
        """The sender's session, in the namespace that the request names, else in the one the transport chooses."""

    def is_structured(self, request: Any) -> bool:
        """True if results come with a structured value as well as text, and tools with its schema."""

    def message(self, error: Exception) -> str:
        """The error in plain words; an unexpected error only points to the log."""


def single_namespace(caller: Caller, default: str = "default") -> str:
    """The namespace of a key that reaches only one, else `default`."""
    return caller.namespaces[0] if len(caller.namespaces) == 1 and caller.namespaces[0] != ALL else default
