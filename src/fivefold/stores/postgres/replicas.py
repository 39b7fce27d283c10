"""Read replicas: recalls may be answered by any that has seen what this client wrote; a dead one is passed over."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from time import monotonic

from fivefold.errors import StoreError
from fivefold.stores.postgres.connection import Server
from fivefold.stores.postgres.dsn import Options, without_password

AWAY_S = 15.0
"""How long a replica that failed is passed over before it is tried again."""

_log = logging.getLogger("fivefold")


class Replica:
    """One replica, and how far it is known to have followed."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.away_until = 0.0
        self.seen = 0


class Replicas:
    """All replicas of a store, asked in turn."""

    def __init__(self, given: tuple[str, ...], options: Options) -> None:
        self._all = [Replica(Server(address, without_password(address), options)) for address in given]
        self._turn = 0
        self._written = 0
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._all)

    def written(self, primary: Server, key: int) -> None:
        """Note how far the primary's log had come when this client last wrote."""
        ((position,),) = primary.rows(key, "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint", ())
        with self._lock:
            self._written = max(self._written, position)

    def ready(self) -> Iterator[Server]:
        """Replicas that have seen all this client wrote, each once, beginning with another every time."""
        with self._lock:
            self._turn += 1
            first = self._turn % len(self._all) if self._all else 0
        order = self._all[first:] + self._all[:first]
        for replica in order:
            if replica.away_until <= monotonic() and self._has_seen(replica):
                yield replica.server

    def skip(self, server: Server, error: StoreError) -> None:
        """Pass a replica over for a while, since it failed."""
        _log.warning("a replica is passed over for %d s: %s", AWAY_S, error)
        for replica in self._all:
            if replica.server is server:
                replica.away_until = monotonic() + AWAY_S

    def close(self) -> None:
        for replica in self._all:
            replica.server.close()

    def _has_seen(self, replica: Replica) -> bool:
        """Whether the replica has followed up to this client's last write; asked only until it has."""
        written = self._written
        if replica.seen >= written:
            return True
        try:
            ((position,),) = replica.server.rows(
                0, "SELECT (coalesce(pg_last_wal_replay_lsn(), '0/0') - '0/0'::pg_lsn)::bigint", ()
            )
        except StoreError as error:
            self.skip(replica.server, error)
            return False
        replica.seen = position
        return bool(position >= written)
