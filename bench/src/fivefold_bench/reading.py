"""What only the formats of benchmarks need of JSON files: lists, folders of lines, and files larger than memory."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fivefold.errors import InvalidInput
from fivefold.values.json_files import PACKED, document, kind_of, open_file


def listed(path: str | Path) -> list[Any]:
    """The one JSON list that a file holds."""
    path, value = Path(path), document(path)
    if not isinstance(value, list):
        raise InvalidInput(f"{path.name}: must be a list at its top, not {kind_of(value)}")
    if not value:
        raise InvalidInput(f"{path.name}: the list is empty; there is nothing to measure")
    return value


def find_file(folder: Path, name: str) -> Path:
    """The one file of lines with this name, plain or packed."""
    paths = [folder / f"{name}.jsonl{end}" for end in ("", *PACKED)]
    found = [path for path in paths if path.exists()]
    if not found:
        names = [path.name for path in paths]
        raise InvalidInput(f"{folder} holds neither {', '.join(names[:-1])} nor {names[-1]}; write one of them")
    if len(found) > 1:
        raise InvalidInput(f"{folder} holds both {found[0].name} and {found[1].name}; keep one of them")
    return found[0]


CHUNK = 1 << 20
"""Characters read at a time; an entry that is longer is read in steps that double."""

_SPACE = " \t\n\r"
_ENDS = frozenset(f"{_SPACE},:]}}")


class JsonStream:
    """A place in a JSON text that moves on; what lies behind it is forgotten."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = io.TextIOWrapper(file, "utf-8-sig")
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._whole = False

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read(CHUNK):
                return ""

    def value(self) -> object:
        """The whole value at this place."""
        self.peek()
        size = CHUNK
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._read(size):
                    raise InvalidInput(f"{self.name}: not JSON, {error.msg}") from None
            except RecursionError:
                raise InvalidInput(f"{self.name}: its values are nested too deep") from None
            else:
                # A number may go on behind the text that is here.
                if self._text[end : end + 1] in _ENDS or not self._read(size):
                    self._at = end
                    return value
            size *= 2

    def entries(self) -> Iterator[object]:
        """The values of the list at this place."""
        for _ in self._items("[", "]", "a list"):
            yield self.value()

    def members(self) -> Iterator[str]:
        """The names of the object at this place; whoever asks reads the value of each before the next name."""
        for _ in self._items("{", "}", "an object"):
            name = self.value()
            if not isinstance(name, str):
                raise InvalidInput(f"{self.name}: not JSON, a name must be text, not {kind_of(name)}")
            self._take(":")
            yield name

    def _items(self, start: str, end: str, kind: str) -> Iterator[None]:
        if self.peek() != start:
            raise InvalidInput(f"{self.name}: {kind} should begin where there is {self.peek() or 'nothing'!r}")
        self._take(start)
        if self.peek() == end:
            self._take(end)
            return
        while True:
            yield
            if self.peek() == end:
                self._take(end)
                return
            self._take(",")

    def _take(self, character: str) -> None:
        found = self.peek()
        if found != character:
            raise InvalidInput(f"{self.name}: not JSON, {character!r} is missing before {found or 'the end'!r}")
        self._at += 1

    def _read(self, size: int) -> bool:
        """More text behind what is not used yet; whether there was any."""
        if self._whole:
            return False
        try:
            more = self._file.read(size)
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{self.name}: not UTF-8 text, {error.reason}") from None
        self._whole = not more
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)


@contextmanager
def json_stream(path: Path) -> Iterator[JsonStream]:
    """A file, plain or packed, from its beginning."""
    with open_file(path) as file:
        stream = JsonStream(file, path.name)
        if not stream.peek():
            raise InvalidInput(f"{path.name} is empty")
        yield stream
