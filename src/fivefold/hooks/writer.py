"""The writer: takes events from the spool and stores what is new in the transcripts that they name."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, StoreError
from fivefold.hooks.agents import AGENTS
from fivefold.hooks.state import State, offset_name, read_offsets, reason_of, sole, write_offset
from fivefold.settings import Settings
from fivefold.transfer.importers.sources import ImportLog
from fivefold.transfer.importers.transcripts import TRANSCRIPTS, TranscriptFormat, read_part, session_id
from fivefold.values.open_files import refuse_open_store
from fivefold.values.serialize import Json, Value
from fivefold.values.validate import require_object
from fivefold.writing.messages import MessageReader

CARRYING = ("UserPromptSubmit", "Stop", "beforeSubmitPrompt", "afterAgentResponse", "AfterAgent", "notify")
"""Events with content of their own if there is no transcript."""

_SESSIONS = ("session_id", "conversation_id", "thread-id", "thread_id")


@dataclass(frozen=True, slots=True)
class Event:
    """An event as a hook leaves it in the spool."""

    agent: str
    name: str
    namespace: str
    at: datetime
    data: bytes
    """The payload, as the agent gave it."""


def event_of(data: bytes) -> Event:
    """The event in a spool file: four lines, then the payload as the agent gave it. `ValueError` for another file."""
    agent, name, namespace, at, payload = data.split(b"\n", 4)
    moment = datetime.fromtimestamp(float(at), UTC)
    return Event(agent.decode(), name.decode(), namespace.decode(), moment, payload)


def payload_of(data: bytes) -> Json:
    try:
        return require_object(json.loads(data or b"{}"), "the payload")
    except (ValueError, RecursionError):
        raise InvalidInput("the payload is not a JSON object") from None


def session_of(agent: str, payload: Json) -> str | None:
    """The session as it is stored here; None if the payload names none."""
    own = next((payload[name] for name in _SESSIONS if isinstance(payload.get(name), str)), None)
    return session_id(agent, own) if own else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain(Value):
    """The result of emptying the spool."""

    stored: int = 0
    """Events that are done with."""
    new: int = 0
    """The events that brought something new."""
    waiting: int = 0
    """Events that could not be stored, and are tried again."""
    error: str | None = None
    """Why the first of those could not be stored."""


class SpoolWriter:
    """Stores the events of the spool, oldest first. One that cannot be stored now waits; one that never can is dropped.

    A dropped event says nothing that could be read; the log names it and the reason, without its text.
    """

    def __init__(self, state: State, engine_of: Callable[[str], Engine], log: Callable[[str], None]) -> None:
        self._state = state
        self._engine_of = engine_of
        self._log = log
        self._named: set[str] = set()
        self.unspooled: deque[bytes] = deque()
        """Events of an encrypted store, which wait in memory; a kill loses those that no transcript has."""

    def drain(self) -> Drain:
        """Stores everything that waits, as the only process. If the store itself fails, the rest is left for later."""
        with sole(self._state.spool):
            stored = new = waiting = 0
            first: str | None = None
            try:
                while self.unspooled:
                    new += self._store_data("an event", self.unspooled[0])
                    self.unspooled.popleft()
                    stored += 1
            except Exception as error:
                first, waiting = f"an event waits: {reason_of(error)}", len(self.unspooled)
            self._pass_over(self._state.foreign(), "is not an event of a hook")
            events = self._state.events()
            for number, path in enumerate(events):
                try:
                    new += self._store_file(path)
                    stored += 1
                except Exception as error:
                    first = first or f"{path.name} waits: {reason_of(error)}"
                    waiting += 1
                    if isinstance(error, StoreError):
                        waiting += len(events) - number - 1
                        break
        if first is not None:
            self._log(first)
        return Drain(stored=stored, new=new, waiting=waiting, error=first)

    def _store_file(self, path: Path) -> bool:
        """Store one event and delete its file; whether it brought anything new."""
        try:
            new = self._store_data(path.name, _read_plain(path))
        except (ValueError, OverflowError):
            self._pass_over([path.name], "was not written by a hook")
            return False
        path.unlink(missing_ok=True)
        return new

    def _store_data(self, name: str, data: bytes) -> bool:
        event = event_of(data)
        try:
            return self.store(event)
        except InvalidInput as error:
            self._log(f"{name} was dropped: {error}")
            return False

    def _pass_over(self, names: Iterable[str], why: str) -> None:
        """Leaves foreign files in their place, and names each once."""
        for name in names:
            if name not in self._named:
                self._named.add(name)
                self._log(f"{name!r} in the spool {why}; it is left there")

    def store(self, event: Event) -> bool:
        """Store what an event brings; whether anything was new."""
        kind = TRANSCRIPTS.get(event.agent)
        if event.agent not in AGENTS:
            raise InvalidInput(f"the agent {event.agent!r} is unknown")
        payload = payload_of(event.data)
        transcript = payload.get("transcript_path")
        if (
            kind and isinstance(transcript, str) and transcript.endswith(".jsonl")
        ):  # an older Gemini CLI writes another form
            return self._store_transcript(event, payload, kind, Path(str(transcript)))
        spoken = _spoken(event, payload)
        if event.name in CARRYING and not spoken:
            self._log(f"nothing was stored of {event.agent} {event.name}: it names no transcript and carries no text")
        return self._remember(event, spoken, session_of(event.agent, payload))

    def _store_transcript(self, event: Event, payload: Json, kind: TranscriptFormat, path: Path) -> bool:
        """Stores the lines appended since the last time. A transcript that is not there yet comes with a later
        event."""
        if not path.is_file():
            if event.name in CARRYING:
                self._log(f"nothing was stored of {event.agent} {event.name}: its transcript is not there")
            return False
        refuse_open_store(path)
        start = read_offsets(self._state.offsets).get(offset_name(path), 0) if kind.resumes else 0
        with path.open("rb") as stream:
            whole = os.fstat(stream.fileno()).st_size
            part = read_part(stream, kind, ImportLog(), start if start <= whole else 0)
        session = session_of(event.agent, payload) or session_id(kind.source, part.session or path.stem)
        new = self._remember(event, part.messages, session)
        write_offset(self._state.offsets, path, part.end)
        return new

    def _remember(self, event: Event, messages: list[Json], session: str | None) -> bool:
        readable = []
        for message in messages:  # one of an unknown shape must not keep the others from being stored
            try:
                MessageReader(Settings()).conversation([message], "check")
                readable.append(message)
            except InvalidInput as error:
                self._log(f"a message was left out: {error}")
        if readable and session is None:
            self._log(f"nothing was stored of {event.agent} {event.name}: it names no session")
        if not readable or session is None:
            return False
        return bool(self._engine_of(event.namespace).remember_messages(readable, session_id=session).stored)


def _spoken(event: Event, payload: Json) -> list[Json]:
    """The turns in the payload itself, if the agent writes no transcript."""
    at = event.at.isoformat()
    texts = {
        "user": payload.get("prompt"),
        "assistant": _first(payload, "text", "last_assistant_message", "prompt_response"),
    }
    if payload.get("type") == "agent-turn-complete":
        asked = payload.get("input-messages")
        texts = {
            "user": "\n".join(map(str, asked)) if isinstance(asked, list) else None,
            "assistant": payload.get("last-assistant-message"),
        }
    return [
        {"role": role, "content": text, "timestamp": at}
        for role, text in texts.items()
        if isinstance(text, str) and text.strip()
    ]


def _first(payload: Json, *names: str) -> object:
    return next((payload[name] for name in names if payload.get(name) is not None), None)


def _read_plain(path: Path) -> bytes:
    """A file as it is; what has become a link or a FIFO since it was seen is not followed and not waited for."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return file.read()
