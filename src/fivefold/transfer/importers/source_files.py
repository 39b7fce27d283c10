"""Where the files of a source are: a single file, a folder of files, or an archive."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from io import BufferedReader, RawIOBase
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, BinaryIO

from fivefold.errors import InvalidFile
from fivefold.transfer.importers.import_log import ImportLog
from fivefold.values.open_files import refuse_open_store

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

MAX_EXPANSION, FREE_BYTES = 200, 50_000_000
"""How many times its packed size a file of an archive may expand to, and the bytes from which that counts.

Texts pack to about a tenth, and hardly one to less than a fiftieth; an archive that was made to fill a machine to a
thousandth.
"""

MAX_EXPANDED = 20_000_000_000
"""Bytes that one file of an archive may expand to."""

CONVERSATIONS = "conversations*.json"
"""How chat services name the file with the conversations; a large export has several."""


def matching_files(path: Path, pattern: str, log: ImportLog | None = None) -> list[str]:
    """The names of the files that fit, within a folder or an archive, in order; of a file, the file itself."""
    refuse_open_store(path)
    with _plain_errors(path):
        if path.is_dir():
            return files_below(path, lambda name: fnmatch(name, pattern), log)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = [item.filename for item in archive.infolist() if not item.is_dir()]
            return sorted(name for name in names if fnmatch(PurePosixPath(name).name, pattern) and _own(name))
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
    """A file of an archive that stops with an error where it expands beyond what a text can, whatever its head says."""

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
    for root, folders, files in os.walk(folder, onerror=_raised):
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


def _own(name: str) -> bool:
    """Not one of the shadow files that macOS puts into archives."""
    return not any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def _raised(error: OSError) -> None:
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
