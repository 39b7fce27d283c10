"""The running conversation and the one before it, by the log of sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from fivefold.stores.protocol import Reader
from fivefold.values.memory import Session

PAUSE = timedelta(hours=2)
"""After such a silence a conversation is over, and the next question begins another one."""


@dataclass(frozen=True, slots=True)
class Conversations:
    """The session that still runs at a time, if one does, and the one before it."""

    running: Session | None
    last: Session | None


def conversations(reader: Reader, now: datetime, session_id: str | None = None) -> Conversations:
    """The sessions by that time; the running one is the caller's, or one that ended a short while before."""
    sessions = reader.sessions.before(now, 2)
    if not sessions:
        return Conversations(None, None)
    latest = sessions[0]
    runs = latest.id == session_id if session_id is not None else now - latest.ended_at < PAUSE
    before = sessions[1] if len(sessions) > 1 else None
    return Conversations(latest, before) if runs else Conversations(None, latest)


def last_talk(reader: Reader, now: datetime) -> datetime | None:
    """When the last conversation before the running one ended."""
    last = conversations(reader, now).last
    return last.ended_at if last else None
