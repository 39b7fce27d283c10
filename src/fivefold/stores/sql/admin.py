"""Settings, learned values and figures of a namespace; and for all of them API keys, audit log and requests."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from fivefold.stores.records import VOCABULARY, Claim, RequestKey, StoredRequest
from fivefold.stores.sql.feedback import RecallLog
from fivefold.stores.sql.scope import Scope, Transaction
from fivefold.stores.sql.search import SearchReader
from fivefold.stores.tables import compact, micros_or_none, moment_or_none
from fivefold.values.access import AuditEntry, Key
from fivefold.values.reports import Drift, Period, Stats, periods_of
from fivefold.values.times import DAY_MICROS, from_micros, to_micros


class NamespaceSettings:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def settings(self) -> dict[str, Any]:
        return dict(json.loads(self._scope.value("SELECT settings FROM namespaces WHERE key = :ns") or "{}"))

    def learned_value(self, name: str) -> dict[str, Any] | None:
        """The JSON object that was saved under a name."""
        text = self._scope.value("SELECT value FROM learned WHERE namespace = :ns AND name = :name", name=name)
        return None if text is None else dict(json.loads(text))


class AdminReader(NamespaceSettings):
    """Reads the settings and the counts of the namespace."""

    def __init__(self, scope: Scope, search: SearchReader, log: RecallLog, size: Callable[[], int]) -> None:
        """`size` gives the number of bytes that the store takes."""
        super().__init__(scope)
        self._search = search
        self._log = log
        self._size = size

    def stats(self) -> Stats:
        self._log.flush()
        space, measured, drift = self._search.vector_space(), self.learned_value(VOCABULARY), None
        if measured is not None:
            at = from_micros(measured["at"])
            drift = Drift(at, measured["lexemes"], measured["jaccard"], measured["reindexed"])
        first, last = self._scope.one("SELECT min(event_at), max(event_at) FROM memories WHERE namespace = :ns", 2)
        return Stats(
            namespace=self._scope.namespace,
            memories=self._scope.count("memories WHERE namespace = :ns"),
            by_kind=self._groups("kind"),
            by_type=self._groups("type"),
            superseded=self._scope.count("memories WHERE namespace = :ns AND superseded_by IS NOT NULL"),
            sessions=self._scope.count("sessions WHERE namespace = :ns"),
            entities=self._scope.count("entities WHERE namespace = :ns AND kind <> 'topic'"),
            links=self._scope.count("links WHERE namespace = :ns"),
            edges=self._scope.count("edges WHERE namespace = :ns"),
            vectors=self._search.count_vectors(space) if space else 0,
            embedder=space.embedder if space else None,
            recalls=self._scope.count("recalls WHERE namespace = :ns"),
            feedback=self._scope.count("feedback WHERE namespace = :ns"),
            first_event_at=moment_or_none(first),
            last_event_at=moment_or_none(last),
            bytes_on_disk=self._size(),
            drift=drift,
            settings=self.settings(),
            quarantined=self._scope.count("quarantine WHERE namespace = :ns"),
            periods=self._periods(),
        )

    def _periods(self) -> tuple[Period, ...]:
        """The figures over time; memories without their session memories."""
        days = f"SELECT created_at / {DAY_MICROS}, count(*) FROM memories"
        written = self._scope.rows(f"{days} WHERE namespace = :ns AND kind <> 'session' GROUP BY 1")
        logged = self._scope.rows("SELECT at, signals FROM recalls WHERE namespace = :ns")
        recalls = ((int(at) // DAY_MICROS, json.loads(signals or "{}")) for at, signals in logged)
        figures = ((day, signals.get("found"), signals.get("ms")) for day, signals in recalls)
        return periods_of({int(day): int(count) for day, count in written}, figures)

    def _groups(self, column: str) -> dict[str, int]:
        rows = self._scope.rows(f"SELECT {column}, count(*) FROM memories WHERE namespace = :ns GROUP BY 1 ORDER BY 1")
        return {name: int(count) for name, count in rows}


class AdminWriter(NamespaceSettings):
    """Changes settings and learned values; what it reads is as it sees it."""

    def __init__(self, txn: Transaction) -> None:
        super().__init__(txn)
        self._txn = txn

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        self._txn.run("UPDATE namespaces SET settings = :settings WHERE key = :ns", settings=compact(dict(settings)))

    def save_learned_value(self, name: str, value: Mapping[str, Any] | None) -> None:
        """Save a JSON object under a name; None deletes it."""
        if value is None:
            self._txn.run("DELETE FROM learned WHERE namespace = :ns AND name = :name", name=name)
        else:
            self._txn.run(
                "INSERT INTO learned (namespace, name, value) VALUES (:ns, :name, :value) "
                "ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value",
                name=name,
                value=compact(dict(value)),
            )


class CommonTables(ABC):
    """The tables that a store keeps for all its namespaces; each read sees a key that was just revoked anywhere."""

    read_only = False

    @abstractmethod
    def rows(self, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of one reading statement, as new as can be."""

    @abstractmethod
    def rows_of(self, namespace: str, sql: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement over one namespace, for which `:ns` stands."""

    @abstractmethod
    def rows_of_all(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of one statement over a table of namespaces that a server may see as none of them."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction over keys and audit log: durable when it ends, or undone."""

    @abstractmethod
    def requests_of(self, namespace: str) -> AbstractContextManager[Transaction]:
        """A transaction over the requests of one namespace, for which `:ns` stands among them."""


class CommonStore:
    def __init__(self, tables: CommonTables) -> None:
        self._tables = tables

    @property
    def read_only(self) -> bool:
        return self._tables.read_only


_ENTRY = "at, key_id, action, namespace, subject, outcome"


class AuditStore(CommonStore):
    """The audit log, numbered in the order of writing."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        with self._tables.writing() as txn:
            _insert_entries(txn, entries)

    def all(self) -> list[AuditEntry]:
        """All entries, oldest first."""
        return [_entry_of(row) for row in self._tables.rows(f"SELECT id, {_ENTRY} FROM audit ORDER BY id")]

    def page(
        self, before: int | None, limit: int, namespaces: Sequence[str] | None, key_id: str | None
    ) -> list[AuditEntry]:
        """Entries before an id, latest first; of some namespaces or all, of one key or all."""
        conditions = ["id < :before"]
        values: dict[str, Any] = {"before": 2**62 if before is None else before, "limit": limit}
        if namespaces is not None:
            names = {f"name{place}": name for place, name in enumerate(namespaces)}
            conditions.append(f"namespace IN ({', '.join(f':{name}' for name in names) or 'NULL'})")
            values |= names
        if key_id is not None:
            conditions.append("key_id = :key")
            values["key"] = key_id
        sql = f"SELECT id, {_ENTRY} FROM audit WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT :limit"
        return [_entry_of(row) for row in self._tables.rows(sql, **values)]

    def trim(self, since: datetime, most: int, reads: Sequence[str]) -> None:
        """Delete entries before a time, and all but the latest `most` of changes and the latest `most` of the rest.

        `reads` are the actions that change nothing. Refused ones count with them, so that reading a lot never drives
        out who changed what.
        """
        with self._tables.writing() as txn:
            before = "id < (SELECT a.id FROM audit a WHERE a.at >= :since ORDER BY a.id LIMIT 1)"
            txn.run(f"DELETE FROM audit WHERE {before}", since=to_micros(since))
            looks = f"({txn.sql.among('a.action', ':reads')} OR a.outcome = 'refused')"
            for kind in (looks, f"NOT {looks}"):
                txn.run(
                    f"DELETE FROM audit WHERE id IN (SELECT a.id FROM audit a WHERE {kind} AND a.id <= "
                    f"(SELECT a.id FROM audit a WHERE {kind} ORDER BY a.id DESC LIMIT 1 OFFSET :most))",
                    reads=txn.sql.as_list(reads),
                    most=most,
                )


def _insert_entries(txn: Transaction, entries: Iterable[AuditEntry]) -> None:
    txn.many(
        f"INSERT INTO audit ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?)",
        [(to_micros(e.at), e.key_id, e.action, e.namespace, e.subject, e.outcome) for e in entries],
    )


def _entry_of(row: tuple[Any, ...]) -> AuditEntry:
    id, at, key_id, action, namespace, subject, outcome = row
    return AuditEntry(
        id=id, at=from_micros(at), key_id=key_id, action=action, namespace=namespace, subject=subject, outcome=outcome
    )


_KEY = "id, name, role, namespaces, created_at, expires_at, revoked_at, last_used_at"


class KeyStore(CommonStore):
    """API keys with the hash of their secret. Every read sees a key that was just revoked anywhere."""

    def has_any(self) -> bool:
        return bool(self._tables.rows("SELECT 1 FROM api_keys LIMIT 1"))

    def all(self) -> list[Key]:
        """All keys, oldest first."""
        return [_key_of(row) for row in self._tables.rows(f"SELECT {_KEY} FROM api_keys ORDER BY created_at, id")]

    def get(self, id: str) -> tuple[Key, bytes] | None:
        rows = self._tables.rows(f"SELECT {_KEY}, digest FROM api_keys WHERE id = :id", id=id)
        return (_key_of(rows[0][:-1]), bytes(rows[0][-1])) if rows else None

    def add(self, key: Key, digest: bytes, entry: AuditEntry) -> None:
        """Add a key and the audit entry that says so, both or neither."""
        self.restore([(key, digest)], [entry])

    def revoke(self, id: str, entry: AuditEntry) -> bool:
        """Revoke a key and add the audit entry, both or neither; gives whether there was one to revoke."""
        with self._tables.writing() as txn:
            sql = "UPDATE api_keys SET revoked_at = :at WHERE id = :id AND revoked_at IS NULL RETURNING id"
            revoked = txn.rows(sql, at=to_micros(entry.at), id=id)
            if revoked:
                _insert_entries(txn, [entry])
        return bool(revoked)

    def mark_used(self, id: str, at: datetime, unless_since: datetime) -> None:
        """Note when a key was used, unless a use after `unless_since` is noted."""
        with self._tables.writing() as txn:
            unnoted = "(last_used_at IS NULL OR last_used_at <= :since)"
            sql = f"UPDATE api_keys SET last_used_at = :at WHERE id = :id AND {unnoted}"
            txn.run(sql, at=to_micros(at), id=id, since=to_micros(unless_since))

    def restore(self, keys: Iterable[tuple[Key, bytes]], entries: Iterable[AuditEntry]) -> None:
        """Add keys and audit entries of another store as they are, all or none."""
        with self._tables.writing() as txn:
            txn.many(
                f"INSERT INTO api_keys ({_KEY}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(*_values_of(key), digest) for key, digest in keys],
            )
            _insert_entries(txn, entries)


def _values_of(key: Key) -> tuple[Any, ...]:
    moments = (key.expires_at, key.revoked_at, key.last_used_at)
    names = compact(list(key.namespaces))
    return key.id, key.name, key.role, names, to_micros(key.created_at), *map(micros_or_none, moments)


def _key_of(row: tuple[Any, ...]) -> Key:
    id, name, role, namespaces, created, expires, revoked, used = row
    return Key(
        id=id,
        name=name,
        role=role,
        namespaces=tuple(json.loads(namespaces)),
        created_at=from_micros(created),
        expires_at=moment_or_none(expires),
        revoked_at=moment_or_none(revoked),
        last_used_at=moment_or_none(used),
    )


MAX_SINGLE_SEARCHES = 4
"""For up to that many removed memories every stored body is searched for each; for more, each body is read once."""

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
"""Every text of a JSON document, keys too."""
_AT = "namespace = :ns AND scope = :scope AND key = :key"
_MINE = f"{_AT} AND lease = :lease AND status IS NULL"


class RequestStore(CommonStore):
    """Requests that came with an idempotency key and their responses. Of all who claim a request, one gets it."""

    def claim(
        self, request: RequestKey, digest: bytes, lease: str, now: datetime, until: datetime, expires_at: datetime
    ) -> Claim:
        """Begin a request unless it has a response or an unexpired lease; requests past their time are deleted."""
        at = {"scope": request.scope, "key": request.key}
        with self._tables.requests_of(request.namespace) as txn:
            txn.run("DELETE FROM answers WHERE namespace = :ns AND expires_at <= :now", now=to_micros(now))
            tries = txn.value(
                "INSERT INTO answers AS a (namespace, scope, key, digest, lease, leased_until, expires_at) "
                "VALUES (:ns, :scope, :key, :digest, :lease, :until, :expires) "
                "ON CONFLICT (namespace, scope, key) DO UPDATE SET "
                "lease = excluded.lease, leased_until = excluded.leased_until, expires_at = excluded.expires_at, "
                "tries = a.tries + 1 "
                "WHERE a.status IS NULL AND a.leased_until <= :now AND a.digest = excluded.digest RETURNING tries",
                digest=digest,
                lease=lease,
                until=to_micros(until),
                expires=to_micros(expires_at),
                now=to_micros(now),
                **at,
            )
            if tries is not None:
                return Claim(int(tries))
            rows = txn.rows(f"SELECT digest, leased_until, status, body FROM answers WHERE {_AT}", **at)
        if not rows:
            return Claim(None)
        stored, leased_until, status, body = rows[0]
        return Claim(None, StoredRequest(bytes(stored), from_micros(leased_until), status, body))

    def finish(self, request: RequestKey, lease: str, status: int, body: str | None) -> None:
        """Store the response, if the lease still holds the request."""
        self._change("UPDATE answers SET status = :status, body = :body", request, lease, status=status, body=body)

    def abandon(self, request: RequestKey, lease: str) -> None:
        """Delete the request as if it had never begun, if the lease still holds it."""
        self._change("DELETE FROM answers", request, lease)

    def renew(self, request: RequestKey, lease: str, until: datetime) -> None:
        self._change("UPDATE answers SET leased_until = :until", request, lease, until=to_micros(until))

    def _change(self, change: str, request: RequestKey, lease: str, **values: Any) -> None:
        with self._tables.requests_of(request.namespace) as txn:
            txn.run(f"{change} WHERE {_MINE}", scope=request.scope, key=request.key, lease=lease, **values)


def erase_bodies(requests: Transaction, ids: Sequence[str], containing: str = "") -> None:
    """Erase the bodies that name these memories and have the text `containing`; their requests stay known as done."""
    if len(ids) > MAX_SINGLE_SEARCHES:
        removed = set(ids)
        for scope, key, body in requests.rows(
            "SELECT scope, key, body FROM answers WHERE namespace = :ns AND body IS NOT NULL"
        ):
            if containing in body and not removed.isdisjoint(map(json.loads, _QUOTED.findall(body))):
                requests.run(f"UPDATE answers SET body = NULL WHERE {_AT}", scope=scope, key=key)
        return
    position = requests.sql.position
    naming = f"{position}(body, :form) > 0 AND {position}(body, :containing) > 0"
    for form in sorted({form for id in ids for form in (json.dumps(id), json.dumps(id, ensure_ascii=False))}):
        sql = f"UPDATE answers SET body = NULL WHERE namespace = :ns AND {naming}"
        requests.run(sql, form=form, containing=containing)


def forget_requests(requests: Transaction) -> None:
    """Delete all requests of a namespace but those under way, which may be the one that deletes it."""
    done = "(status IS NOT NULL OR leased_until <= :now)"
    requests.run(f"DELETE FROM answers WHERE namespace = :ns AND {done}", now=requests.now)
