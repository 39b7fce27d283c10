"""One golden number: what a document says must come out, and how it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isclose

from fivefold.bench.golden.store import GoldenStore
from fivefold.values.serialize import Value

Figure = float | int | str | bool
"""A number; a text or a yes for what is none by nature."""

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

    def check(self, store: GoldenStore) -> Checked:
        """What is found; an error counts as found, so that one broken row hides no other."""
        try:
            found = self.find(store)
        except Exception as error:
            return Checked(self.id, self.what, self.expected, f"{type(error).__name__}: {error}", False)
        return Checked(self.id, self.what, self.expected, found, self._is_expected(found))

    def _is_expected(self, found: Figure) -> bool:
        if isinstance(self.expected, float) and isinstance(found, int | float):
            return isclose(found, self.expected, rel_tol=NEAR, abs_tol=1e-9)
        return found == self.expected
