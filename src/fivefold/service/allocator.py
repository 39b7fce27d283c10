"""Memory that the allocator of the system keeps for each thread, limited."""

from __future__ import annotations

import ctypes
import sys

MOST_ARENAS = 2
"""Pools of memory that threads share. Without a limit glibc makes eight for each core, and hardly gives any back."""

_M_ARENA_MAX = -8


def limit_arenas() -> bool:
    """Set the limit for this process and those forked from it, before threads start; False where that has no effect."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, MOST_ARENAS))
    except (OSError, AttributeError):  # another C library
        return False
