"""Answers that are kept for a while, so that a request sent twice is done once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fivefold.stores.sql.dialect import Database


@dataclass(frozen=True, slots=True)
class Place:
    """Which request: its namespace as the store knows it, who sent what where, and the key it came with."""

    namespace: int | str
    scope: str
    key: str

    @property
    def values(self) -> tuple[int | str, str, str]:
        return self.namespace, self.scope, self.key


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of a request; without a status it is under way."""

    digest: bytes
    leased_until: int
    status: int | None
    body: str | None


FEW = 4
"""For so many forgotten memories every kept answer is searched; for more of them, each is read once."""

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_AT = "namespace = ? AND scope = ? AND key = ?"


def take(db: Database, place: Place, digest: bytes, lease: str, now: int, until: int, expires_at: int) -> int | None:
    """Begin the request, unless it was answered or is under way; gives which try this is. One statement decides."""
    found = db.rows(
        "INSERT INTO answers AS a (namespace, scope, key, digest, lease, leased_until, expires_at) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (namespace, scope, key) DO UPDATE SET lease = excluded.lease, "
        "leased_until = excluded.leased_until, expires_at = excluded.expires_at, tries = a.tries + 1 "
        "WHERE a.status IS NULL AND a.leased_until <= ?8 AND a.digest = excluded.digest RETURNING tries",
        (*place.values, digest, lease, until, expires_at, now),
    )
    return int(found[0][0]) if found else None


def held(db: Database, place: Place) -> Held | None:
    found = db.rows(f"SELECT digest, leased_until, status, body FROM answers WHERE {_AT}", place.values)
    return Held(bytes(found[0][0]), *found[0][1:]) if found else None


def finish(db: Database, place: Place, lease: str, status: int, body: str | None) -> None:
    """Keep the answer, if the request is still this lease's."""
    sql = f"UPDATE answers SET status = ?, body = ? WHERE {_AT} AND lease = ? AND status IS NULL"
    db.run(sql, (status, body, *place.values, lease))


def abandon(db: Database, place: Place, lease: str) -> None:
    """As if it had never been begun, if the request is still this lease's."""
    db.run(f"DELETE FROM answers WHERE {_AT} AND lease = ? AND status IS NULL", (*place.values, lease))


def renew(db: Database, place: Place, lease: str, until: int) -> None:
    sql = f"UPDATE answers SET leased_until = ? WHERE {_AT} AND lease = ? AND status IS NULL"
    db.run(sql, (until, *place.values, lease))


def let_go(db: Database, namespace: int | str, now: int) -> None:
    """Answers whose time is over."""
    db.run("DELETE FROM answers WHERE namespace = ? AND expires_at <= ?", (namespace, now))


def forget(db: Database, namespace: int | str, ids: Sequence[str]) -> None:
    """Take away the bodies that speak of memories that were forgotten; that the requests were done stays known."""
    if len(ids) > FEW:
        kept = db.rows("SELECT scope, key, body FROM answers WHERE namespace = ? AND body IS NOT NULL", (namespace,))
        gone = set(ids)
        lost = [(namespace, scope, key) for scope, key, body in kept if not gone.isdisjoint(_texts(body))]
        db.many(f"UPDATE answers SET body = NULL WHERE {_AT}", lost)
        return
    sql = f"UPDATE answers SET body = NULL WHERE namespace = ? AND {db.dialect.position}(body, ?) > 0"
    written = {form for id in ids for form in (json.dumps(id), json.dumps(id, ensure_ascii=False))}
    db.many(sql, [(namespace, form) for form in sorted(written)])


def _texts(body: str) -> Iterator[str]:
    """Every text of a JSON document, keys too."""
    return map(json.loads, _QUOTED.findall(body))
