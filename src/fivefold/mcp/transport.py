"""What standard streams and HTTP have of their own: the service they open, and the session of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from fivefold.mcp.text import SourceNumbers
from fivefold.values.access import ALL, Caller

if TYPE_CHECKING:
    from fivefold.service.service import Service
    from fivefold.service.session import Session


class Transport(Protocol):
    """One of the two ways in."""

    @property
    def source_numbers(self) -> SourceNumbers: ...

    def preload(self) -> None:
        """Load what takes long; called once the client has had its first answer."""

    def service(self) -> Service: ...

    def session(self, request: Any, namespace: str | None) -> Session:
        """Who sends the request, in the namespace it names, else in the one the transport chooses."""

    def is_structured(self, request: Any) -> bool:
        """Whether results come with a structured value as well as text, and tools with its schema."""

    def message(self, error: Exception) -> str:
        """What went wrong in plain words; for an unexpected error only where the log says more."""


def single_namespace(caller: Caller, default: str = "default") -> str:
    """The namespace of a key that reaches only one, else `default`."""
    return caller.namespaces[0] if len(caller.namespaces) == 1 and caller.namespaces[0] != ALL else default
