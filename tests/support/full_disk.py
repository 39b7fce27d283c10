"""A disk that is full after so many writes: SQLite's own file system, with one refusal in it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import apsw


class Disk(apsw.VFS):
    """The file system of every connection that is opened while it is there."""

    def __init__(self) -> None:
        super().__init__("full-disk", "unix", makedefault=True)
        self.writes = 0
        self.room: int | None = None
        """How many writes there is still room for; None for any number."""

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    @contextmanager
    def full_after(self, writes: int) -> Iterator[None]:
        """Inside, that many writes succeed and all others find no room."""
        self.room = writes
        try:
            yield
        finally:
            self.room = None


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.writes += 1
        if self._disk.room is not None:
            if self._disk.room == 0:
                raise apsw.FullError("no room")
            self._disk.room -= 1
        super().xWrite(data, offset)


@contextmanager
def disk() -> Iterator[Disk]:
    made = Disk()
    try:
        yield made
    finally:
        made.unregister()


@contextmanager
def no_file_grows(most: int = 1_000) -> Iterator[None]:
    """Inside, no file of this process becomes longer than that, as on a disk that was full before it was opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
