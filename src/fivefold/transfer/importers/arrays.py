"""The items of a JSON array one after the other, so that a large file need not fit into memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import BinaryIO

from fivefold.errors import InvalidFile

CHUNK = 1 << 20
MOST = 1 << 27
"""Characters of one item; a small archive may hold one that no memory has room for."""

_SPACE = " \t\r\n"
_decode = json.JSONDecoder().raw_decode


def items(stream: BinaryIO, name: str) -> Iterator[object]:
    """Each item of the array in `stream`, or the one object there is in place of an array."""
    text = _Text(stream, name)
    if text.next() != "[":
        yield text.value(1)
        text.end()
        return
    text.take()
    number = 0
    while text.next() != "]":
        if number:
            text.comma(number)
        number += 1
        yield text.value(number)
    text.take()
    text.end()


class _Text:
    """The part of the stream that is read but not yet parsed."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._name = name
        self._buffer = ""
        self._at = 0

    def next(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._more(CHUNK):
                return ""

    def take(self) -> None:
        self._at += 1

    def comma(self, number: int) -> None:
        if self.next() != ",":
            raise self._cut("a comma or the end of the list should follow", f"after item {number}")
        self.take()

    def value(self, number: int) -> object:
        """The object or list that begins here; more is read each time it does not end yet."""
        if self.next() not in ("{", "["):
            raise self._cut("should be an object", f"item {number}")
        size = CHUNK
        while True:
            try:
                item, end = _decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if len(self._buffer) - self._at >= MOST:
                    raise InvalidFile(
                        self._name, f"is longer than {MOST:,} characters", place=f"item {number}"
                    ) from None
                if not self._more(size):
                    raise self._cut(f"is not JSON: {error.msg}", f"item {number}") from None
                size = min(2 * size, MOST // 8)
            except ValueError:  # the interpreter reads no whole number of more digits
                raise InvalidFile(self._name, "holds a number that is too long", place=f"item {number}") from None
            except RecursionError:
                raise InvalidFile(self._name, "is nested too deep", place=f"item {number}") from None
            else:
                self._at = end
                return item

    def end(self) -> None:
        if self.next():
            raise self._cut("something follows it", "end of the list")

    def _more(self, size: int) -> bool:
        """Read on; whether there was anything left to read."""
        chunk = self._stream.read(size)
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise InvalidFile(self._name, f"is not UTF-8 text: {error.reason}") from None
        self._buffer = self._buffer[self._at :] + text
        self._at = 0
        return bool(chunk)

    def _cut(self, reason: str, place: str) -> InvalidFile:
        return InvalidFile(self._name, reason, place=place, advice="the file may be cut off or edited, export it again")


def is_utf8(start: bytes) -> bool:
    """Whether the beginning of a file reads as text; its last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return b"\x00" not in start
