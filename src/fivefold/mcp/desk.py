"""Where calls come in: whose they are, which namespace they mean, and the note of what they did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fivefold.mcp.source_numbers import Numbers
from fivefold.values.access import ALL, Caller, Refused, Role

if TYPE_CHECKING:
    from fivefold.engine import Engine
    from fivefold.service.service import Service

R = TypeVar("R")


class Desk(Protocol):
    """What the two ways in have of their own: the service they open, and who they take a request to come from."""

    @property
    def numbers(self) -> Numbers: ...

    def begin(self) -> None:
        """The client has been greeted: what takes long to load may load now."""

    def service(self) -> Service: ...

    def caller(self, request: Any) -> Caller: ...

    def usual(self, caller: Caller) -> str:
        """The namespace that is meant where none is named."""

    def words(self, error: Exception) -> str:
        """What went wrong in plain words; of what was not foreseen only where the log tells more."""


@dataclass(frozen=True, slots=True)
class Call:
    """One thing a caller wants done in a namespace, which needs a role and is noted under an action."""

    action: str
    role: Role
    namespace: str | None = None
    subject: str | None = None


def done(
    desk: Desk,
    request: Any,
    call: Call,
    work: Callable[[Engine, Service, Caller], R],
    subject: Callable[[R], str | None] = lambda _: None,
) -> R:
    """Do it, if the caller may, and note it; it takes as long as the engine takes, so it belongs in a thread.

    `subject` tells from the result what was changed, where the call could not know it.
    """
    service = desk.service()
    caller = desk.caller(request)
    namespace = call.namespace if call.namespace is not None else desk.usual(caller)
    try:
        if caller.key_id is None and not caller.sees(namespace):
            raise Refused("only the namespace this was started for can be used; --all-namespaces would allow others")
        result = work(service.engine(caller, call.role, namespace), service, caller)
    except Exception as error:
        outcome = "refused" if isinstance(error, Refused) else "failed"
        service.audit.note(caller, call.action, namespace, call.subject, outcome)
        raise
    service.audit.note(caller, call.action, namespace, call.subject or subject(result))
    return result


def only_one(caller: Caller, otherwise: str = "default") -> str:
    """The namespace of a key that has but one."""
    return caller.namespaces[0] if len(caller.namespaces) == 1 and caller.namespaces[0] != ALL else otherwise
