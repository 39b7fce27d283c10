"""Requests as an operator of the server sees them: the operation, the status, the time.

A request is known by its route, never by its path, which may contain ids, nor by its body or its questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """A request that has ended."""

    id: str
    method: str
    operation: str
    """The operation's name, or the template of its path."""
    status: int
    """0 where the client left before there was an answer."""
    seconds: float
    key_id: str | None
    path: str = ""
    body: str = ""
    """Path and body are empty unless contents are logged."""


class RequestObserver(Protocol):
    """Learns when a request begins and when it has ended."""

    def request_began(self) -> None: ...

    def request_ended(self, request: RequestSummary) -> None: ...
