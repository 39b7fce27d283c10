"""Read replicas: recalls may be answered by any that has seen what this client wrote; a dead one is passed over."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from time import monotonic

from fivefold.errors import ServerAway, StoreError
from fivefold.stores.postgres.connection import Server
from fivefold.stores.postgres.dsn import Options, without_password

AGAIN_S = 15.0
"""How often a replica that is away is looked for."""

_log = logging.getLogger("fivefold")


class Replica:
    """One replica, and how far it is known to have followed."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.away = False
        self.ask_again = 0.0
        self.seen = 0


class Replicas:
    """All replicas of a store, asked in turn."""

    def __init__(self, given: tuple[str, ...], options: Options, path: str) -> None:
        self._all = [Replica(Server(address, without_password(address), options, path)) for address in given]
        self._turn = 0
        self._written = 0
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._all)

    def written(self, position: int) -> None:
        """Note how far the primary's log had come when this client last wrote."""
        with self._lock:
            self._written = max(self._written, position)

    def ready(self) -> Iterator[Server]:
        """Replicas that have seen all this client wrote, each once, beginning with another every time."""
        with self._lock:
            self._turn += 1
            first = self._turn % len(self._all) if self._all else 0
        for replica in self._all[first:] + self._all[:first]:
            if replica.away:
                self._look_again(replica)
            elif self._has_seen(replica):
                yield replica.server

    def skip(self, server: Server, error: StoreError) -> None:
        """Pass a replica over, since it is away; from time to time it is looked for, and no recall waits for that."""
        for replica in self._all:
            if replica.server is server:
                with self._lock:
                    known, replica.away, replica.ask_again = replica.away, True, monotonic() + AGAIN_S
                if not known:
                    _log.warning("a replica is passed over until it is back: %s", error)

    def close(self) -> None:
        for replica in self._all:
            replica.server.close()

    def _look_again(self, replica: Replica) -> None:
        with self._lock:
            if not replica.away or monotonic() < replica.ask_again:
                return
            replica.ask_again = monotonic() + AGAIN_S
        threading.Thread(target=self._probe, args=(replica,), name="fivefold-replica", daemon=True).start()

    def _probe(self, replica: Replica) -> None:
        try:
            self._position(replica)
        except StoreError:
            return
        with self._lock:
            replica.away = False

    def _has_seen(self, replica: Replica) -> bool:
        """Whether the replica has followed up to this client's last write; asked only until it has."""
        written = self._written
        if replica.seen >= written:
            return True
        try:
            return self._position(replica) >= written
        except ServerAway as error:
            self.skip(replica.server, error)
            return False

    def _position(self, replica: Replica) -> int:
        sql = "SELECT (coalesce(pg_last_wal_replay_lsn(), '0/0') - '0/0'::pg_lsn)::bigint"
        ((position,),) = replica.server.rows(0, sql, ())
        replica.seen = max(replica.seen, int(position))
        return replica.seen
