"""Whose process is at the other end of a connection on this machine."""

from __future__ import annotations

import os
import socket
import struct
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_OWN, _OTHER, _STATE, _OWNER = 1, 2, 3, 7
"""Columns of these tables."""
_ESTABLISHED = "01"

Address = tuple[str, int | None]


@dataclass(frozen=True)
class Peer:
    """The other end of a connection from this machine, as address and port, and our end."""

    client: Address
    server: Address

    @property
    def is_own(self) -> bool:
        """Whether its process has the user of this one. True where the system does not say, as outside of Linux."""
        return sys.platform != "linux" or self.owner == os.geteuid()

    @cached_property
    def owner(self) -> int | None:
        """The user of the process that connected; None where its socket is not found."""
        wanted = (_in_table(*self.client), _in_table(*self.server), _ESTABLISHED)
        for table in TABLES:
            for line in _lines(table):
                row = line.split()
                if (row[_OWN], row[_OTHER], row[_STATE]) == wanted:
                    return int(row[_OWNER])
        return None


def _lines(table: Path) -> list[str]:
    try:
        return table.read_text().splitlines()[1:]
    except OSError:
        return []


def _in_table(host: str, port: int | None) -> str:
    """An address as the tables have it: words of four bytes in the order of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    packed = socket.inet_pton(family, host)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port or 0:04X}"
