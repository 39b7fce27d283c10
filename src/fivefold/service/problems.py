"""Every error in plain words and under a stable name, in the form of problem details (RFC 9457)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from fivefold.errors import (
    DiskFull,
    EmbedderError,
    EmbedderMismatch,
    FivefoldError,
    InvalidInput,
    MissingExtra,
    NotFound,
    PluginError,
    QueueFull,
    ReaderError,
    ReadOnly,
    RerankerError,
    ServerAway,
    StoreClosed,
    StoreError,
    UnknownRecipe,
)
from fivefold.models.remote import RemoteError
from fivefold.service.idempotency import KeyReused, RequestInProgress
from fivefold.service.limits import LimitExceeded, RateExceeded
from fivefold.values.access import Refused, Unauthorized
from fivefold.values.serialize import Value
from fivefold.values.times import new_id

URN = "urn:fivefold:problem:"

KINDS: dict[str, tuple[int, str]] = {
    "malformed-body": (400, "The body is not what it says it is"),
    "unauthorized": (401, "A key is needed"),
    "refused": (403, "That is not allowed"),
    "read-only": (403, "The store cannot be written"),
    "other-site": (403, "The request comes from another site"),
    "not-found": (404, "There is no such thing"),
    "no-such-path": (404, "There is nothing at this path"),
    "wrong-method": (405, "This path does not take that method"),
    "embedder-mismatch": (409, "The namespace has another embedding model"),
    "under-way": (409, "The same request is under way"),
    "answer-forgotten": (410, "The answer is gone"),
    "body-too-slow": (408, "The body did not come"),
    "body-too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The body is of another type"),
    "unknown-host": (421, "This server does not answer under that name"),
    "invalid-input": (422, "A value cannot be used"),
    "unknown-recipe": (422, "There is no such recipe"),
    "text-too-long": (422, "A text is too long"),
    "k-too-large": (422, "Too many memories were asked for"),
    "batch-too-large": (422, "The batch is too large"),
    "page-too-large": (422, "The page is too large"),
    "key-used-otherwise": (422, "The idempotency key was used for another request"),
    "too-many-requests": (429, "Too many requests"),
    "queue-full": (429, "Too much waits to be stored"),
    "internal": (500, "Something went wrong inside"),
    "plugin-failed": (500, "A plugin cannot be used"),
    "missing-extra": (501, "An optional part is not installed"),
    "model-failed": (503, "A model did not answer"),
    "store-away": (503, "The store does not answer"),
    "stopping": (503, "The server is stopping"),
    "disk-full": (507, "There is no room left"),
    "stored-without-note": (507, "Stored, but not noted"),
}
"""Every kind of problem: its status, and what it is called in a few words."""


class DoneWithoutRoom(DiskFull):
    """The write was done, and only what goes with it found no room."""

    def __init__(self, part: str) -> None:
        super().__init__(f"this was done and is stored, but there was no room for {part}; free some space")


INSIDE = {
    "internal": "something went wrong",
    "read-only": "the store can be read but not written",
    "plugin-failed": "a part that another package provides cannot be used",
    "model-failed": "a model could not be loaded or did not answer",
    "store-away": "the store does not answer; try again",
    "stopping": "the server is stopping; try again",
    "disk-full": "there is no room left; the write was undone",
}
"""Kinds whose own messages name files, servers and the like, which not every caller may see."""

_ERRORS: tuple[tuple[type[FivefoldError], str], ...] = (
    (Unauthorized, "unauthorized"),
    (Refused, "refused"),
    (UnknownRecipe, "unknown-recipe"),
    (KeyReused, "key-used-otherwise"),
    (RequestInProgress, "under-way"),
    (InvalidInput, "invalid-input"),
    (NotFound, "not-found"),
    (RateExceeded, "too-many-requests"),
    (QueueFull, "queue-full"),
    (EmbedderMismatch, "embedder-mismatch"),
    (MissingExtra, "missing-extra"),
    (PluginError, "plugin-failed"),
    (EmbedderError, "model-failed"),
    (RerankerError, "model-failed"),
    (ReaderError, "model-failed"),
    (RemoteError, "model-failed"),
    (ReadOnly, "read-only"),
    (DoneWithoutRoom, "stored-without-note"),
    (DiskFull, "disk-full"),
    (StoreClosed, "stopping"),
    (ServerAway, "store-away"),
    (StoreError, "store-away"),
)

_log = logging.getLogger("fivefold")


@dataclass(frozen=True, slots=True)
class Fault(Value):
    """One value of a request that cannot be used, and its field."""

    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class Problem(Value):
    """An error response (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""
    """The path of the request."""
    errors: tuple[Fault, ...] = ()
    """Each value that cannot be used."""
    limit: int | None = None
    """The server's limit, if one was passed."""
    error_id: str | None = None
    """The id under which the server's log says more."""

    @property
    def kind(self) -> str:
        return self.type.removeprefix(URN)


def problem(kind: str, detail: str, *, errors: tuple[Fault, ...] = (), limit: int | None = None) -> Problem:
    status, title = KINDS[kind]
    return Problem(URN + kind, title, status, detail, errors=errors, limit=limit)


def problem_of(error: Exception) -> Problem:
    """The problem that an error is; an unexpected one is logged, and only the id of its log entry is shown."""
    name = next((name for kind, name in _ERRORS if isinstance(error, kind)), "internal")
    if isinstance(error, LimitExceeded):
        name = error.kind
    if name not in INSIDE:
        errors = (Fault(error.field, error.reason),) if isinstance(error, InvalidInput) and error.field else ()
        return problem(name, str(error), errors=errors, limit=getattr(error, "limit", None))
    id = new_id()
    level = logging.ERROR if name == "internal" else logging.WARNING
    _log.log(level, "problem %s, error %s", name, id, exc_info=error, extra={"error_id": id})
    return replace(problem(name, f"{INSIDE[name]}; the server's log tells more under {id}"), error_id=id)
