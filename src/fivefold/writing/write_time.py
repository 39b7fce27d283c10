"""The time of a write: a clock that is set back a little does not put a new memory before older ones."""

from __future__ import annotations

from datetime import datetime, timedelta

from fivefold.namespace import Namespace

SET_BACK = timedelta(days=1)
"""A clock that is further behind the last write is right, and that write was wrong."""


def write_time(namespace: Namespace) -> datetime:
    """Now, or the time of the last write where the clock was set back since.

    What is said later replaces what was said before, and who asks for all since a moment gets it.
    """
    now = namespace.clock()
    last = namespace.reader.memories.last_written(now + SET_BACK)
    return now if last is None else max(now, last)
