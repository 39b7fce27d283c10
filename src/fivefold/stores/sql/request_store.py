"""Requests with an idempotency key and their responses, so that a request sent twice is done once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from fivefold.stores.protocol import Claim, RequestKey, StoredRequest
from fivefold.stores.sql.dialect import Database
from fivefold.stores.sql.shared_tables import SharedTables
from fivefold.values.times import from_micros, to_micros

FEW = 4
"""For up to that many removed memories every stored body is searched for each; for more, each body is read once."""

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_AT = "namespace = ? AND scope = ? AND key = ?"
_MINE = f"{_AT} AND lease = ? AND status IS NULL"


class SqlRequestStore:
    """One statement decides who gets a request."""

    def __init__(self, tables: SharedTables) -> None:
        self._tables = tables

    def claim(
        self, request: RequestKey, digest: bytes, lease: str, now: datetime, until: datetime, expires_at: datetime
    ) -> Claim:
        """Begin a request unless it has a response or an unexpired lease."""
        moment = to_micros(now)
        with self._tables.requests_of(request.namespace) as (db, known_as):
            db.run("DELETE FROM answers WHERE namespace = ? AND expires_at <= ?", (known_as, moment))
            rows = db.rows(
                "INSERT INTO answers AS a (namespace, scope, key, digest, lease, leased_until, expires_at) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (namespace, scope, key) DO UPDATE SET "
                "lease = excluded.lease, leased_until = excluded.leased_until, expires_at = excluded.expires_at, "
                "tries = a.tries + 1 "
                "WHERE a.status IS NULL AND a.leased_until <= ?8 AND a.digest = excluded.digest RETURNING tries",
                (known_as, request.scope, request.key, digest, lease, to_micros(until), to_micros(expires_at), moment),
            )
            if rows:
                return Claim(int(rows[0][0]))
            return Claim(None, _find(db, (known_as, request.scope, request.key)))

    def finish(self, request: RequestKey, lease: str, status: int, body: str | None) -> None:
        """Store the response, if the lease still holds the request."""
        with self._tables.requests_of(request.namespace) as (db, known_as):
            sql = f"UPDATE answers SET status = ?, body = ? WHERE {_MINE}"
            db.run(sql, (status, body, known_as, request.scope, request.key, lease))

    def abandon(self, request: RequestKey, lease: str) -> None:
        """Delete the request as if it had never begun, if the lease still holds it."""
        with self._tables.requests_of(request.namespace) as (db, known_as):
            db.run(f"DELETE FROM answers WHERE {_MINE}", (known_as, request.scope, request.key, lease))

    def renew(self, request: RequestKey, lease: str, until: datetime) -> None:
        with self._tables.requests_of(request.namespace) as (db, known_as):
            sql = f"UPDATE answers SET leased_until = ? WHERE {_MINE}"
            db.run(sql, (to_micros(until), known_as, request.scope, request.key, lease))


def erase_bodies(db: Database, namespace: int | str, ids: Sequence[str], containing: str = "") -> None:
    """Erase the bodies that name these memories; that the requests were done stays known.

    With `containing`, only those bodies that have this text as well.
    """
    if len(ids) > FEW:
        sql = "SELECT scope, key, body FROM answers WHERE namespace = ? AND body IS NOT NULL"
        bodies = db.rows(sql, (namespace,))
        removed = set(ids)
        naming = [
            (namespace, scope, key)
            for scope, key, body in bodies
            if containing in body and not removed.isdisjoint(_texts(body))
        ]
        db.many(f"UPDATE answers SET body = NULL WHERE {_AT}", naming)
        return
    position = db.dialect.position
    sql = f"UPDATE answers SET body = NULL WHERE namespace = ? AND {position}(body, ?) > 0 AND {position}(body, ?) > 0"
    forms = {form for id in ids for form in (json.dumps(id), json.dumps(id, ensure_ascii=False))}
    db.many(sql, [(namespace, form, containing) for form in sorted(forms)])


def forget_requests(db: Database, namespace: int | str, now: int) -> None:
    """Delete all requests of a namespace but those under way, which may be the one that deletes it."""
    db.run("DELETE FROM answers WHERE namespace = ? AND (status IS NOT NULL OR leased_until <= ?)", (namespace, now))


def _find(db: Database, at: tuple[int | str, str, str]) -> StoredRequest | None:
    rows = db.rows(f"SELECT digest, leased_until, status, body FROM answers WHERE {_AT}", at)
    if not rows:
        return None
    digest, leased_until, status, body = rows[0]
    return StoredRequest(bytes(digest), from_micros(leased_until), status, body)


def _texts(body: str) -> Iterator[str]:
    """Every text of a JSON document, keys too."""
    return map(json.loads, _QUOTED.findall(body))
