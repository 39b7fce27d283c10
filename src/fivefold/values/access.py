"""Access rights: API keys with a role and namespaces, and the caller that each makes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from fivefold.errors import FivefoldError
from fivefold.values.serialize import Value

Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each may do what those before it may."""

ALL = "*"
"""Alone in a key's list of namespaces: every namespace, those to come as well."""

KeyState = Literal["active", "expired", "revoked"]


class Refused(FivefoldError):
    """The caller may not do that; it says the same whether or not what was asked for exists."""


class Unauthorized(Refused):
    """No key was given, or one that is unknown, revoked or expired."""


class NamespaceRefused(Refused):
    """The caller does not reach this namespace."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"this key does not reach namespace {namespace!r}")
        self.namespace = namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Value):
    """An API key as it is listed; the secret is shown once, when it is made, and kept only as a hash."""

    id: str
    name: str
    role: Role
    namespaces: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def state(self, now: datetime) -> KeyState:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: a key, or someone on this machine while no key exists."""

    role: Role
    namespaces: tuple[str, ...]
    key_id: str | None = None

    @property
    def sees_all(self) -> bool:
        return self.namespaces == (ALL,)

    def sees(self, namespace: str) -> bool:
        """True if the namespace of exactly that name is one of the caller's."""
        return self.sees_all or namespace in self.namespaces

    def require(self, role: Role, namespace: str | None = None) -> None:
        """Raise `Refused` unless the caller has that role, and may see the namespace."""
        if namespace is not None and not self.sees(namespace):
            raise NamespaceRefused(namespace)
        if ROLES.index(self.role) < ROLES.index(role):
            raise Refused(f"this key is {_a(self.role)}'s; that needs {_a(role)}'s")


def _a(role: Role) -> str:
    return f"an {role}" if role == "admin" else f"a {role}"


HERE = Caller("admin", (ALL,))
"""The caller for anyone who has the store's file, or asks from this machine while there are no keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry(Value):
    """An entry of the audit log: the caller, the action, the time and the outcome, with ids and names only, never a
    memory's text."""

    id: int = 0
    at: datetime
    key_id: str | None
    """None without a valid key: someone on this machine, or a caller who was refused."""
    action: str
    namespace: str | None
    subject: str | None
    outcome: str
