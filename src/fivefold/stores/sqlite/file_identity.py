"""Whether the files that connections have open are still those that are there under their names."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence

from fivefold.errors import StoreReplaced


class FileIdentity:
    """A store's file and its log by device and inode, as they were when the connections were opened.

    Without this check, what is written to a deleted file would be confirmed and lost.
    """

    def __init__(self, location: str, ends: Sequence[str]) -> None:
        self._known = {path: _identity(path) for path in (location, *(location + end for end in ends))}
        self._checked = -math.inf

    def check(self, within_s: float = 0.0) -> None:
        """Raise unless all files are the same, now or in the last seconds; one that was not there is not compared."""
        now = time.monotonic()
        if now - self._checked < within_s:
            return
        self._checked = -math.inf
        for path, known in self._known.items():
            if known is not None and _identity(path) != known:
                raise StoreReplaced(path)
        self._checked = now


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
