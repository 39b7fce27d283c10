"""Sources of an import: their files, archives, JSON arrays and databases, and the records that their texts become."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
import sqlite3
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from io import BufferedReader, RawIOBase
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Protocol

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.settings import Settings
from fivefold.values.memory import Memory, Record, record_of
from fivefold.values.open_files import refuse_open_store
from fivefold.values.serialize import Json, Value
from fivefold.values.validate import MAX_NAME, MAX_TAGS, visible

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer


# What a source holds besides its records, so that nothing is left out silently.


@dataclass(frozen=True, slots=True)
class Gap(Value):
    """A part of a source that cannot be read, and why."""

    where: str
    why: str


@dataclass(slots=True)
class ImportLog:
    """Grows while a source is read. With `strict`, the first part that cannot be read is an error."""

    strict: bool = False
    parts: int = 0
    """Conversations, files or lists that were read or skipped."""
    skipped: list[Gap] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of things without a text to remember, by their kind."""
    settings: Settings = field(default_factory=Settings)
    """The settings of the namespace for system messages and tools."""

    def skip(self, file: str, place: str, error: InvalidInput) -> None:
        """Notes a part of a file that is left out; `place` is empty if the whole file cannot be read."""
        if self.strict:
            raise error if isinstance(error, InvalidFile) else InvalidFile(file, error, place=place)
        self.skipped.append(Gap(f"{file}, {place}" if place else file, str(error)))

    def part(self, file: str, place: str, records: Iterable[Record]) -> Iterator[Record]:
        """The records of one part, which is read whole; one that cannot be read is skipped."""
        self.parts += 1
        try:
            whole = list(records)
        except InvalidInput as error:
            self.skip(file, place, error)
        else:
            yield from whole


class SourceReader(Protocol):
    """Reads the sources of one format."""

    source: str
    """The name of the format, with which the ids of its records begin."""
    label: str
    """Name of a source of this format in a sentence."""

    def read(self, path: Path, log: ImportLog) -> Iterator[Record]: ...


# Where the files of a source are: a single file, a folder of files, or an archive.

MAX_EXPANSION, FREE_BYTES = 200, 50_000_000
"""Maximum ratio of a file's size in an archive to its packed size, and the bytes from which that counts.

Texts pack to about a tenth, and hardly one to less than a fiftieth; an archive that was made to fill a machine to a
thousandth.
"""

MAX_EXPANDED = 20_000_000_000
"""Bytes that one file of an archive may expand to."""

CONVERSATIONS = "conversations*.json"
"""File names of the conversations in exports of chat services; a large export has several."""


def matching_files(path: Path, pattern: str, log: ImportLog | None = None) -> list[str]:
    """The names of the files that fit, within a folder or an archive, in order; of a file, the file itself."""
    refuse_open_store(path)
    with _plain_errors(path):
        if path.is_dir():
            return files_below(path, lambda name: fnmatch(name, pattern), log)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = [item.filename for item in archive.infolist() if not item.is_dir()]
            shadows = (".", "__MACOSX")  # files that macOS puts into archives
            paths = [PurePosixPath(name) for name in names]
            return sorted(
                name
                for name, file in zip(names, paths, strict=True)
                if fnmatch(file.name, pattern) and not any(part.startswith(shadows) for part in file.parts)
            )
    return [""]


@contextmanager
def open_source_file(path: Path, name: str) -> Iterator[tuple[BinaryIO, str]]:
    """A file that `matching_files` lists, and its name for errors."""
    refuse_open_store(path / name if name and path.is_dir() else path)
    with _plain_errors(path):
        if not name:
            with path.open("rb") as stream:
                yield stream, str(path)
        elif path.is_dir():
            with (path / name).open("rb") as stream:
                yield stream, str(path / name)
        else:
            with zipfile.ZipFile(path) as archive, archive.open(name) as member:
                packed = archive.getinfo(name).compress_size
                with BufferedReader(_Expansion(member, path, name, packed)) as stream:
                    yield stream, f"{path}, {name}"


class _Expansion(RawIOBase):
    """A file of an archive that stops with an error if it expands beyond what a text can, whatever its head says."""

    def __init__(self, member: IO[bytes], path: Path, name: str, packed: int) -> None:
        self._member, self._path, self._name, self._packed = member, path, name, packed
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        piece = self._member.read(len(view))
        view[: len(piece)] = piece
        self._read += len(piece)
        if self._read > min(MAX_EXPANDED, max(FREE_BYTES, MAX_EXPANSION * self._packed)):
            raise InvalidFile(
                self._path,
                f"holds {self._name}, which expands to more than {self._read // 1_000_000:,} MB, "
                f"{self._read // max(1, self._packed):,} times its packed size; "
                "if you trust it, unpack it and import the folder",
            )
        return len(piece)


