"""A store's API keys: creating, listing and revoking them, and finding whom a secret belongs to."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from fivefold.errors import Call, FivefoldError, InvalidInput, NotFound
from fivefold.service.audit import Audit
from fivefold.stores.interface import Store
from fivefold.values.access import ALL, HERE, ROLES, AuditEntry, Caller, Key, Role, Unauthorized
from fivefold.values.times import as_utc, utc_now
from fivefold.values.validate import checked_name

__all__ = ["Audit", "Keyring"]

USE_INTERVAL = timedelta(minutes=1)
"""Time between two writes of a key's last use; writing each use would make each request a write."""

_SECRET = re.compile(r"ff_([0-9a-f]{12})_[0-9a-f]{48}")
_INVALID = "this API key is not valid; use one that is neither revoked nor expired"

_log = logging.getLogger("fivefold")


class Keyring:
    """The keys of a store. Each use looks the key up again, so that a revocation works at once in every process."""

    def __init__(self, store: Store, clock: Callable[[], datetime] = utc_now) -> None:
        self._store = store
        self._clock = clock
        self._any = False
        self._last_noted: dict[tuple[str, bool], datetime] = {}
        self._lock = threading.Lock()

    def create(
        self, name: str, role: Role, namespaces: Sequence[str], expires_at: datetime | None = None, *, by: Caller = HERE
    ) -> tuple[Key, str]:
        """A new key and its secret, which is not stored and cannot be shown again; logged in the audit log.

        `namespaces` are names that need not exist yet, or `[ALL]`.
        """
        now = self._clock()
        id = secrets.token_hex(6)
        key = Key(
            id=id,
            name=checked_name(name, "name"),
            role=_checked_role(role),
            namespaces=_checked_namespaces(namespaces),
            created_at=now,
            expires_at=None if expires_at is None else as_utc(expires_at, "expires_at")[0],
        )
        if key.expires_at is not None and key.expires_at <= now:
            raise InvalidInput("expires_at is in the past; use a future time")
        secret = f"ff_{id}_{secrets.token_hex(24)}"
        self._store.keys.add(key, digest_of(secret), _audit_entry("create key", id, by, now))
        return key, secret

    def keys(self) -> list[Key]:
        """All keys, oldest first, with those that are revoked or expired."""
        return self._store.keys.all()

    def revoke(self, id: str, *, by: Caller = HERE) -> Key:
        """Refuse the key from now on; logged in the audit log. A key that is revoked already stays as it is."""
        checked_name(id, "a key's id")
        self._store.keys.revoke(id, _audit_entry("revoke key", id, by, self._clock()))
        stored = self._store.keys.get(id)
        if stored is None:
            raise NotFound(f"there is no key {id!r}", advice="see them with {call}", call=Call("Keyring.keys"))
        return stored[0]

    def any(self) -> bool:
        """True if a key was ever created; a revoked one counts."""
        self._any = self._any or self._store.keys.has_any()
        return self._any

    def caller(self, secret: str) -> Caller:
        """The owner of this secret. The error does not say why a secret is invalid, since an outsider may read it."""
        match = _SECRET.fullmatch(secret)
        stored = self._store.keys.get(match[1]) if match else None
        if stored is None:
            raise Unauthorized(_INVALID)
        (key, digest), now = stored, self._clock()
        if not hmac.compare_digest(digest, digest_of(secret)) or key.state(now) != "active":
            self._note_use(key, None, now, refused=True)
            raise Unauthorized(_INVALID)
        self._note_use(key, key.last_used_at, now, refused=False)
        return Caller(key.role, key.namespaces, key.id)

    def _note_use(self, key: Key, last: datetime | None, now: datetime, *, refused: bool) -> None:
        """Write a use at most once a minute, in a thread of its own."""
        with self._lock:
            last = max(filter(None, (last, self._last_noted.get((key.id, refused)))), default=None)
            if self._store.keys.read_only or (last is not None and now - last < USE_INTERVAL):
                return
            self._last_noted[key.id, refused] = now
        arguments = (key.id, now, refused)
        threading.Thread(target=self._write_use, args=arguments, name="fivefold-key-use", daemon=True).start()

    def _write_use(self, id: str, now: datetime, refused: bool) -> None:
        """Note when a key was used, or log a request with a revoked or expired key, or with a wrong secret."""
        entry = AuditEntry(at=now, key_id=None, action="use key", namespace=None, subject=id, outcome="refused")
        try:
            if refused:
                self._store.audit.add([entry])
            else:
                self._store.keys.mark_used(id, now, now - USE_INTERVAL)
        except FivefoldError as error:
            _log.debug("a use of key %s could not be noted: %s", id, error)


def digest_of(secret: str) -> bytes:
    """A plain fast hash: a slow one protects secrets that people choose, and these are 192 random bits."""
    return hashlib.sha256(secret.encode()).digest()


def _audit_entry(action: str, id: str, by: Caller, now: datetime) -> AuditEntry:
    return AuditEntry(at=now, key_id=by.key_id, action=action, namespace=None, subject=id, outcome="ok")


def _checked_role(role: object) -> Role:
    for known in ROLES:
        if role == known:
            return known
    raise InvalidInput(f"role {role!r} is unknown; it is one of {', '.join(ROLES)}")


def _checked_namespaces(namespaces: object) -> tuple[str, ...]:
    if isinstance(namespaces, str) or not isinstance(namespaces, Sequence):
        raise InvalidInput("namespaces must be a list of names")
    names = tuple(dict.fromkeys(checked_name(name, "namespace") for name in namespaces))
    if not names:
        raise InvalidInput("a key reaches at least one namespace; name it, or give every one")
    if ALL in names and names != (ALL,):
        raise InvalidInput(f"{ALL!r} stands for every namespace and goes alone; leave the other names out")
    return names
