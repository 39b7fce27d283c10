"""Copies of deleted rows in the unused part of pages.

SQLite overwrites a row where it is deleted. But when it moves rows between pages to keep them balanced, it leaves the
bytes of the moved row in the part of the old page that is no longer used. They are cleared here, in the file itself,
since SQL reaches no unused byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

CHUNK = 4 << 20
"""Bytes that are read at once."""

MAX_CLEARED = 2_000
"""Pages that are cleared while writers wait."""

MAX_PAGES = 1 << 24
"""Up to this many pages the first byte of a page tells whether it holds rows; a larger file is left alone."""

_TREE_PAGES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The first byte of a page of a tree, and how long its header is."""

Part = tuple[int, int]
"""Where a part of the file begins and ends."""


def clear_remains(connection: apsw.Connection, location: str) -> bool:
    """Overwrite the unused parts of all pages; false if a writer or a reader was in the way.

    The log must be empty while that is done, and stay so: then the file is all there is, nobody else writes to it, and
    no reader minds, since nothing that is used changes. The commit at the end makes every process read its pages anew;
    one that had them in memory would otherwise write them back as they were.
    """
    size = int(connection.pragma("page_size"))
    with _opened(location) as file:
        pages, reserved = file.xFileSize() // size, file.xRead(1, 20)[0]
        if pages > MAX_PAGES:
            return True
        found = list(_remains(file, size, pages, reserved))
        for start in range(0, len(found), MAX_CLEARED):
            if not _clear(connection, file, location, size, reserved, found[start : start + MAX_CLEARED]):
                return False
    return True


def _clear(
    connection: apsw.Connection, file: apsw.VFSFile, location: str, size: int, reserved: int, found: list[int]
) -> bool:
    """Clear these pages, as they are once nobody else may write."""
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        if os.path.getsize(f"{location}-wal"):
            return False
        for number in found:
            part = unused_part(file.xRead(size, number * size), size - reserved, first=number == 0)
            if part is not None:
                start, end = part
                file.xWrite(bytes(end - start), number * size + start)
        file.xSync(apsw.SQLITE_SYNC_FULL)
        connection.execute(f"PRAGMA user_version = {int(connection.pragma('user_version'))}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]


def _remains(file: apsw.VFSFile, size: int, pages: int, reserved: int) -> Iterator[int]:
    """The numbers of the pages, from 0, whose unused part is not empty."""
    many = CHUNK // size
    for first in range(0, pages, many):
        data = file.xRead(size * min(many, pages - first), first * size)
        for place in range(0, len(data), size):
            number = first + place // size
            if unused_part(data[place : place + size], size - reserved, first=number == 0) is not None:
                yield number


def unused_part(page: bytes, usable: int, *, first: bool = False) -> Part | None:
    """Where the part between the places of the rows and the rows begins and ends; None if there is nothing to clear."""
    at = 100 if first else 0  # the header of the file is in its first page
    header = _TREE_PAGES.get(page[at]) if len(page) > at else None
    if header is None:
        return None
    start = at + header + 2 * int.from_bytes(page[at + 3 : at + 5], "big")
    end = int.from_bytes(page[at + 5 : at + 7], "big") or 65_536
    if not start < end <= usable or page.count(0, start, end) == end - start:
        return None
    return start, end


@contextmanager
def _opened(location: str) -> Iterator[apsw.VFSFile]:
    """The file as SQLite itself opens it: closing it gives up no lock of this process, as another way would."""
    file = apsw.VFSFile("", location, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        yield file
    finally:
        file.xClose()
