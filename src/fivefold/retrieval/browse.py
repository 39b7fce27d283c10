"""Looking through a namespace without a question: lists page by page, a conversation, a memory's history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from fivefold.errors import InvalidInput, NotFound
from fivefold.namespace import Namespace
from fivefold.stores.queries import MemoryFilter
from fivefold.values.extraction import Extraction
from fivefold.values.memory import KINDS, TYPES, Kind, Memory, Session, Type
from fivefold.values.paging import Page, paged, read
from fivefold.values.reports import Link, Stats
from fivefold.values.serialize import Value
from fivefold.values.times import as_utc, to_micros
from fivefold.values.validate import MAX_NAME, checked_limit, checked_name, checked_text
from fivefold.writing import edit


@dataclass(frozen=True, slots=True)
class History(Value):
    """A memory among what it replaced and what replaced it.

    `chain` holds all of them, the memory itself too, oldest first; `links` say what replaced or equals what, and why.
    """

    memory: Memory
    chain: tuple[Memory, ...]
    links: tuple[Link, ...]


class Browsing:
    """What an engine shows of its namespace as it is."""

    _space: Namespace

    def get(self, id: str) -> Memory:
        """The memory with that id."""
        return self._space.get(id)

    def memories(
        self,
        *,
        kind: Kind | None = None,
        type: Type | None = None,
        speaker: str | None = None,
        session_id: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        superseded: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Memory]:
        """Memories, latest first, all or those asked for; session memories, which repeat turns, only by their kind.

        `text` is words that must all be there, letter case aside; `until` itself is left out.
        """
        limit = checked_limit(limit)
        wanted = MemoryFilter(
            kind=cast(Kind | None, _one_of(kind, KINDS, "kind")),
            type=cast(Type | None, _one_of(type, TYPES, "type")),
            speaker=_named(speaker, "speaker"),
            session_id=_named(session_id, "session_id"),
            tag=_named(tag, "tag"),
            words=_words(text),
            superseded=_whether(superseded),
            since=None if since is None else as_utc(since, "since")[0],
            until=None if until is None else as_utc(until, "until")[0],
        )
        after = cast(tuple[int, int] | None, read(cursor, "memories", int, int))
        found = self._space.reader.memories(wanted, after, limit + 1)
        return paged(found, limit, "memories", lambda memory: (to_micros(memory.event_at), memory.row))

    def sessions(self, limit: int = 50, cursor: str | None = None) -> Page[Session]:
        """The session log, latest first."""
        limit = checked_limit(limit)
        after = cast(tuple[int, str] | None, read(cursor, "sessions", int, str))
        found = self._space.reader.sessions(limit + 1, after)
        return paged(found, limit, "sessions", lambda session: (to_micros(session.ended_at), session.id))

    def turns(self, session_id: str) -> list[Memory]:
        """A conversation, turn by turn."""
        try:
            found = self._space.reader.turns(checked_name(session_id, "session_id"))
        except InvalidInput:
            found = []
        if not found:
            raise NotFound(f"namespace {self._space.namespace!r} has no session {session_id!r}")
        return found

    def history(self, id: str) -> History:
        """What a memory replaced, what replaced it, and why."""
        memory, reader = self._space.get(id), self._space.reader
        chain = reader.lineage(memory.row)
        links = reader.ties(memory.row, [other.row for other in chain])
        return History(memory, tuple(chain), tuple(links))

    def extraction(self, id: str) -> Extraction:
        """What was read out of a memory when it was stored: whom it mentions, what it states, which dates it names."""
        return edit.extraction_of(self._space, self._space.get(id))

    def stats(self) -> Stats:
        """What the namespace holds."""
        return self._space.reader.stats()


def _one_of(value: object, known: tuple[str, ...], field: str) -> object:
    if value is not None and value not in known:
        raise InvalidInput(f"{field} {value!r} is unknown; it is one of {', '.join(known)}")
    return value


def _named(value: object, field: str) -> str | None:
    return None if value is None else checked_name(value, field)


def _whether(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(f"superseded is True, False or None, not {value!r}")
    return value


def _words(text: str | None) -> tuple[str, ...]:
    words = () if text is None else tuple(dict.fromkeys(checked_text(text, "text", empty=True).split()))
    if sum(map(len, words)) > MAX_NAME:
        raise InvalidInput(f"text is too long to look for, the most is {MAX_NAME} characters; use recall for more")
    return words
