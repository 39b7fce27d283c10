"""Requests that may be sent twice and are done once: the first response is stored, and sent again."""

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
from fivefold.stores.interface import Store
from fivefold.stores.records import RequestKey, StoredRequest
from fivefold.values.times import utc_now
from fivefold.values.validate import checked_name

RETENTION = timedelta(hours=24)
"""Time for which a finished request's response is sent again."""

LEASE = timedelta(seconds=30)
"""Time after which the request of a dead process can be sent again; a live process renews the lease."""

_log = logging.getLogger("fivefold")


class KeyReused(InvalidInput):
    """The idempotency key was used for a different request."""


class RequestInProgress(FivefoldError):
    """A request with this idempotency key is still in progress."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"the same request is in progress; send it again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response as it was sent. `body` is None once a memory in it was forgotten."""

    status: int
    body: str | None


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request that this caller is to do."""

    namespace: str
    scope: str
    key: str
    lease: str
    is_retry: bool
    """True if it began before and did not end: some of it may be done already."""
    digest: bytes

    @property
    def request(self) -> tuple[str, str, str]:
        return self.namespace, self.scope, self.key

    @property
    def stored_as(self) -> RequestKey:
        return RequestKey(self.namespace, _short(self.scope), self.key)

    def record_id(self, number: int) -> str:
        """An id for a record without one, by which a second try finds it.

        The body counts too: after its retention, a key with another body means another write.
        """
        parts = (*self.request, self.digest.hex(), str(number))
        return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


class IdempotencyStore:
    """The responses to requests with an idempotency key; they are in the store, so they outlive the process.

    `scope` names the caller and the call (key id, method and path), `digest` is a hash of the body. Of any number of
    threads and processes that begin the same request, one gets `PendingRequest` and the others `RequestInProgress`. If
    a process dies before `finish`, the request is done again with `is_retry` set, so its memories need ids made by
    `PendingRequest.record_id`. Do not call it inside a transaction of the store.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] = utc_now, lease: timedelta = LEASE) -> None:
        self._requests = store.requests
        self._clock = clock
        self._lease = lease
        self._pending: dict[tuple[str, str, str], PendingRequest] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._renewal: threading.Thread | None = None

    def begin(self, namespace: str, scope: str, key: str, digest: bytes) -> StoredResponse | PendingRequest:
        """The stored response, or the request to do now; raises `KeyReused` or `RequestInProgress`."""
        namespace, key = checked_name(namespace, "namespace"), checked_name(key, "Idempotency-Key")
        lease = secrets.token_hex(8)
        if (namespace, scope, key) in self._pending:  # however long it waits for the store
            raise RequestInProgress(1)
        while True:
            now = self._clock()
            request = RequestKey(namespace, _short(scope), key)
            claim = self._requests.claim(request, digest, lease, now, now + self._lease, now + RETENTION)
            if claim.attempt is not None:
                pending = PendingRequest(namespace, scope, key, lease, claim.attempt > 1, digest)
                with self._lock:
                    self._pending[pending.request] = pending
                    if self._renewal is None:
                        self._renewal = threading.Thread(target=self._run, name="fivefold-idempotency", daemon=True)
                        self._renewal.start()
                return pending
            if claim.existing is not None:  # else another process abandoned it at this moment
                return _stored_response(claim.existing, digest, now)

    def finish(self, pending: PendingRequest, response: StoredResponse) -> None:
        """Store the response, for `RETENTION`. Call it before the response is sent."""
        self._end_lease(pending)
        self._requests.finish(pending.stored_as, pending.lease, response.status, response.body)

    def abandon(self, pending: PendingRequest) -> None:
        """It failed, such as by bad input: the request may be sent again, changed or not."""
        self._end_lease(pending)
        self._requests.abandon(pending.stored_as, pending.lease)

    def renew(self) -> None:
        """Extend the lease of every request that this process works on; a thread calls it from time to time."""
        with self._lock:
            pending_requests = list(self._pending.values())
        for pending in pending_requests:
            try:
                self._requests.renew(pending.stored_as, pending.lease, self._clock() + self._lease)
            except StoreError as error:
                _log.debug("the lease of a request could not be renewed: %s", error)

    def close(self) -> None:
        self._closed.set()
        if self._renewal is not None:
            self._renewal.join()

    def _end_lease(self, pending: PendingRequest) -> None:
        with self._lock:
            if self._pending.get(pending.request) == pending:
                del self._pending[pending.request]

    def _run(self) -> None:
        while not self._closed.wait(self._lease.total_seconds() / 3):
            self.renew()


def _short(scope: str) -> str:
    """A scope of any length and of any characters, as it can be stored."""
    return hashlib.sha256(scope.encode(errors="backslashreplace")).hexdigest()


def _stored_response(existing: StoredRequest, digest: bytes, now: datetime) -> StoredResponse:
    if existing.digest != digest:
        raise KeyReused("this Idempotency-Key came with another request before; give each request a key of its own")
    if existing.status is None:
        raise RequestInProgress(max(1, ceil((existing.leased_until - now).total_seconds())))
    return StoredResponse(existing.status, existing.body)
