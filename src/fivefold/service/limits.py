"""Limits on the size of one request and on the rate of requests; each limit has its own error."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fivefold.errors import FivefoldError, InvalidInput
from fivefold.retrieval.prompt import hits_for
from fivefold.service.shared_tables import MemoryTable, Table
from fivefold.values.validate import MAX_TEXT

WINDOW_S = 60
"""Rates are per minute."""

MAX_CALLERS = 10_000
"""Callers counted at once; beyond that, the one that was idle longest starts again."""

TEXTS_OF_MESSAGES = frozenset({"content", "text", "parts", "refusal", "output", "data"})
"""The fields of a message that hold text, or parts with text."""


class LimitExceeded(InvalidInput):
    """One request asks for more than the server allows; `kind` names which limit, `limit` is what it allows."""

    def __init__(self, kind: str, limit: int, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.limit = limit


class RateExceeded(FivefoldError):
    """The caller has used up its requests for now."""

    def __init__(self, limit: int, wait_s: int) -> None:
        super().__init__(f"more than {limit} requests a minute; try again in {wait_s} s")
        self.limit = limit
        self.retry_after_s = wait_s


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the size of one request; each limit has its own error."""

    body_bytes: int = 10_000_000
    import_bytes: int = 100_000_000
    text_chars: int = 1_000_000
    """Of a text to remember; a question has at most as many as the library takes, if those are fewer."""
    k: int = 100
    batch: int = 1_000
    page: int = 1_000
    queue: int = 10_000
    """Records of one namespace that may wait to be stored."""
    per_minute: int = 1_200
    """Requests of one key, or of one address without a key; 0 for no limit."""

    def check_k(self, k: int | None) -> None:
        if k is not None and k > self.k:
            raise LimitExceeded("k-too-large", self.k, f"k is {k}, this server gives at most {self.k} memories at once")

    def k_for_block(self, k: int | None, token_budget: int) -> int:
        """Number of memories to recall for a block: as many as asked for, or as many as may fit."""
        self.check_k(k)
        return min(self.k, hits_for(token_budget)) if k is None else k

    def check_text(self, text: str | None, field: str) -> None:
        if text is not None:
            _check_length(len(text), field, self.text_chars, "send it in parts")

    def check_message(self, message: object, field: str) -> None:
        """The texts of a message, wherever in its content they are; images and the like are not counted."""
        if isinstance(message, list):
            for part in message:
                self.check_message(part, field)
        elif isinstance(message, dict):
            for name in TEXTS_OF_MESSAGES & message.keys():
                self.check_message(message[name], field)
        elif isinstance(message, str):
            self.check_text(message, field)

    def check_question(self, question: str, history: Sequence[str] = (), field: str = "question") -> None:
        most = min(self.text_chars, MAX_TEXT)
        _check_length(len(question), field, most, "make it shorter")
        both = sum(map(len, (question, *history)))
        _check_length(both, "question and history together", most, "give the last turns only")

    def check_batch(self, size: int) -> None:
        if size > self.batch:
            message = f"{size:,} records in one batch, this server takes at most {self.batch:,}; send several batches"
            raise LimitExceeded("batch-too-large", self.batch, message)

    def check_page(self, limit: int) -> None:
        if limit > self.page:
            message = f"limit is {limit}, this server gives at most {self.page} on one page; follow the cursor"
            raise LimitExceeded("page-too-large", self.page, message)


@dataclass(frozen=True, slots=True)
class Allowance:
    """The requests that a caller has left, and the seconds until all of them are back."""

    limit: int
    left: int
    full_in_s: int


class Rates:
    """A bucket of requests for each caller, which fills evenly and has room for a minute's requests."""

    def __init__(
        self, per_minute: int, clock: Callable[[], float] = time.monotonic, table: Table | None = None
    ) -> None:
        """The clock of a `table` that processes share must be the same in all of them, as the usual one is."""
        self.per_minute = per_minute
        self._clock = clock
        self._levels = table or MemoryTable(MAX_CALLERS)

    def take(self, caller: str) -> Allowance | None:
        """Counts one request; raises `RateExceeded` if none is left. None if there is no limit."""
        if self.per_minute == 0:
            return None
        per_second, level, enough = self.per_minute / WINDOW_S, 0.0, False

        def one_less(stored: str | None) -> str:
            nonlocal level, enough
            now = self._clock()
            level, before = (float(self.per_minute), now) if stored is None else map(float, stored.split())
            level = min(float(self.per_minute), level + max(0.0, now - before) * per_second)
            enough = level >= 1
            level -= enough
            return f"{level!r} {now!r}"

        self._levels.change(caller, one_less)
        if not enough:
            raise RateExceeded(self.per_minute, _up((1 - level) / per_second))
        return Allowance(self.per_minute, int(level), _up((self.per_minute - level) / per_second))


def _check_length(chars: int, what: str, most: int, advice: str) -> None:
    if chars > most:
        message = f"{what} has {chars:,} characters, this server takes at most {most:,}; {advice}"
        raise LimitExceeded("text-too-long", most, message)


def _up(seconds: float) -> int:
    return max(1, int(-(-seconds // 1)))
