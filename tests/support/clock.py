"""A clock that a test sets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now
