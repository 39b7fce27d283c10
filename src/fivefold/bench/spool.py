"""Values laid down in a temporary file and read back one at a time, so that a large dataset needs little memory."""

from __future__ import annotations

import hashlib
import json
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lies in the file."""

    start: int
    length: int


class Spool:
    """A temporary file of JSON values, packed; equal values lie there once. It goes with the last who holds it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._places: dict[bytes, Place] = {}
        weakref.finalize(self, self._file.close)

    def put(self, value: object) -> Place:
        raw = json.dumps(value).encode()
        key = hashlib.sha256(raw).digest()
        if key not in self._places:
            packed = zlib.compress(raw, 1)
            start = self._file.seek(0, 2)
            self._file.write(packed)
            self._places[key] = Place(start, len(packed))
        return self._places[key]

    def get(self, place: Place) -> Any:
        self._file.seek(place.start)
        return json.loads(zlib.decompress(self._file.read(place.length)))


class LazyList(Sequence[T], Generic[T]):
    """A list that is made each time it is used and whose length is known without that."""

    def __init__(self, length: int, make: Callable[[], list[T]]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return iter(self._make())

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        return self._make()[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
