"""Rows of a file without its schema: every page that looks like a leaf of a table is read by SQLite's file format.

For files whose schema or tree is damaged, so that SQLite no longer finds the way to pages that are sound.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

Buffer = bytes | mmap.mmap

Cell = tuple[int, list[Any]]
"""The key of a row and its columns."""

_LEAF = 0x0D
_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def table_rows(data: Buffer) -> Iterator[Cell]:
    """The rows of all tables in the file, page by page; what does not fit the format is left out."""
    size = struct.unpack_from(">H", data, 16)[0] if len(data) > 100 else 0
    size = 65_536 if size == 1 else size
    if size < 512 or size & (size - 1):
        size = 4_096
    usable = size - data[20] if len(data) > 20 and data[20] < size // 2 else size
    for number in range(len(data) // size):
        start = number * size
        page = data[start : start + size]
        head = 100 if number == 0 else 0
        if page[head] == _LEAF:
            count = struct.unpack_from(">H", page, head + 3)[0]
            for place in range(head + 8, min(head + 8 + 2 * count, size - 1), 2):
                with suppress(IndexError, ValueError, struct.error):
                    yield _cell(data, page, struct.unpack_from(">H", page, place)[0], size, usable)


def _cell(data: Buffer, page: bytes, place: int, size: int, usable: int) -> Cell:
    length, place = _varint(page, place)
    key, place = _varint(page, place)
    if length > len(data):
        raise ValueError("longer than the file")
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
    local = length
    if length > most:
        local = least + (length - least) % (usable - 4)
        local = local if local <= most else least
    payload = page[place : place + local]
    if length > local:
        following = struct.unpack_from(">I", page, place + local)[0]
        payload += _overflow(data, following, length - local, size, usable)
    if len(payload) < length:
        raise ValueError("cut off")
    return key, _record(payload)


def _overflow(data: Buffer, number: int, length: int, size: int, usable: int) -> bytes:
    """The rest of a long row, which goes on from page to page."""
    parts: list[bytes] = []
    while number and length > 0:
        start = (number - 1) * size
        part = data[start + 4 : start + usable][:length]
        if not part:
            break
        parts.append(part)
        length -= len(part)
        number = struct.unpack_from(">I", data, start)[0]
    return b"".join(parts)


def _record(payload: bytes) -> list[Any]:
    end, place = _varint(payload, 0)
    values: list[Any] = []
    body = end
    while place < end:
        kind, place = _varint(payload, place)
        value, body = _value(payload, body, kind)
        values.append(value)
    return values


def _value(payload: bytes, place: int, kind: int) -> tuple[object, int]:
    if kind == 0:
        return None, place
    if kind in (8, 9):
        return kind - 8, place
    if kind == 7:
        return struct.unpack_from(">d", payload, place)[0], place + 8
    size = _SIZES[kind] if kind in _SIZES else (kind - 12) // 2
    part = payload[place : place + size]
    if kind in (10, 11) or len(part) < size:
        raise ValueError("no value")
    if kind in _SIZES:
        return int.from_bytes(part, "big", signed=True), place + size
    if kind % 2:
        with suppress(UnicodeDecodeError):  # a damaged text stays as it is
            return part.decode(), place + size
    return part, place + size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = 0
    for count in range(8):
        byte = data[place + count]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place + count + 1
    number = number << 8 | data[place + 8]
    return (number - (1 << 64) if number >= 1 << 63 else number), place + 9
