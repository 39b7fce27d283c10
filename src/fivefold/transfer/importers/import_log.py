"""What reading a source came upon beside its records, so that nothing is left out without a word."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class Skipped(Value):
    """A part of a source that could not be read, and why."""

    where: str
    why: str


@dataclass(slots=True)
class ImportLog:
    """Grows while a source is read. Where `strict` is set, the first part that cannot be read ends the reading."""

    strict: bool = False
    parts: int = 0
    """Conversations, files or lists that were read or skipped."""
    skipped: list[Skipped] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """What has no text of its own to remember, by what it is."""

    def skip(self, where: str, error: InvalidInput) -> None:
        if self.strict:
            raise InvalidInput(f"{where}: {error}")
        self.skipped.append(Skipped(where, str(error)))
