"""JSON that people write: a document or an object a line, plain or packed; an error names file, place and field."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Json
from fivefold.values.validate import MAX_CONTENT, checked_name, checked_text

PACKED: dict[str, Callable[[Path], object]] = {".gz": gzip.open, ".xz": lzma.open}
"""Functions that open files with these endings."""

_BOM = b"\xef\xbb\xbf"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and its place in the file. A missing or wrong field is an error that names the place."""

    where: str
    data: Json

    @staticmethod
    def of(where: str, value: object) -> Fields:
        if not isinstance(value, dict):
            raise InvalidInput(f"{where}: must be an object with named fields, not {kind_of(value)}")
        return Fields(where, {name: item for name, item in value.items() if item is not None})

    def fault(self, name: str, why: object) -> InvalidInput:
        reason = why.reason if isinstance(why, InvalidInput) and why.field == name else why
        return InvalidInput(f"{self.where}, field {name}: {reason}")

    def checked(self, name: str, check: Callable[..., _T], *arguments: object) -> _T:
        """Calls `check` with the arguments; an error names the place."""
        try:
            return check(*arguments)
        except InvalidInput as error:
            raise self.fault(name, error) from None

    def only(self, known: Sequence[str]) -> None:
        unknown = next((name for name in self.data if name not in known), None)
        if unknown is not None:
            raise self.fault(unknown, f"is unknown; known are {', '.join(known)}")

    def value(self, name: str) -> Any:
        if name not in self.data:
            raise self.fault(name, "is missing")
        return self.data[name]

    def text(self, name: str, *, empty: bool = False) -> str:
        return self.checked(name, partial(checked_text, empty=empty, most=MAX_CONTENT), self.value(name), name)

    def name(self, name: str) -> str:
        return self.checked(name, checked_name, self.value(name), name)

    def entries(self, name: str) -> list[Any]:
        value = self.value(name)
        if not isinstance(value, list):
            raise self.fault(name, f"must be a list, not {kind_of(value)}")
        return value


def kind_of(value: object) -> str:
    """JSON's name for a value's type, for errors."""
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def lines(path: Path) -> Iterator[Fields]:
    """One object a line, read as it is needed; blank lines are passed over, an empty file is an error."""
    empty = True
    with open_file(path) as file:
        for number, raw in enumerate(file, 1):
            where = f"{path.name} line {number}"
            if not raw.removeprefix(_BOM).strip():
                continue
            value = parse(raw, where)
            if empty and isinstance(value, list):
                raise InvalidInput(f"{where}: the file is a JSON list; write one object a line instead")
            empty = False
            yield Fields.of(where, value)
    if empty:
        raise InvalidInput(f"{path.name} is empty; write one object a line")


def document(path: str | Path) -> object:
    """The one JSON value that a file holds."""
    path = Path(path)
    with open_file(path) as file:
        return parse(file.read(), path.name)


def parse(raw: bytes, where: str) -> object:
    """The JSON value of some bytes."""
    raw = raw.removeprefix(_BOM)
    if not raw.strip():
        raise InvalidInput(f"{where} is empty")
    try:
        return json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where}: not UTF-8 text, {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        row = f"line {error.lineno}, " if b"\n" in raw.strip() else ""
        raise InvalidInput(f"{where}: not JSON, {error.msg} at {row}column {error.colno}") from None
    except ValueError as error:
        raise InvalidInput(f"{where}: not JSON, {error}") from None
    except RecursionError:
        raise InvalidInput(f"{where}: its values are nested too deep") from None


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked on the way if its name ends in .gz or .xz."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; give the file itself")
    try:
        with cast("IO[bytes]", PACKED[path.suffix](path)) if path.suffix in PACKED else path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist; check the path") from None
    except (gzip.BadGzipFile, lzma.LZMAError, EOFError, zlib.error) as error:
        form = {".gz": "gzip", ".xz": "xz"}.get(path.suffix, "packed")
        raise InvalidInput(f"{path.name} is not a sound {form} file: {error}; pack it again") from None
    except OSError as error:
        raise InvalidInput(f"{path} could not be read: {error.strerror or error}") from None
