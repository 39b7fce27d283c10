"""A disk that fails once: SQLite's own file system, with an error or a loss of power at one operation.

When the power goes, each write since the last sync of its file is lost, kept or torn, by chance.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import apsw

FaultKind = Literal["error", "full", "power"]

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The operation that fails, counted from 1 over the writes, syncs and truncations of a process; 0 for none."""

    kind: FaultKind
    number: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Change:
    """A write, or a truncation without data, with what it replaced."""

    offset: int
    data: bytes
    before: bytes
    size: int


class FailingDisk(apsw.VFS):
    """The file system of every connection that is opened while it is there."""

    def __init__(self, fault: Fault) -> None:
        super().__init__("failing-disk", "unix", makedefault=True)
        self._fault = fault
        self.operations = 0
        self._unsynced: dict[str, list[_Change]] = {}

    @property
    def has_failed(self) -> bool:
        return 0 < self._fault.number <= self.operations

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    def begin(self, what: Literal["write", "sync", "truncate"]) -> None:
        """Count an operation; the one that is to fail raises."""
        self.operations += 1
        if self.operations == self._fault.number and self._fault.kind != "power":
            raise apsw.FullError("no room") if self._fault.kind == "full" and what == "write" else apsw.IOError(what)

    def end(self) -> None:
        """After an operation: the power may go."""
        if self.operations == self._fault.number and self._fault.kind == "power":
            self._cut_power()

    def note(self, path: str, change: _Change) -> None:
        self._unsynced.setdefault(path, []).append(change)

    def note_sync(self, path: str) -> None:
        self._unsynced.pop(path, None)

    def _cut_power(self) -> None:
        chance = random.Random(self._fault.seed)
        for path, changes in self._unsynced.items():
            if os.path.exists(path):
                file = os.open(path, os.O_RDWR)
                for change in reversed(changes):
                    os.pwrite(file, change.before, change.offset)
                    os.ftruncate(file, change.size)
                for change in changes:
                    _apply_by_chance(file, change, chance)
                os.close(file)
        os.kill(os.getpid(), signal.SIGKILL)


def _apply_by_chance(file: int, change: _Change, chance: random.Random) -> None:
    """Do a change whole, in part or not at all."""
    part = chance.choice((0.0, chance.random(), 1.0))
    if not change.data:
        os.ftruncate(file, change.offset if part == 1 else os.fstat(file).st_size)
        return
    length = len(change.data) if part == 1 else int(part * len(change.data)) // SECTOR * SECTOR
    os.pwrite(file, change.data[:length], change.offset)


class _File(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""

    def xWrite(self, data: bytes, offset: int) -> None:
        self._change("write", offset, bytes(data), lambda: super(_File, self).xWrite(data, offset))

    def xTruncate(self, newsize: int) -> None:
        self._change("truncate", newsize, b"", lambda: super(_File, self).xTruncate(newsize))

    def xSync(self, flags: int) -> None:
        self._disk.begin("sync")
        super().xSync(flags)
        self._disk.note_sync(self._path)
        self._disk.end()

    def _change(self, what: Literal["write", "truncate"], offset: int, data: bytes, change: Callable[[], None]) -> None:
        self._disk.begin(what)
        size = self.xFileSize()
        length = min(len(data), size - offset) if data else size - offset
        before = self.xRead(length, offset) if length > 0 else b""
        change()
        self._disk.note(self._path, _Change(offset, data, before, size))
        self._disk.end()
