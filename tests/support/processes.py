"""Processes by their ids: whom one has started, whether one runs, ending one."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path


def children(parent: int) -> list[int]:
    """The processes a process has started."""
    if Path("/proc/self/stat").exists():
        told = [_stat(entry) for entry in Path("/proc").glob("[0-9]*/stat")]
        pairs = [(int(pid), int(rest.split()[1])) for pid, rest in filter(None, told)]
    else:
        lines = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        pairs = [(int(pid), int(other)) for pid, other in map(str.split, lines.splitlines())]
    return [pid for pid, other in pairs if other == parent]


def _stat(entry: Path) -> tuple[str, str] | None:
    """A process's id, and what its line says after the name, which may hold anything."""
    try:
        line = entry.read_text("utf-8", "replace")
    except OSError:
        return None
    return line.partition(" ")[0], line.rpartition(")")[2]


def alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended and was not yet waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = _stat(Path(f"/proc/{pid}/stat"))
    return stat is None or stat[1].split()[0] != "Z"


def kill(pid: int) -> None:
    """SIGKILL; one that is gone already is no error."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
