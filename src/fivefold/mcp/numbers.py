"""The numbers under which sources were told, so that a model can name them by those instead of by long ids."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from fivefold.errors import InvalidInput

KEPT = 1_000
"""Recalls whose numbers are known; a number is used soon after it was told, or never."""


class Numbers:
    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def tell(self, namespace: str, recall_id: str, ids: Sequence[str]) -> None:
        """The sources of a recall have these ids, in the order of their numbers."""
        with self._lock:
            self._told[namespace, recall_id] = tuple(ids)
            if len(self._told) > KEPT:
                self._told.popitem(last=False)

    def ids(self, namespace: str, recall_id: str, named: Sequence[str]) -> list[str]:
        """Ids as they are, and those of numbers such as '2' or '[2]'; an id that looks like a number stays one."""
        with self._lock:
            told = self._told.get((namespace, recall_id), ())
        return [name if name in told else self._id(name, told) for name in named]

    def _id(self, name: str, told: Sequence[str]) -> str:
        number = name.strip("[] ")
        if not number.isascii() or not number.isdigit():
            return name
        if not told:
            return name
        if not 1 <= int(number) <= len(told):
            raise InvalidInput(f"there is no source {number}; that recall told 1 to {len(told)}")
        return told[int(number) - 1]
