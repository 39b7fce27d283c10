"""What a store keeps for all its namespaces together: API keys, the audit log, and requests that may come twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from fivefold.stores.protocol.values import Claim, RequestKey
from fivefold.values.access import AuditEntry, Key


class KeyStore(Protocol):
    """API keys with the hash of their secret. Every read sees a key that was just revoked anywhere."""

    @property
    def read_only(self) -> bool: ...

    def has_any(self) -> bool:
        """Whether there is any key, revoked ones included."""

    def all(self) -> list[Key]:
        """All keys, oldest first."""

    def get(self, id: str) -> tuple[Key, bytes] | None:
        """A key with the hash of its secret."""

    def add(self, key: Key, digest: bytes, entry: AuditEntry) -> None:
        """Add a key and the audit entry that says so, both or neither."""

    def revoke(self, id: str, entry: AuditEntry) -> bool:
        """Revoke a key and add the audit entry, both or neither; gives whether there was one to revoke."""

    def mark_used(self, id: str, at: datetime, unless_since: datetime) -> None:
        """Note when a key was used, unless a use after `unless_since` is noted."""

    def restore(self, keys: Iterable[tuple[Key, bytes]], entries: Iterable[AuditEntry]) -> None:
        """Add keys and audit entries of another store as they are, all or none."""


class AuditStore(Protocol):
    """The audit log, numbered in the order of writing."""

    @property
    def read_only(self) -> bool: ...

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Add entries; their ids are given by the store."""

    def all(self) -> list[AuditEntry]:
        """All entries, oldest first."""

    def page(
        self, before: int | None, limit: int, namespaces: Sequence[str] | None, key_id: str | None
    ) -> list[AuditEntry]:
        """Entries before an id, latest first; of some namespaces or all, of one key or all."""

    def trim(self, since: datetime, most: int, reads: Sequence[str]) -> None:
        """Delete entries before a time, and all but the latest `most` of changes and the latest `most` of the rest.

        `reads` are the actions that change nothing. Refused ones count with them, so that reading a lot never drives
        out who changed what.
        """


class RequestStore(Protocol):
    """Requests that came with an idempotency key and their responses. Of all who claim a request, one gets it."""

    def claim(
        self, request: RequestKey, digest: bytes, lease: str, now: datetime, until: datetime, expires_at: datetime
    ) -> Claim:
        """Begin a request unless it has a response or an unexpired lease; requests past their time are deleted."""

    def finish(self, request: RequestKey, lease: str, status: int, body: str | None) -> None:
        """Store the response, if the lease still holds the request."""

    def abandon(self, request: RequestKey, lease: str) -> None:
        """Delete the request as if it had never begun, if the lease still holds it."""

    def renew(self, request: RequestKey, lease: str, until: datetime) -> None:
        """Prolong the lease."""
