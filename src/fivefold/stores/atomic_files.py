"""Files that are whole or not there: written in a folder beside their place, synced, and moved in."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fivefold.errors import InvalidInput, StoreError

LEFT_S = 86_400.0
"""After so many seconds without a change, what a killed run left behind is taken away by the next."""


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A private folder in the target's own, so that moving a file from it is one step; it goes at the end."""
    try:
        _sweep(target)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise StoreError(f"{str(target)!r} cannot be written: {error.strerror or error}") from None
    try:
        yield folder
    except OSError as error:
        raise StoreError(f"{str(target)!r} could not be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def must_be_free(target: Path, replace: bool) -> None:
    """Nothing is overwritten unless told so, and no folder is made."""
    if not target.parent.is_dir():
        raise StoreError(f"the folder {str(target.parent)!r} does not exist; create it first")
    if target.is_dir():
        raise InvalidInput(f"{str(target)!r} is a folder; name a file in it")
    if not replace and (target.exists() or target.is_symlink()):
        raise InvalidInput(taken(target))


def taken(target: Path) -> str:
    return f"{str(target)!r} is there already; name another file, or replace it with --replace"


def place(made: Path, target: Path, replace: bool) -> None:
    """Move a file to its name once it is on the disk; where one came meanwhile, it stays unless replaced."""
    sync(made)
    if replace:
        os.replace(made, target)
    else:
        _move_if_free(made, target)
    sync(target.parent)


def sync(path: Path) -> None:
    """Wait until a file, or what a folder lists, is on the disk."""
    folder = path.is_dir()
    if folder and os.name == "nt":
        return  # it keeps its lists by itself
    number = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _move_if_free(made: Path, target: Path) -> None:
    try:
        os.link(made, target)
    except FileExistsError:
        raise InvalidInput(taken(target)) from None
    except OSError:  # a file system without links
        must_be_free(target, replace=False)
        os.replace(made, target)


def _sweep(target: Path) -> None:
    for folder in target.parent.glob(f".{_literal(target.name)}.*.part"):
        with suppress(OSError):
            newest = max(entry.stat().st_mtime for entry in (folder, *folder.rglob("*")))
            if time.time() - newest > LEFT_S:
                shutil.rmtree(folder, ignore_errors=True)


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