def files_below(folder: Path, fits: Callable[[str], bool], log: ImportLog | None = None) -> list[str]:
    """The files below a folder whose names fit, hidden ones aside, as paths with forward slashes.

    A folder can come from anyone, so a link in it that leads to a file elsewhere is left out, as a device is.
    """
    names: list[str] = []
    within, left_out = folder.resolve(), Counter[str]() if log is None else log.left_out
    for root, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inner = Path(root).relative_to(folder)
        for name in sorted(name for name in files if not name.startswith(".") and fits(name)):
            file = Path(root, name)
            if file.exists() and not file.is_file():
                left_out["devices and pipes"] += 1
            elif not file.resolve().is_relative_to(within):
                left_out["links out of the folder"] += 1
            else:
                names.append((inner / name).as_posix())
    return names


def first_bytes(path: Path, name: str = "", size: int = 65_536) -> bytes:
    with open_source_file(path, name) as (stream, _):
        return stream.read(size)


def written_at(path: Path, name: str = "") -> datetime:
    """The time at which a file of a source was last changed."""
    file = path / name if path.is_dir() else path
    return datetime.fromtimestamp(int(file.stat().st_mtime), UTC)


def _raise(error: OSError) -> None:
    raise error


@contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise InvalidFile(where, f"could not be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InvalidFile(path, f"is a damaged or locked archive: {error}") from None


# JSON in pieces, so that a large file need not fit into memory.

CHUNK_BYTES = 1 << 20
MAX_ITEM = 1 << 27
"""Characters of one item; a small archive may hold one that no memory has room for."""

_SPACE = " \t\r\n"
_ENDS = frozenset(f"{_SPACE},:]}}")
_decode = json.JSONDecoder().raw_decode


def items(stream: BinaryIO, name: str) -> Iterator[object]:
    """Each item of the array in `stream`, or the one object there is in place of an array."""
    text = JsonStream(stream, name)
    if text.peek() == "[":
        for number in text.entries():
            yield text.item(number)
    else:
        yield text.item(1)
    if text.peek():
        raise text.cut("something follows it", "end of the list")


class JsonStream:
    """A place in a JSON text that moves on; what lies behind it is forgotten."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.name = name
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._buffer, self._at = "", 0

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._more(CHUNK_BYTES):
                return ""

    def entries(self) -> Iterator[int]:
        """The numbers of the entries of the list at this place; the caller reads each before the next."""
        return self._parts("[", "]", "list", "item")

    def members(self) -> Iterator[str]:
        """The names of the object at this place; the caller reads the value of each before the next."""
        for number in self._parts("{", "}", "object", "name"):
            name = self.value(f"name {number}")
            if not isinstance(name, str):
                raise self.cut("should be a text", f"name {number}")
            self._take(":", "a colon should follow", f"after name {name!r}")
            yield name

    def item(self, number: int) -> object:
        """The object or list that begins here."""
        if self.peek() not in ("{", "["):
            raise self.cut("should be an object", f"item {number}")
        return self.value(f"item {number}")

    def value(self, place: str = "") -> object:
        """The value that begins here; more is read each time it does not end yet."""
        self.peek()
        size = CHUNK_BYTES
        while True:
            try:
                value, end = _decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if len(self._buffer) - self._at >= MAX_ITEM:
                    raise InvalidFile(self.name, f"is longer than {MAX_ITEM:,} characters", place=place) from None
                if not self._more(size):
                    raise self.cut(f"is not JSON: {error.msg}", place) from None
            except ValueError:  # the interpreter reads no whole number of more digits
                raise InvalidFile(self.name, "holds a number that is too long", place=place) from None
            except RecursionError:
                raise InvalidFile(self.name, "is nested too deep", place=place) from None
            else:
                # a number may go on behind the text that is here
                if self._buffer[end - 1] in '"]}' or self._buffer[end : end + 1] in _ENDS or not self._more(size):
                    self._at = end
                    return value
            size = min(2 * size, MAX_ITEM // 8)

    def cut(self, reason: str, place: str) -> InvalidFile:
        return InvalidFile(self.name, reason, place=place, advice="the file may be cut off or edited, export it again")

    def _parts(self, start: str, end: str, kind: str, part: str) -> Iterator[int]:
        number = 0
        self._take(start, f"a{'n' if kind[0] == 'o' else ''} {kind} should begin", "beginning")
        while self.peek() != end:
            if number:
                self._take(",", f"a comma or the end of the {kind} should follow", f"after {part} {number}")
            number += 1
            yield number
        self._at += 1

    def _take(self, character: str, reason: str, place: str) -> None:
        if self.peek() != character:
            raise self.cut(reason, place)
        self._at += 1

    def _more(self, size: int) -> bool:
        """Read on; whether there was anything left to read."""
        chunk = self._stream.read(size)
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise InvalidFile(self.name, f"is not UTF-8 text: {error.reason}") from None
        self._buffer, self._at = self._buffer[self._at :] + text, 0
        return bool(chunk)


def json_object(text: str | bytes) -> Json | None:
    """The object that a text is as JSON; None if it is anything else."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def is_utf8(start: bytes) -> bool:
    """True if the beginning of a file reads as text; its last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return b"\x00" not in start


# SQLite files of other programs, opened for reading only.

HEADER = b"SQLite format 3\x00"


def is_database(path: Path) -> bool:
    return first_bytes(path, size=len(HEADER)) == HEADER


def columns(path: Path) -> dict[str, list[str]]:
    """Every table with its columns; virtual ones aside, whose modules are not loaded here."""
    own = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    with _open(path) as connection:
        names = [name for (name,) in connection.execute(own)]
        return {
            name: [column for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))]
            for name in names
        }


def rows(path: Path, sql: str) -> Iterator[tuple[object, ...]]:
    """One row after the other, as far as the caller reads."""
    with _open(path) as connection:
        yield from connection.execute(sql)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """The interpreter's SQLite does not know the locks of the one that stores use."""
    refuse_open_store(path)
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InvalidFile(path, f"could not be read as a SQLite file: {error}") from None


IMPORTED = "imported"
"""Under this name the metadata of a memory has its source and a digest of the source's text."""

_BROKEN = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def text_records(
    source: str,
    key: tuple[str, ...],
    text: str,
    *,
    speaker: str | None = None,
    session: tuple[str, ...] | None = None,
    at: datetime | None = None,
    stated: bool = True,
    tags: Iterable[str] = (),
    **about: Any,
) -> Iterator[Record]:
    """One record, or none if nothing in the text is visible.

    A time that is not `stated` in the source, such as a file's, does not count as a change of it.
    """
    labels = tuple(dict.fromkeys(filter(visible, map(one_line, tags))))[:MAX_TAGS]
    teller = one_line(speaker or "")
    metadata = {name: _storable(value) for name, value in about.items() if value not in (None, "", [], {})}
    content = _storable(text).strip()
    if not visible(content):
        return
    stamp = digest(content, teller, *labels, at.isoformat() if at and stated else "")
    yield record_of(
        {
            "id": source_id(source, *key),
            "content": content,
            "speaker": teller if visible(teller) else None,
            "event_at": at,
            "origin": "import",
            "tags": labels,
            "session_id": source_id(source, *session) if session else None,
            "metadata": {IMPORTED: {"from": source, "digest": stamp}, **metadata},
        }
    )


def source_id(source: str, *key: str) -> str:
    """The id of a part of a source: its own if that can be an id, else one made from it."""
    readable = ":".join((source, *key))
    if len(readable) <= MAX_NAME and not _CONTROL.search(readable) and readable == readable.strip():
        return readable
    return f"{source}:{digest(*key)}"


def stored_digest(item: Record | Memory) -> str | None:
    """The digest of the source when this was imported; None if it was not imported."""
    origin = item.metadata.get(IMPORTED)
    stamp = origin.get("digest") if isinstance(origin, dict) else None
    return stamp if isinstance(stamp, str) else None


def digest(*parts: str) -> str:
    joined = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=12).hexdigest()


def _storable(value: Any) -> Any:
    """A text or a value of the metadata; what no store can hold as text becomes the replacement character."""
    if isinstance(value, str):
        return _BROKEN.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    return value


def one_line(text: str) -> str:
    """A speaker or tag on one line, no longer than a name may be."""
    return _CONTROL.sub(" ", text).strip()[:MAX_NAME].strip()
