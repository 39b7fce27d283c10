"""The service behind REST, MCP and the pages, which only translate: the engines, the callers, the audit log."""

from __future__ import annotations

import hashlib
import secrets
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from fivefold.engine import Engine, SharedStore
from fivefold.errors import Call, OwnerOnly
from fivefold.models.embedders import embedder as load_embedder
from fivefold.service.idempotency import IdempotencyStore
from fivefold.service.keys import Audit, Keyring
from fivefold.service.limits import MAX_CALLERS, Limits, Rates
from fivefold.service.maintenance import Maintenance
from fivefold.service.responses import Namespace
from fivefold.service.shared_tables import MemoryTable, SharedTables, Table
from fivefold.service.write_queue import MAX_RATES, QueueWriter, WriteQueue
from fivefold.stores import open_store
from fivefold.values.access import HERE, Caller, Role, Unauthorized
from fivefold.values.reports import Erasure, Page, Stats, page_of, read_cursor

__all__ = ["Limits", "Processes", "Service", "open_service"]


MAX_SIGN_INS = 10_000
"""Browsers signed in at once; one more signs out the oldest."""


class SignIns:
    """A browser has a token, valid as long as the server runs, in place of the key, which is stored masked by it.

    A cookie goes to every program of its host, on any port; the key would open REST too.
    """

    def __init__(self, table: Table | None = None) -> None:
        self._keys = table or MemoryTable(MAX_SIGN_INS)

    def begin(self, secret: str) -> str:
        """A new token for this key."""
        token = secrets.token_urlsafe(32)
        self._keys.change(_digest(token), lambda _: _masked(secret.encode(), token).hex())
        return token

    def secret(self, token: str) -> str | None:
        """The key behind a token; the keyring says whether it is still valid."""
        stored = self._keys.get(_digest(token))
        return None if stored is None else _masked(bytes.fromhex(stored), token).decode()

    def end(self, token: str) -> None:
        self._keys.change(_digest(token), lambda _: None)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _masked(text: bytes, token: str) -> bytes:
    """The text with a mask that only the token gives; applied twice, the text again. A token masks one text only."""
    mask = hashlib.shake_256(b"mask " + token.encode(errors="replace")).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, mask, strict=True))


MAX_WRITERS = 16
"""Writes at once, of REST, MCP and pages. Writes wait for each other anyway and leave threads for reads."""

