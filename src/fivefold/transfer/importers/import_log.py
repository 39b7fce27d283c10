"""What a source holds besides its records, so that nothing is left out silently."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.settings import Settings
from fivefold.values.serialize import Value


@dataclass(frozen=True, slots=True)
class Skipped(Value):
    """A part of a source that cannot be read, and why."""

    where: str
    why: str


@dataclass(slots=True)
class ImportLog:
    """Grows while a source is read. With `strict`, the first part that cannot be read is an error."""

    strict: bool = False
    parts: int = 0
    """Conversations, files or lists that were read or skipped."""
    skipped: list[Skipped] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """How many things have no text to remember, by their kind."""
    settings: Settings = field(default_factory=Settings)
    """Those of the namespace, which say what of system messages and tools is kept."""

    def skip(self, file: str, place: str, error: InvalidInput) -> None:
        """Note a part of a file; `place` is empty where the whole file cannot be read."""
        if self.strict:
            raise error if isinstance(error, InvalidFile) else InvalidFile(file, error, place=place)
        self.skipped.append(Skipped(f"{file}, {place}" if place else file, str(error)))
