"""The writer: takes events from the spool and stores what is new in the transcripts that they name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.hooks.state import State, read_json, write_json
from fivefold.settings import Settings
from fivefold.transfer.importers.import_log import ImportLog
from fivefold.transfer.importers.transcripts import TRANSCRIPTS, TranscriptFormat, read_part, session_id
from fivefold.values.json_shapes import require_object
from fivefold.values.open_files import refuse_open_store
from fivefold.values.serialize import Json
from fivefold.writing.messages import MessageReader

MOST_OFFSETS = 1_000
"""Transcripts whose length is kept; an older one is read from its start, which adds nothing twice."""

_SESSIONS = ("session_id", "conversation_id", "thread-id", "thread_id")


@dataclass(frozen=True, slots=True)
class Event:
    """An event as a hook leaves it in the spool."""

    agent: str
    name: str
    namespace: str
    at: datetime
    payload: Json

    @property
    def session(self) -> str | None:
        """The session as it is stored here; None where the payload names none."""
        own = next((self.payload[name] for name in _SESSIONS if isinstance(self.payload.get(name), str)), None)
        return session_id(self.agent, own) if own else None


def event_of(data: bytes) -> Event:
    """The event in a spool file: four lines, then the payload as the agent gave it."""
    agent, name, namespace, at, payload = data.split(b"\n", 4)
    moment = datetime.fromtimestamp(float(at), UTC)
    return Event(agent.decode(), name.decode(), namespace.decode(), moment, payload_of(payload))


def payload_of(data: bytes) -> Json:
    try:
        return require_object(json.loads(data or b"{}"), "the payload")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the payload is not JSON: {error}") from None


class SpoolWriter:
    """Stores the events of the spool, oldest first. One that cannot be stored is put aside, and the log says why."""

    def __init__(self, state: State, engine_of: Callable[[str], Engine], log: Callable[[str], None]) -> None:
        self._state = state
        self._engine_of = engine_of
        self._log = log

    def drain(self) -> set[str]:
        """Store everything that waits; gives the namespaces that were written to."""
        written: set[str] = set()
        for path in self._state.events():
            try:
                event = event_of(path.read_bytes())
                if self.store(event):
                    written.add(event.namespace)
                path.unlink()
            except Exception as error:
                self._log(f"{path.name} was put aside: {error}")
                with suppress(OSError):
                    os.replace(path, self._state.failed / path.name)
        return written

    def store(self, event: Event) -> bool:
        """Store what an event brings; whether anything was new."""
        kind = TRANSCRIPTS[event.agent]
        transcript = event.payload.get("transcript_path")
        if isinstance(transcript, str) and transcript:
            return self._store_transcript(event, kind, Path(transcript))
        return self._remember(event, _spoken(event), event.session)

    def _store_transcript(self, event: Event, kind: TranscriptFormat, path: Path) -> bool:
        """What was appended since the last time. A transcript that is not there yet comes with a later event."""
        if not path.is_file():
            return False
        refuse_open_store(path)
        offsets = read_json(self._state.offsets)
        start = offsets.get(str(path), 0) if kind.resumes else 0
        with path.open("rb") as stream:
            whole = os.fstat(stream.fileno()).st_size
            part = read_part(stream, kind, ImportLog(), start if start <= whole else 0)
        session = event.session or session_id(kind.source, part.session or path.stem)
        new = self._remember(event, part.messages, session)
        offsets.pop(str(path), None)
        offsets[str(path)] = part.end
        write_json(self._state.offsets, dict(list(offsets.items())[-MOST_OFFSETS:]))
        return new

    def _remember(self, event: Event, messages: list[Json], session: str | None) -> bool:
        readable = [message for message in messages if self._is_readable(message)]
        if not readable or session is None:
            return False
        return bool(self._engine_of(event.namespace).remember_messages(readable, session_id=session).stored)

    def _is_readable(self, message: Json) -> bool:
        """One message of an unknown shape must not keep the others from being stored."""
        try:
            MessageReader(Settings()).conversation([message], "check")
        except InvalidInput as error:
            self._log(f"a message was left out: {error}")
            return False
        return True


def _spoken(event: Event) -> list[Json]:
    """What the payload itself says, where an agent writes no transcript."""
    at = event.at.isoformat()
    texts = {"user": event.payload.get("prompt"), "assistant": event.payload.get("text")}
    if event.payload.get("type") == "agent-turn-complete":
        asked = event.payload.get("input-messages")
        texts = {
            "user": "\n".join(map(str, asked)) if isinstance(asked, list) else None,
            "assistant": event.payload.get("last-assistant-message"),
        }
    return [{"role": role, "content": text, "timestamp": at} for role, text in texts.items() if isinstance(text, str)]
