"""The numbers under which sources were told, so that a model can name them by those instead of by long ids."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from fivefold.errors import InvalidInput

RECALLS_KEPT = 1_000
"""Recalls whose numbers are known; a number is used soon after it was told, or never."""

LONGEST = 9
"""Digits of a number that can be one of a source."""


class SourceNumbers:
    def __init__(self) -> None:
        self._ids: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def record(self, namespace: str, recall_id: str, ids: Sequence[str]) -> None:
        """The sources of a recall have these ids, in the order of their numbers."""
        with self._lock:
            self._ids[namespace, recall_id] = tuple(ids)
            if len(self._ids) > RECALLS_KEPT:
                self._ids.popitem(last=False)

    def ids(self, namespace: str, recall_id: str, named: Sequence[str]) -> list[str]:
        """Ids as they are, and those of numbers such as '2' or '[2]'; an id that looks like a number stays one."""
        with self._lock:
            known = self._ids.get((namespace, recall_id), ())
        return [name if name in known else self._id(name, known) for name in named]

    def lost(self, namespace: str, recall_id: str, named: Sequence[str]) -> bool:
        """Whether numbers are named that nobody knows here: another process told them, or they were told long ago."""
        with self._lock:
            known = (namespace, recall_id) in self._ids
        return not known and any(map(_number, named))

    def _id(self, name: str, told: Sequence[str]) -> str:
        number = _number(name)
        if not told or number is None:
            return name
        if len(number) > LONGEST or not 1 <= int(number) <= len(told):
            raise InvalidInput(f"there is no source {number[:20]}; that recall told 1 to {len(told)}")
        return told[int(number) - 1]


def _number(name: str) -> str | None:
    """The digits of a name such as '2' or '[2]'."""
    number = name.strip("[] ")
    return number if number.isascii() and number.isdigit() else None
