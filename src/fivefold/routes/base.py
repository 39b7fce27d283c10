"""What a route is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fivefold.errors import FivefoldError
from fivefold.recall import Query, RouteHit, Vector
from fivefold.settings import Settings
from fivefold.stores.base import Filter, Reader, Space


@dataclass(frozen=True, slots=True)
class Sight:
    """What a route may look at: the question, its vector, and one namespace of the store with its settings."""

    query: Query
    reader: Reader
    settings: Settings
    space: Space | None
    vector: Vector | FivefoldError | None

    def question_vector(self) -> Vector:
        if isinstance(self.vector, Exception):
            raise self.vector
        assert self.vector is not None, "the plan encodes the question before a dense route runs"
        return self.vector


class Route(Protocol):
    """Finds memories for a question, best first, scores on its own scale."""

    encodes: bool
    """Whether the route needs the question's vector."""

    def unable(self, query: Query) -> str | None:
        """Why this route has nothing to search by, or None when it has."""

    def idle(self, query: Query) -> str | None:
        """Why this route could run but would not help the question, or None when it may (R2)."""

    def bound(self, query: Query, settings: Settings) -> str:
        """What else limits the search besides its depth, in words; empty when nothing does."""

    def search(self, sight: Sight, depth: int, keep: Filter) -> list[RouteHit]: ...

    def share(self, scores: Sequence[float]) -> list[float]:
        """The scores of one list mapped into 0..1, for fusions that weigh by score (R10)."""
