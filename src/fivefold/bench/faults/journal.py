"""What a process says before it is killed, and what follows from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter


class EnoughDone(BaseException):
    """The process has done what was wanted of it."""


class Journal:
    """The side of the process: short lines into a pipe. The system has them, whatever happens to the process."""

    def __init__(self, pipe: int, is_enough: Callable[[int], bool] = lambda done: False) -> None:
        self._pipe = pipe
        self._is_enough = is_enough
        self._done = 0

    def ready(self) -> None:
        """The store is open and the work begins."""
        self._say("ready")

    @contextmanager
    def step(self, number: int) -> Iterator[None]:
        """One operation: it begins, and is acknowledged after the engine returned."""
        self._say(f"begin {number}")
        start = perf_counter()
        yield
        self._say(f"done {number} {perf_counter() - start:.6f}")
        self._done += 1
        if self._is_enough(self._done):
            raise EnoughDone

    def disk(self, operations: int) -> None:
        """How often the process has written, synced and truncated."""
        self._say(f"disk {operations}")

    def failed(self, error: Exception) -> None:
        """The engine refused; the process ends by itself."""
        self._say(f"failed {type(error).__name__}: {' '.join(str(error).split())[:500]}")

    def _say(self, line: str) -> None:
        os.write(self._pipe, f"{line}\n".encode())


@dataclass(slots=True)
class Account:
    """All that the processes said about one operation, over all kills."""

    done: list[int] = field(default_factory=list)
    """The numbers of those that were acknowledged, in order."""
    unsure: list[int] = field(default_factory=list)
    """The numbers of those that had begun when the process was killed."""
    failures: list[str] = field(default_factory=list)
    operations: int = 0
    """How often the last process that ended by itself has written, synced and truncated."""
    seconds: float = 0.0
    """How long the last acknowledged one took."""

    @property
    def next(self) -> int:
        """The number after all that have begun."""
        return max([*self.done[-1:], *self.unsure[-1:], -1]) + 1

    @property
    def possible(self) -> set[int]:
        """Which operation may be the last that took effect: the last acknowledged, or one that was cut off since."""
        last = self.done[-1] if self.done else -1
        return {last, *(number for number in self.unsure if number > last)}

    def read(self, lines: list[str]) -> int:
        """Add what one process said; returns how many of its operations were cut off."""
        begun: set[int] = set()
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "begin":
                begun.add(int(rest))
            elif word == "done":
                number, seconds = rest.split()
                begun.discard(int(number))
                self.unsure = [other for other in self.unsure if other != int(number)]
                self.done.append(int(number))
                self.seconds = float(seconds)
            elif word == "disk":
                self.operations = int(rest)
            elif word == "failed":
                self.failures.append(rest)
        self.unsure += sorted(begun - set(self.unsure))
        return len(begun)
