"""One golden number: what a document says must come out, and how it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isclose
from typing import Literal

from fivefold.values.serialize import Value

from .store import GoldenStore

Bound = Literal["at least", "at most"]

Figure = float | int | str | bool
"""A number, or a text or a yes where the requirement has no number."""

NEAR = 1e-4
"""How far a number may be from the expected one, relative to it: documents print four digits."""


@dataclass(frozen=True, slots=True)
class Checked(Value):
    """A golden number and what is found in its place."""

    id: str
    what: str
    expected: Figure
    found: Figure
    ok: bool


@dataclass(frozen=True, slots=True)
class Golden:
    """A requirement's number; `find` recomputes it."""

    id: str
    what: str
    expected: Figure
    find: Callable[[GoldenStore], Figure]
    bound: Bound | None = None
    """Where a document reports what must be reached, and not what must come out."""

    def check(self, store: GoldenStore) -> Checked:
        """What is found; an error counts as found, so that one broken row hides no other."""
        try:
            found = self.find(store)
        except Exception as error:
            return Checked(self.id, self.what, self._wanted(), f"{type(error).__name__}: {error}", False)
        return Checked(self.id, self.what, self._wanted(), found, self._is_expected(found))

    def _wanted(self) -> Figure:
        return self.expected if self.bound is None else f"{self.bound} {self.expected:g}"

    def _is_expected(self, found: Figure) -> bool:
        if self.bound is not None and isinstance(self.expected, float):
            return float(found) >= self.expected if self.bound == "at least" else float(found) <= self.expected
        if isinstance(self.expected, float) and isinstance(found, int | float):
            return isclose(found, self.expected, rel_tol=NEAR, abs_tol=1e-9)
        return found == self.expected
