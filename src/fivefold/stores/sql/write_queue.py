"""Records that are stored later. Their row goes in the transaction that stores them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fivefold.errors import QueueFull
from fivefold.stores.records import QueuedState, QueueEntry, QueueLength
from fivefold.stores.sql.admin import CommonStore
from fivefold.stores.sql.scope import Transaction
from fivefold.values.reports import Report
from fivefold.values.times import DAY_MICROS, from_micros, to_micros

NO_EXPIRY = 2**62
"""The expiry of a write that waits."""

_CREATED_STATUS = 201
_ANSWER = "namespace = :ns AND scope = 'queue' AND key = :write"
_ENTRY = "write, place, memory_id, session_id, key_id, added_at, record, tries"


class QueueStore(CommonStore):
    """Records that wait, in the order they came. An added record is durable, as any write is."""

    def add(self, namespace: str, write: str, entries: Sequence[QueueEntry], most: QueueLength) -> bool:
        """Adds the records of a write; false if this write was added before. `QueueFull` beyond `most`."""
        sizes = [len(entry.record.encode()) for entry in entries]
        with self._tables.requests_of(namespace) as txn:
            begun = txn.rows(
                "INSERT INTO answers (namespace, scope, key, digest, lease, leased_until, expires_at) "
                "VALUES (:ns, 'queue', :write, :digest, '', 0, :never) "
                "ON CONFLICT (namespace, scope, key) DO NOTHING RETURNING 1",
                write=write,
                digest=b"",
                never=NO_EXPIRY,
            )
            if not begun:
                return False
            records, bytes_ = txn.one(
                "INSERT INTO queue_lengths AS l (namespace, name, records, bytes) "
                "VALUES (:ns, :name, :records, :bytes) "
                "ON CONFLICT (namespace) DO UPDATE SET records = l.records + excluded.records, "
                "bytes = l.bytes + excluded.bytes RETURNING records, bytes",
                2,
                name=namespace,
                records=len(entries),
                bytes=sum(sizes),
            )
            if records > most.records:
                raise QueueFull(records - len(entries), most.records)
            if bytes_ > most.bytes:
                raise QueueFull(bytes_ - sum(sizes), most.bytes, "bytes")
            number = txn.value("SELECT coalesce(max(number), 0) + 1 FROM queue WHERE namespace = :ns")
            txn.many(
                "INSERT INTO queue (namespace, write, place, number, memory_id, session_id, key_id, added_at, bytes, "
                "record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(txn.key, entry.write, entry.place, number, entry.memory_id, entry.session_id, entry.key_id),
                        *(to_micros(entry.added_at), size, entry.record),
                    )
                    for entry, size in zip(entries, sizes, strict=True)
                ],
            )
        return True

    def lengths(self) -> list[QueueLength]:
        rows = self._tables.rows_of_all("SELECT name, records, bytes FROM queue_lengths ORDER BY name")
        return [QueueLength(*row) for row in rows]

    def length(self, namespace: str) -> QueueLength:
        rows = self._tables.rows_of(namespace, "SELECT records, bytes FROM queue_lengths WHERE namespace = :ns")
        return QueueLength(namespace, *(rows[0] if rows else (0, 0)))

    def first(self, namespace: str, most: int, now: datetime) -> list[QueueEntry]:
        """The first records that may be tried now."""
        due = "namespace = :ns AND next_try_at <= :now ORDER BY number, write, place LIMIT :most"
        rows = self._tables.rows_of(namespace, f"SELECT {_ENTRY} FROM queue WHERE {due}", now=to_micros(now), most=most)
        return [
            QueueEntry(
                write=write,
                place=place,
                memory_id=memory_id,
                session_id=session_id,
                key_id=key_id,
                added_at=from_micros(added_at),
                record=record,
                tries=tries,
            )
            for write, place, memory_id, session_id, key_id, added_at, record, tries in rows
        ]

    def oldest(self, namespace: str) -> datetime | None:
        """Time at which the oldest waiting record was added."""
        sql = "SELECT added_at FROM queue WHERE namespace = :ns ORDER BY number LIMIT 1"
        rows = self._tables.rows_of(namespace, sql)
        return from_micros(rows[0][0]) if rows else None

    def holds(self, namespace: str, memory_id: str) -> bool:
        sql = "SELECT 1 FROM queue WHERE namespace = :ns AND memory_id = :id LIMIT 1"
        return bool(self._tables.rows_of(namespace, sql, id=memory_id))

    def state(self, namespace: str, write: str) -> QueuedState | None:
        """The state of a write; None if it is not known, or was done long ago."""
        answers = self._tables.rows_of(namespace, f"SELECT status, body FROM answers WHERE {_ANSWER}", write=write)
        if not answers:
            return None
        status, body = answers[0]
        rows = self._tables.rows_of(
            namespace,
            "SELECT memory_id, number, problem, next_try_at FROM queue WHERE namespace = :ns AND write = :write "
            "ORDER BY place",
            write=write,
        )
        ahead = 0
        if rows:
            sql = "SELECT count(*) FROM queue WHERE namespace = :ns AND number < :number"
            ahead = int(self._tables.rows_of(namespace, sql, number=rows[0][1])[0][0])
        failed = next((row for row in rows if row[2] is not None), None)
        return QueuedState(
            done=status is not None,
            waiting=tuple(row[0] for row in rows),
            ahead=ahead,
            report=body,
            problem=None if failed is None else failed[2],
            next_try_at=None if failed is None else from_micros(failed[3]),
        )

    def postpone(self, namespace: str, entry: QueueEntry, problem: str, until: datetime) -> None:
        """A record could not be stored: try it again later."""
        with self._tables.requests_of(namespace) as txn:
            txn.run(
                "UPDATE queue SET tries = tries + 1, problem = :problem, next_try_at = :until "
                "WHERE namespace = :ns AND write = :write AND place = :place",
                problem=problem,
                until=to_micros(until),
                write=entry.write,
                place=entry.place,
            )

    def cancel(self, namespace: str, write: str) -> int:
        """Drop what waits of a write; gives how many records that were."""
        with self._tables.requests_of(namespace) as txn:
            sql = "DELETE FROM queue WHERE namespace = :ns AND write = :write RETURNING bytes"
            sizes = txn.rows(sql, write=write)
            _shorten(txn, [size for (size,) in sizes])
            if sizes:
                txn.run(f"DELETE FROM answers WHERE {_ANSWER}", write=write)
        return len(sizes)


class QueueWriter:
    """The records that wait, as a part of a transaction on their namespace."""

    def __init__(self, txn: Transaction, requests: Transaction) -> None:
        """`requests` is the same transaction, in which `:ns` stands for the namespace as the queue knows it."""
        self._txn = txn
        self._requests = requests

    def take(self, entries: Sequence[QueueEntry], reports: Sequence[tuple[str, Report]]) -> bool:
        """Takes stored records out, and adds to the report of each write; false if one of them is gone already.

        The report of a write that is done stays for a day.
        """
        sizes: list[int] = []
        among = self._requests.sql.among("place", ":places")
        for write, report in reports:
            places = self._requests.sql.as_list([entry.place for entry in entries if entry.write == write])
            taken = self._remove(f"write = :write AND {among}", write=write, places=places)
            sizes += [size for _, _, size in taken]
            self._report(write, report)
        _shorten(self._requests, sizes)
        return len(sizes) == len(entries)

    def forget(self, memory_id: str) -> str | None:
        """Drop a record by its id; gives its JSON."""
        sql = "SELECT record FROM queue WHERE namespace = :ns AND memory_id = :id"
        record: str | None = self._requests.value(sql, id=memory_id)
        self._drop("memory_id = :value", memory_id)
        return record

    def forget_session(self, session_id: str) -> int:
        """Drop the records of a session; gives how many."""
        return self._drop("session_id = :value", session_id)

    def _drop(self, condition: str, value: str) -> int:
        rows = self._remove(condition, value=value)
        self._txn.removed.extend(memory_id for _, memory_id, _ in rows)
        for write in sorted({write for write, _, _ in rows}):
            self._report(write, Report())
        _shorten(self._requests, [size for _, _, size in rows])
        return len(rows)

    def _remove(self, condition: str, **values: Any) -> list[tuple[str, str, int]]:
        sql = f"DELETE FROM queue WHERE namespace = :ns AND {condition} RETURNING write, memory_id, bytes"
        return self._requests.rows(sql, **values)

    def _report(self, write: str, report: Report) -> None:
        """Add to what is known of a write; once nothing of it waits, it is done."""
        known = self._requests.value(f"SELECT body FROM answers WHERE {_ANSWER}", write=write)
        before = json.loads(known) if known else {}
        joined = {name: [*before.get(name, []), *added] for name, added in report.to_dict().items()}
        sql = "SELECT 1 FROM queue WHERE namespace = :ns AND write = :write LIMIT 1"
        left = self._requests.rows(sql, write=write)
        self._requests.run(
            f"UPDATE answers SET body = :body, status = :status, expires_at = :expires WHERE {_ANSWER}",
            body=json.dumps(joined, ensure_ascii=False),
            status=None if left else _CREATED_STATUS,
            expires=NO_EXPIRY if left else self._txn.now + DAY_MICROS,
            write=write,
        )


def drop_queue(requests: Transaction) -> int:
    """Drop everything that waits of a namespace, also of one that does not exist yet; gives how many records."""
    count = len(requests.rows("DELETE FROM queue WHERE namespace = :ns RETURNING 1"))
    requests.run("DELETE FROM queue_lengths WHERE namespace = :ns")
    requests.run("DELETE FROM answers WHERE namespace = :ns AND scope = 'queue'")
    return count


def _shorten(requests: Transaction, sizes: Iterable[int]) -> None:
    taken = list(sizes)
    sql = "UPDATE queue_lengths SET records = records - :records, bytes = bytes - :bytes WHERE namespace = :ns"
    requests.run(sql, records=len(taken), bytes=sum(taken))
    requests.run("DELETE FROM queue_lengths WHERE namespace = :ns AND records <= 0")
