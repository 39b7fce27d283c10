"""Files that a store has open in this process, which nothing else may open.

POSIX drops all locks of a process on a file as soon as it closes that file once, however it was opened. SQLite's locks
on a store would be gone, and another process could delete the log with the last writes in it.
"""

from __future__ import annotations

import os
import threading
from collections import Counter

from fivefold.errors import Call, InvalidFile

SIDE_FILES = ("-wal", "-shm", "-journal")
"""The endings that SQLite adds to the name of a file for those it keeps next to it."""

_stores: Counter[str] = Counter()
_lock = threading.Lock()


def note_open(location: str) -> None:
    """A store was opened."""
    with _lock:
        _stores[location] += 1


def note_closed(location: str) -> None:
    """Notes that it was closed; it stays open until it was closed as often as it was opened."""
    with _lock:
        _stores[location] -= 1
        if _stores[location] <= 0:
            del _stores[location]


def is_open(path: str | os.PathLike[str]) -> bool:
    """True if a path leads to a file of an open store, by whatever name."""
    with _lock:
        stores = list(_stores)
    if not stores:
        return False
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return any(_is_same(found, store + end) for store in stores for end in ("", *SIDE_FILES))


def refuse_open_store(path: str | os.PathLike[str]) -> None:
    """Before a file is opened that a caller names: it may not be a store that is open."""
    if is_open(path):
        raise InvalidFile(
            os.fspath(path),
            "is a file of a store that is open in this process",
            advice="copy a store with {call}",
            call=Call("migrate"),
        )


def _is_same(found: os.stat_result, path: str) -> bool:
    try:
        return os.path.samestat(found, os.stat(path))
    except OSError:
        return False
