"""Records that are stored later. Their row goes in the transaction that stores them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fivefold.errors import QueueFull
from fivefold.stores.protocol import QueuedState, QueueEntry, QueueLength
from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.shared_tables import SharedTables
from fivefold.stores.sql.transaction import Transaction
from fivefold.values.reports import Report
from fivefold.values.times import from_micros, to_micros

NEVER = 2**62
"""The expiry of a write that waits."""

DAY = 86_400_000_000
"""How long the report of a write that is done can be read, in µs."""

_DONE = 201
_ANSWER = "namespace = ? AND scope = 'queue' AND key = ?"
_ENTRY = "write, place, memory_id, session_id, key_id, added_at, record, tries"


class SqlQueueStore:
    """What waits over all namespaces."""

    def __init__(self, tables: SharedTables) -> None:
        self._tables = tables

    def add(self, namespace: str, write: str, entries: Sequence[QueueEntry], most: QueueLength) -> bool:
        """Add the records of a write; false where this write was added before. `QueueFull` beyond `most`."""
        size = sum(map(_size, entries))
        with self._tables.requests_of(namespace) as (db, known_as):
            if not _begin_write(db, known_as, write):
                return False
            ((records, bytes_),) = db.rows(
                "INSERT INTO queue_lengths AS l (namespace, name, records, bytes) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (namespace) DO UPDATE SET records = l.records + excluded.records, "
                "bytes = l.bytes + excluded.bytes RETURNING records, bytes",
                (known_as, namespace, len(entries), size),
            )
            if records > most.records:
                raise QueueFull(records - len(entries), most.records)
            if bytes_ > most.bytes:
                raise QueueFull(bytes_ - size, most.bytes, "bytes")
            ((number,),) = db.rows("SELECT coalesce(max(number), 0) + 1 FROM queue WHERE namespace = ?", (known_as,))
            db.many(
                "INSERT INTO queue (namespace, write, place, number, memory_id, session_id, key_id, added_at, bytes, "
                "record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(known_as, *_row(entry, number)) for entry in entries],
            )
        return True

    def lengths(self) -> list[QueueLength]:
        rows = self._tables.rows_of_all("SELECT name, records, bytes FROM queue_lengths ORDER BY name")
        return [QueueLength(*row) for row in rows]

    def length(self, namespace: str) -> QueueLength:
        rows = self._tables.rows_of(namespace, "SELECT records, bytes FROM queue_lengths WHERE namespace = ?")
        return QueueLength(namespace, *(rows[0] if rows else (0, 0)))

    def first(self, namespace: str, most: int, now: datetime) -> list[QueueEntry]:
        sql = (
            f"SELECT {_ENTRY} FROM queue WHERE namespace = ? AND next_try_at <= ? ORDER BY number, write, place LIMIT ?"
        )
        return [_entry(row) for row in self._tables.rows_of(namespace, sql, to_micros(now), most)]

    def oldest(self, namespace: str) -> datetime | None:
        sql = "SELECT added_at FROM queue WHERE namespace = ? ORDER BY number LIMIT 1"
        rows = self._tables.rows_of(namespace, sql)
        return from_micros(rows[0][0]) if rows else None

    def holds(self, namespace: str, memory_id: str) -> bool:
        sql = "SELECT 1 FROM queue WHERE namespace = ? AND memory_id = ? LIMIT 1"
        return bool(self._tables.rows_of(namespace, sql, memory_id))

    def state(self, namespace: str, write: str) -> QueuedState | None:
        answers = self._tables.rows_of(namespace, f"SELECT status, body FROM answers WHERE {_ANSWER}", write)
        if not answers:
            return None
        status, body = answers[0]
        rows = self._tables.rows_of(
            namespace,
            "SELECT memory_id, number, problem, next_try_at FROM queue WHERE namespace = ? AND write = ? "
            "ORDER BY place",
            write,
        )
        failed = next((row for row in rows if row[2] is not None), None)
        return QueuedState(
            done=status is not None,
            waiting=tuple(row[0] for row in rows),
            ahead=self._ahead(namespace, rows[0][1]) if rows else 0,
            report=body,
            problem=None if failed is None else failed[2],
            next_try_at=None if failed is None else from_micros(failed[3]),
        )

    def postpone(self, namespace: str, entry: QueueEntry, problem: str, until: datetime) -> None:
        with self._tables.requests_of(namespace) as (db, known_as):
            db.run(
                "UPDATE queue SET tries = tries + 1, problem = ?, next_try_at = ? "
                "WHERE namespace = ? AND write = ? AND place = ?",
                (problem, to_micros(until), known_as, entry.write, entry.place),
            )

    def cancel(self, namespace: str, write: str) -> int:
        with self._tables.requests_of(namespace) as (db, known_as):
            sizes = db.rows("DELETE FROM queue WHERE namespace = ? AND write = ? RETURNING bytes", (known_as, write))
            _shorten(db, known_as, [size for (size,) in sizes])
            if sizes:
                db.run(f"DELETE FROM answers WHERE {_ANSWER}", (known_as, write))
        return len(sizes)

    def _ahead(self, namespace: str, number: int) -> int:
        sql = "SELECT count(*) FROM queue WHERE namespace = ? AND number < ?"
        return int(self._tables.rows_of(namespace, sql, number)[0][0])


class SqlQueueWriter:
    """What waits of one namespace, within a transaction on it."""

    def __init__(self, txn: Transaction, known_as: int | str) -> None:
        self._txn = txn
        self._known_as = known_as

    def take(self, entries: Sequence[QueueEntry], reports: Sequence[tuple[str, Report]]) -> bool:
        """Take stored records out, and add to the report of each write; false where one of them is gone already."""
        sizes: list[int] = []
        for write, report in reports:
            places = [entry.place for entry in entries if entry.write == write]
            sql = f"write = ? AND {self._txn.sql.among('place', '?')}"
            sizes += [size for _, _, size in self._remove(sql, write, self._txn.sql.as_list(places))]
            self._report(write, report)
        _shorten(self._txn.db, self._known_as, sizes)
        return len(sizes) == len(entries)

    def forget(self, memory_id: str) -> str | None:
        """Drop a record by its id; gives its JSON."""
        rows = self._txn.rows(
            "SELECT record FROM queue WHERE namespace = ? AND memory_id = ?", self._known_as, memory_id
        )
        self._drop("memory_id = ?", memory_id)
        return rows[0][0] if rows else None

    def forget_session(self, session_id: str) -> int:
        """Drop the records of a session; gives how many."""
        return self._drop("session_id = ?", session_id)

    def drop_all(self) -> int:
        """Drop everything that waits of the namespace."""
        return drop_queue(self._txn.db, self._known_as)

    def _drop(self, condition: str, value: str) -> int:
        rows = self._remove(condition, value)
        self._txn.removed.extend(memory_id for _, memory_id, _ in rows)
        for write in sorted({write for write, _, _ in rows}):
            self._report(write, Report())
        _shorten(self._txn.db, self._known_as, [size for _, _, size in rows])
        return len(rows)

    def _remove(self, condition: str, *values: Any) -> list[tuple[str, str, int]]:
        sql = f"DELETE FROM queue WHERE namespace = ? AND {condition} RETURNING write, memory_id, bytes"
        return self._txn.rows(sql, self._known_as, *values)

    def _report(self, write: str, report: Report) -> None:
        """Add to what is known of a write; once nothing of it waits, it is done."""
        known = self._txn.rows(f"SELECT body FROM answers WHERE {_ANSWER}", self._known_as, write)
        before = json.loads(known[0][0]) if known and known[0][0] else {}
        joined = {name: [*before.get(name, []), *added] for name, added in report.to_dict().items()}
        left = self._txn.rows("SELECT 1 FROM queue WHERE namespace = ? AND write = ? LIMIT 1", self._known_as, write)
        status, expires = (None, NEVER) if left else (_DONE, self._txn.now + DAY)
        self._txn.run(
            f"UPDATE answers SET body = ?, status = ?, expires_at = ? WHERE {_ANSWER}",
            json.dumps(joined, ensure_ascii=False),
            status,
            expires,
            self._known_as,
            write,
        )


def drop_queue(db: Database, known_as: int | str) -> int:
    """Drop everything that waits of a namespace, also of one that does not exist yet; gives how many records."""
    count = len(db.rows("DELETE FROM queue WHERE namespace = ? RETURNING 1", (known_as,)))
    db.run("DELETE FROM queue_lengths WHERE namespace = ?", (known_as,))
    db.run("DELETE FROM answers WHERE namespace = ? AND scope = 'queue'", (known_as,))
    return count


def _begin_write(db: Database, known_as: int | str, write: str) -> bool:
    sql = (
        "INSERT INTO answers (namespace, scope, key, digest, lease, leased_until, expires_at) "
        "VALUES (?, 'queue', ?, ?, '', 0, ?) ON CONFLICT (namespace, scope, key) DO NOTHING RETURNING 1"
    )
    return bool(db.rows(sql, (known_as, write, b"", NEVER)))


def _shorten(db: Database, known_as: int | str, sizes: Iterable[int]) -> None:
    taken = list(sizes)
    sql = "UPDATE queue_lengths SET records = records - ?, bytes = bytes - ? WHERE namespace = ?"
    db.run(sql, (len(taken), sum(taken), known_as))
    db.run("DELETE FROM queue_lengths WHERE namespace = ? AND records <= 0", (known_as,))


def _size(entry: QueueEntry) -> int:
    return len(entry.record.encode())


def _row(entry: QueueEntry, number: int) -> tuple[str | int | None, ...]:
    ids = (entry.memory_id, entry.session_id, entry.key_id)
    return (entry.write, entry.place, number, *ids, to_micros(entry.added_at), _size(entry), entry.record)


def _entry(row: Sequence[Any]) -> QueueEntry:
    write, place, memory_id, session_id, key_id, added_at, record, tries = row
    return QueueEntry(
        write=write,
        place=place,
        memory_id=memory_id,
        session_id=session_id,
        key_id=key_id,
        added_at=from_micros(added_at),
        record=record,
        tries=tries,
    )