MAX_ROUTES = 32
"""Routes that run at once, over all recalls."""


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes that serve one store together: how many, and the folder of the tables they share."""

    count: int = 1
    folder: Path | None = None
    number: int = 0
    """Number of this process among the server's."""

    @property
    def writers(self) -> int:
        """The share of each process of the writes at once."""
        return max(1, MAX_WRITERS // self.count)

    @property
    def figures(self) -> Path | None:
        """The folder in which the processes count for `/metrics`."""
        return None if self.folder is None else self.folder / "figures"


def open_service(
    location: str,
    embedder: str | None = None,
    extractor: str = "rules",
    limits: Limits | None = None,
    maintenance_s: float = 0,
    processes: Processes | None = None,
    writes_queue: bool = False,
) -> Service:
    """The service of a store, maintained every `maintenance_s` seconds; with `writes_queue` it stores what waits."""
    processes = processes or Processes()
    if embedder is not None:
        load_embedder(embedder)  # an unknown name is refused before a store is made
    store = open_store(location)
    try:
        service = Service(
            SharedStore(store, embedder, extractor, MAX_ROUTES),
            Keyring(store),
            Audit(store),
            IdempotencyStore(store),
            limits or Limits(),
            Maintenance(store, maintenance_s, only_due=True) if maintenance_s else None,
            processes,
        )
    except BaseException:
        store.close()
        raise
    if service.maintenance is not None:
        service.maintenance.start()
    if writes_queue and not store.audit.read_only:
        service.queue_writer.start()
    return service


@dataclass(slots=True)
class Service:
    engines: SharedStore
    keyring: Keyring
    audit: Audit
    idempotency: IdempotencyStore
    limits: Limits = field(default_factory=Limits)
    maintenance: Maintenance | None = None
    processes: Processes = field(default_factory=Processes)
    tables: SharedTables = field(init=False)
    """Tables shared by the processes of this server while it runs."""
    rates: Rates = field(init=False)
    writers: anyio.CapacityLimiter = field(init=False)
    """The turns of writes, whether by REST, MCP or a page."""
    note_writers: anyio.CapacityLimiter = field(init=False)
    """For audit entries of finished writes, so that they do not queue behind writes that wait."""
    sign_ins: SignIns = field(init=False)
    queue: WriteQueue = field(init=False)
    queue_writer: QueueWriter = field(init=False)
    stopping: threading.Event = field(default_factory=threading.Event, init=False)
    """Set when the server stops: answers that would last end then."""

    def __post_init__(self) -> None:
        self.writers = anyio.CapacityLimiter(self.processes.writers)
        self.note_writers = anyio.CapacityLimiter(self.processes.writers)
        self.tables = SharedTables(self.processes.folder)
        self.rates = Rates(self.limits.per_minute, table=self.tables.table("rates", MAX_CALLERS))
        self.queue = WriteQueue(self.engines, self.limits, self.tables.table("queue", MAX_RATES))
        self.queue_writer = QueueWriter(self.engines, self.queue)
        self.sign_ins = SignIns(self.tables.table("sign-ins", MAX_SIGN_INS))

    def caller(self, secret: str | None, local: bool) -> Caller:
        """The caller. `local`: the request came over loopback, which needs no key until the first one exists."""
        if secret is None:
            if local and not self.keyring.any():
                return HERE
            raise Unauthorized(
                "this needs an API key", advice="give it as {call}", call=Call(arguments={"key": "ff_…"})
            )
        return self.keyring.caller(secret)

    def engine(self, caller: Caller, role: Role, namespace: str) -> Engine:
        """The namespace's engine, if the caller may do what that role may."""
        caller.require(role, namespace)
        return self.engines.namespace(namespace)

    def namespaces(self, caller: Caller) -> tuple[str, ...]:
        """The namespaces that exist and that the caller may see.

        If only the owner of a database may list them and the server is not the owner, those that the key names.
        """
        store = self.engines.store
        if not caller.sees_all:
            return tuple(name for name in sorted(caller.namespaces) if store.reader(name).exists())
        try:
            return store.namespaces()
        except OwnerOnly:
            return ()

    def namespace_page(self, caller: Caller, limit: int, cursor: str | None) -> Page[Namespace]:
        """The namespaces that the caller may see, by name, a page at a time."""
        after = read_cursor(cursor, "namespaces", str)
        names = [name for name in sorted(self.namespaces(caller)) if after is None or name > str(after[0])]
        rows = [Namespace(name) for name in names[: limit + 1]]
        return page_of(rows, limit, "namespaces", lambda namespace: (namespace.name,))

    def delete_namespace(self, caller: Caller, namespace: str) -> int:
        """Delete a namespace with everything in it; gives how many memories it had."""
        caller.require("admin", namespace)
        return self.engines.remove_namespace(namespace)

    def erasure(self) -> Erasure:
        """Says whether the bytes of forgotten memories are gone, or until when some may remain; without a path."""
        state = self.engines.store.erasure()
        return replace(state, detail=state.detail.replace(f"{self.engines.location}-wal", "the write-ahead log"))

    def stats(self, caller: Caller, engine: Engine) -> Stats:
        """The namespace's contents; the size of the whole store only for a caller that may see all of it."""
        counts = engine.stats()
        return counts if caller.sees_all else replace(counts, bytes_on_disk=None)

    def close(self) -> None:
        if self.maintenance is not None:
            self.maintenance.stop()
        self.queue_writer.stop()
        self.idempotency.close()
        self.audit.close()
        self.engines.close()
        self.tables.close()
