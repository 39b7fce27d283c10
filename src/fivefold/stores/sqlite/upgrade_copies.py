"""The copies that an upgrade of the schema leaves next to a store: as private as the store, and not for ever."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import apsw

from fivefold.stores.atomic_files import delete_leftovers, move_into_place, temporary_folder
from fivefold.values.reports import Finding

KEPT_DAYS = 30
"""How many days a copy stays. It has all memories of its time, also those that were forgotten since."""


def make_copy(location: str, version: int) -> Path:
    """Copy the file before its schema changes; the copy has its name once it is whole, an older one stays."""
    target, number = Path(f"{location}.v{version}.bak"), 1
    while target.exists():
        number += 1
        target = Path(f"{location}.v{version}.bak{number}")
    with temporary_folder(target) as folder:
        copy = folder / "store.db"
        copy.touch(mode=0o600)
        _copy_pages(location, str(copy))
        os.chmod(copy, _mode(Path(location)))
        move_into_place(copy, target, replace=False)
    return target


def copies_of(location: str) -> list[Path]:
    """The copies next to a store, sorted by name."""
    return sorted(path for path in _files_of(location) if not path.name.endswith("-journal"))


def remove_copies(location: str) -> None:
    """After a removal: a copy still has what was forgotten, and so it goes."""
    for path in _files_of(location):
        path.unlink(missing_ok=True)


def tidy(location: str) -> None:
    """Delete copies that are empty or too old and what killed runs left, and make the others as private as the store.

    A folder that cannot be changed stays as it is.
    """
    with suppress(OSError):
        delete_leftovers(Path(location).parent, f"{Path(location).name}.")
        for path in _files_of(location):
            if path.stat().st_size == 0 or _age_s(path) > KEPT_DAYS * 86_400:
                path.unlink(missing_ok=True)
            elif _mode(path) & ~_mode(Path(location)):
                path.chmod(_mode(path) & _mode(Path(location)))


def check_copies(location: str) -> Iterator[Finding]:
    """Name the copies, and whether others can read them who cannot read the store; nothing where there are none."""
    copies = copies_of(location)
    if not copies:
        return
    exposed = [path.name for path in copies if _mode(path) & ~_mode(Path(location))]
    if exposed:
        yield Finding("copies of upgrades", False, f"more users can read {', '.join(exposed)} than the store")
        return
    names = ", ".join(f"{path.name} of {datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%d}" for path in copies)
    advice = f"deleted {KEPT_DAYS} days after the upgrade, and as soon as something is forgotten"
    yield Finding("copies of upgrades", True, f"{names}: {advice}")


def _copy_pages(location: str, copy: str) -> None:
    with (
        closing(apsw.Connection(location, flags=apsw.SQLITE_OPEN_READONLY)) as source,
        closing(apsw.Connection(copy)) as goal,
        goal.backup("main", source, "main") as backup,
    ):
        while not backup.done:
            backup.step(1000)


def _files_of(location: str) -> list[Path]:
    store = Path(location)
    ours = re.compile(re.escape(store.name) + r"\.v\d+\.bak\d*(-journal)?")
    with os.scandir(store.parent) as entries:
        return [Path(entry) for entry in entries if ours.fullmatch(entry.name)]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) & 0o777


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime
