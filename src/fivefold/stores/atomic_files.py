"""Files that are whole or not there: written in the target's folder, synced, and moved to their name in one step."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fivefold.errors import InvalidInput, StoreError, TargetExists
from fivefold.values.open_files import refuse_open_store

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LEFTOVER_S = 60.0
"""Seconds without a change after which a file that nobody has locked is deleted as the rest of a killed run."""

UNLOCKED_S = 86_400.0
"""Seconds without a change after which such a file is deleted on a system without such locks."""


@contextmanager
def replacement(target: Path) -> Iterator[BinaryIO]:
    """A private file to write, which takes the target's name when the block ends without an error."""
    refuse_open_store(target)
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with open(number, "wb") as file:
            _lock(number)
            yield file
        move_into_place(Path(name), target, replace=True)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """A private folder next to the target, so that moving a file from it is one step; deleted at the end."""
    try:
        delete_leftovers(target.parent, f"{target.name}.")
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise StoreError(f"{str(target)!r} cannot be written: {error.strerror or error}") from None
    try:
        with _locked(folder):
            yield folder
    except OSError as error:
        raise StoreError(f"{str(target)!r} could not be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_target(target: Path, replace: bool) -> None:
    """The folder must exist, and a file that exists is only overwritten with `replace`."""
    if not target.parent.is_dir():
        raise StoreError(f"the folder {str(target.parent)!r} does not exist; create it first")
    if target.is_dir():
        raise InvalidInput(f"{str(target)!r} is a folder; name a file in it")
    refuse_open_store(target)
    if not replace and (target.exists() or target.is_symlink()):
        raise TargetExists(str(target))


def move_into_place(source: Path, target: Path, replace: bool) -> None:
    """Move a file to its name once it is on the disk; a file that appeared in the meantime stays unless `replace`."""
    sync(source)
    if replace:
        os.replace(source, target)
    else:
        _move_if_free(source, target)
    sync(target.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    folder = path.is_dir()
    if folder and os.name == "nt":
        return  # Windows writes them by itself
    number = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _move_if_free(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        raise TargetExists(str(target)) from None
    except OSError:  # a file system without links
        check_target(target, replace=False)
        os.replace(source, target)


def delete_leftovers(folder: Path, start: str) -> None:
    """Delete what killed runs left in a folder for targets whose names begin with `start`; what is in use stays."""
    with os.scandir(folder) as entries:
        found = [
            Path(entry) for entry in entries if entry.name.startswith(f".{start}") and entry.name.endswith(".part")
        ]
    for path in found:
        with suppress(OSError):
            if _is_leftover(path):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _is_leftover(path: Path) -> bool:
    """A run locks what it writes; the lock ends with its process."""
    unchanged = time.time() - max(entry.stat().st_mtime for entry in (path, *path.rglob("*")))
    if unchanged <= LEFTOVER_S:
        return False
    if fcntl is None:
        return unchanged > UNLOCKED_S
    number = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unchanged > UNLOCKED_S
    finally:
        os.close(number)
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        _lock(number)
        yield
    finally:
        os.close(number)


def _lock(number: int) -> None:
    """Show other processes that the file or folder is in use; not every file system can."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
