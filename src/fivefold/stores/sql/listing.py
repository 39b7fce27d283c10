"""Reading without a question: memories and sessions page by page, a talk's turns, what replaced what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from fivefold.stores.queries import MemoryFilter
from fivefold.stores.sql.rows import COLUMNS, memory_of
from fivefold.stores.sql.scoped_reader import Asking
from fivefold.values.memory import Memory, Session
from fivefold.values.reports import Link
from fivefold.values.times import from_micros, to_micros


class ListingReader(Asking):
    """A page begins behind the place of the last item before, so what is added meanwhile shifts nothing.

    Where few memories are wanted out of many, their own index finds them, and the order of time is made afterwards.
    """

    def memories(self, wanted: MemoryFilter, after: tuple[int, int] | None, limit: int) -> list[Memory]:
        """Latest first; `after` is the moment and the row of the last one seen."""
        at = "event_at" if wanted.session_id is None else self._sql.apart("event_at")
        values: dict[str, object] = {"limit": limit}
        conditions = ["namespace = :ns", *self._narrowed(wanted, at, values)]
        if after is not None:
            values |= {"at": after[0], "row": after[1]}
            conditions.append(f"({at}, row) < (:at, :row)")
        return self._memories(f"{' AND '.join(conditions)} ORDER BY {at} DESC, row DESC LIMIT :limit", **values)

    def _narrowed(self, wanted: MemoryFilter, at: str, values: dict[str, object]) -> Iterator[str]:
        """A condition for each thing wanted."""
        values |= {"kind": wanted.kind or "session"}
        yield f"{self._sql.apart('kind')} {'=' if wanted.kind else '<>'} :kind"
        for name in ("type", "speaker", "session_id"):
            if getattr(wanted, name) is not None:
                values[name] = getattr(wanted, name)
                yield f"{self._sql.apart(name) if name == 'type' else name} = :{name}"
        if wanted.tag is not None:
            values["tag"] = wanted.tag
            yield self._sql.holds("tags", ":tag")
        if wanted.superseded is not None:
            yield f"{self._sql.apart('superseded_by')} IS {'NOT ' if wanted.superseded else ''}NULL"
        for name, sign, moment in (("since", ">=", wanted.since), ("until", "<", wanted.until)):
            if moment is not None:
                values[name] = to_micros(moment)
                yield f"{at} {sign} :{name}"
        for number, word in enumerate(wanted.words):
            yield self._said(word, f"word{number}", values)

    def _said(self, word: str, name: str, values: dict[str, object]) -> str:
        """That a memory has the word; databases fold only ASCII alike, so others are asked for in each usual case."""
        if word.isascii():
            values[name] = word.lower()
            return f"{self._sql.position}({self._sql.lowered('content')}, :{name}) > 0"
        forms = dict.fromkeys((word, word.lower(), word.upper(), word.capitalize()))
        values |= {f"{name}_{i}": form for i, form in enumerate(forms)}
        return "(" + " OR ".join(f"{self._sql.position}(content, :{name}_{i}) > 0" for i in range(len(forms))) + ")"

    def turns(self, session_id: str) -> list[Memory]:
        """The turns of a session in their order."""
        return self._memories(
            "namespace = :ns AND session_id = :session AND kind = 'turn' ORDER BY turn_index, row", session=session_id
        )

    def last_turns(self, session_id: str | None, now: datetime, most: int) -> list[Memory]:
        """The last turns by that time, oldest first: of the session named, else of the one that spoke last."""
        latest = (
            "(SELECT session_id FROM memories WHERE namespace = :ns AND kind = 'turn' AND event_at <= :now "
            "ORDER BY event_at DESC, row DESC LIMIT 1)"
        )
        found = self._memories(
            f"namespace = :ns AND kind = 'turn' AND session_id = {latest if session_id is None else ':session'} "
            f"AND {self._sql.apart('event_at')} <= :now ORDER BY turn_index DESC, row DESC LIMIT :most",
            now=to_micros(now),
            most=most,
            **({} if session_id is None else {"session": session_id}),
        )
        return found[::-1]

    def sessions(self, limit: int, after: tuple[int, str] | None = None) -> list[Session]:
        """The session log, latest first; `after` is the end and the id of the last one seen."""
        behind, values = "", {}
        if after is not None:
            behind = " AND (s.ended_at < :at OR (s.ended_at = :at AND s.id > :id))"
            values = {"at": after[0], "id": after[1]}
        found = self._rows(
            "SELECT s.id, s.started_at, s.ended_at, s.turns, m.id FROM sessions s "
            f"LEFT JOIN memories m ON m.namespace = s.namespace AND m.row = s.memory WHERE s.namespace = :ns{behind} "
            "ORDER BY s.ended_at DESC, s.id LIMIT :limit",
            limit=limit,
            **values,
        )
        return [
            Session(id, from_micros(start), from_micros(end), turns, memory) for id, start, end, turns, memory in found
        ]

    def mentioning(self, entity: int, limit: int, after: tuple[int, int] | None = None) -> list[Memory]:
        """What speaks of an entity, latest first; `after` is the moment and the row of the last memory seen."""
        at, behind, values = self._sql.apart("event_at"), "", {}
        if after is not None:
            behind, values = f"AND ({at}, row) < (:at, :row) ", {"at": after[0], "row": after[1]}
        return self._memories(
            f"{self._sql.apart('namespace')} = :ns AND row IN "
            "(SELECT l.memory FROM links l WHERE l.namespace = :ns AND l.entity = :entity) "
            f"{behind}ORDER BY {at} DESC, row DESC LIMIT :limit",
            entity=entity,
            limit=limit,
            **values,
        )

    def lineage(self, row: int) -> list[Memory]:
        """A memory among all that it replaced, and that those replaced, and all that replaced it; oldest first."""
        steps = (
            "{0}(row) AS (SELECT CAST(:row AS bigint) UNION SELECT l.{1} FROM {0} CROSS JOIN memory_links l "
            f"WHERE l.{{2}} = {{0}}.row AND {self._sql.apart('l.namespace')} = :ns AND l.relation = 'supersedes')"
        )
        found = self._rows(
            f"WITH RECURSIVE {steps.format('older', 'target', 'source')}, {steps.format('newer', 'source', 'target')} "
            f"SELECT {COLUMNS} FROM memories WHERE {self._sql.apart('namespace')} = :ns AND row IN "
            "(SELECT older.row FROM older UNION SELECT newer.row FROM newer) "
            f"ORDER BY {self._sql.apart('event_at')}, row",
            row=row,
        )
        return [memory_of(self.namespace, columns) for columns in found]

    def ties(self, row: int, among: Sequence[int]) -> list[Link]:
        """The links of a memory, and those between two of the others, with why."""
        side = (
            "SELECT t.source, t.target, t.relation, t.why FROM memory_links t "
            f"WHERE {self._sql.apart('t.namespace')} = :ns AND "
        )
        found = self._rows(
            "SELECT l.source, l.target, a.id, b.id, l.relation, l.why FROM "
            f"({side}{self._sql.among('t.source', ':rows')} UNION {side}{self._sql.among('t.target', ':rows')}) l "
            "CROSS JOIN memories a CROSS JOIN memories b "
            f"WHERE a.row = l.source AND {self._sql.apart('a.namespace')} = :ns AND b.row = l.target "
            f"AND {self._sql.apart('b.namespace')} = :ns ORDER BY l.target, l.source, l.relation",
            rows=self._listed([row, *among]),
        )
        inside = set(among)
        return [
            Link(*parts)
            for source, target, *parts in found
            if row in (source, target) or (source in inside and target in inside)
        ]

    def _memories(self, condition: str, **values: object) -> list[Memory]:
        found = self._rows(f"SELECT {COLUMNS} FROM memories WHERE {condition}", **values)
        return [memory_of(self.namespace, columns) for columns in found]
