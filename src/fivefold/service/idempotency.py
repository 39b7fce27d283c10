"""Requests that may be sent twice and are done once: the first answer is kept, and given again."""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from fivefold.errors import FivefoldError, InvalidInput, StoreError
from fivefold.stores.protocol import RequestKey, Store, StoredRequest
from fivefold.values.times import utc_now
from fivefold.values.validate import checked_name

KEPT = timedelta(hours=24)
"""How long an answer is given again."""

LEASE = timedelta(seconds=30)
"""How long after a process died its request can be sent again; while it lives it renews the lease."""

_log = logging.getLogger("fivefold")


class Reused(InvalidInput):
    """The same idempotency key came with another request."""


class Busy(FivefoldError):
    """The same request is being done just now."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"the same request is being done just now; send it again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered. `body` is None once a memory it spoke of was forgotten."""

    status: int
    body: str | None


@dataclass(frozen=True, slots=True)
class Begun:
    """A request that is this caller's to do."""

    namespace: str
    scope: str
    key: str
    lease: str
    again: bool
    """Whether it was begun before and not ended: some of what it does may have been done already."""
    digest: bytes

    @property
    def request(self) -> tuple[str, str, str]:
        return self.namespace, self.scope, self.key

    @property
    def stored_as(self) -> RequestKey:
        return RequestKey(self.namespace, _short(self.scope), self.key)


class Answers:
    """What was answered to requests that came with an idempotency key; kept in the store, so it outlives the process.

        begun = answers.begin(namespace, scope, key, digest)
        if isinstance(begun, Answer):
            return begun                       # the answer of the first time
        try:
            answer = ...                       # do it
        except Exception:
            answers.abandon(begun)             # nothing was done: the request may be sent again
            raise
        answers.finish(begun, answer)

    `scope` says who sends what where (key id, method and path), `digest` is a hash of the body. Of any number of
    threads and processes that begin the same request, one gets `Begun` and the others `Busy`. A process that dies
    between doing a request and `finish` leaves it to be done again, with `again` set: so what it stores should have ids
    made from scope, key and digest, by which the second time finds it. Not to be called inside a transaction of the
    store.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] = utc_now, lease: timedelta = LEASE) -> None:
        self._requests = store.requests
        self._clock = clock
        self._lease = lease
        self._under_way: dict[tuple[str, str, str], Begun] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._renewing: threading.Thread | None = None

    def begin(self, namespace: str, scope: str, key: str, digest: bytes) -> Answer | Begun:
        """The kept answer, or the request to be done now; `Reused` or `Busy` when it can be neither."""
        namespace, key = checked_name(namespace, "namespace"), checked_name(key, "Idempotency-Key")
        lease = secrets.token_hex(8)
        if (namespace, scope, key) in self._under_way:  # however long it waits for the store
            raise Busy(1)
        while True:
            now = self._clock()
            request = RequestKey(namespace, _short(scope), key)
            claim = self._requests.claim(request, digest, lease, now, now + self._lease, now + KEPT)
            if claim.attempt is not None:
                begun = Begun(namespace, scope, key, lease, claim.attempt > 1, digest)
                self._keep_alive(begun)
                return begun
            if claim.existing is not None:  # else another process abandoned it at this moment
                return _answer(claim.existing, digest, now)

    def finish(self, begun: Begun, answer: Answer) -> None:
        """Keep the answer, for `KEPT`. Call it before the answer is sent."""
        self._let_die(begun)
        self._requests.finish(begun.stored_as, begun.lease, answer.status, answer.body)

    def abandon(self, begun: Begun) -> None:
        """It came to nothing, such as bad input: the request may be sent again, changed or not."""
        self._let_die(begun)
        self._requests.abandon(begun.stored_as, begun.lease)

    def renew(self) -> None:
        """All that this process has under way is so for another lease; a thread sees to it every now and then."""
        with self._lock:
            under_way = list(self._under_way.values())
        for begun in under_way:
            try:
                self._requests.renew(begun.stored_as, begun.lease, self._clock() + self._lease)
            except StoreError as error:
                _log.debug("the lease of a request could not be renewed: %s", error)

    def close(self) -> None:
        self._closed.set()
        if self._renewing is not None:
            self._renewing.join()

    def _keep_alive(self, begun: Begun) -> None:
        with self._lock:
            self._under_way[begun.request] = begun
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._run, name="fivefold-answers", daemon=True)
                self._renewing.start()

    def _let_die(self, begun: Begun) -> None:
        with self._lock:
            if self._under_way.get(begun.request) == begun:
                del self._under_way[begun.request]

    def _run(self) -> None:
        while not self._closed.wait(self._lease.total_seconds() / 3):
            self.renew()


def _short(scope: str) -> str:
    """A scope of any length and of any characters, as it can be stored."""
    return hashlib.sha256(scope.encode(errors="backslashreplace")).hexdigest()


def _answer(existing: StoredRequest, digest: bytes, now: datetime) -> Answer:
    if existing.digest != digest:
        raise Reused("this Idempotency-Key came with another request before; give each request a key of its own")
    if existing.status is None:
        raise Busy(max(1, ceil((existing.leased_until - now).total_seconds())))
    return Answer(existing.status, existing.body)
