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
    if session_id is None and sessions and now - sessions[0].ended_at < PAUSE:
        session_id = sessions[0].id
    running = next((session for session in sessions if session.id == session_id), None)
    last = next((session for session in sessions if session.id != session_id), None)
    return Conversations(running, last)


def last_talk(reader: Reader, now: datetime, session_id: str | None = None) -> datetime | None:
    """When the last conversation before the running one ended (R8)."""
    last = conversations(reader, now, session_id).last
    return last.ended_at if last else None
