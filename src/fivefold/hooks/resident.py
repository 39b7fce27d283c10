"""The resident process: answers prompts over a Unix socket, stores what waits in the spool, and ends when it is idle.

Its models stay loaded, so that a prompt is answered in milliseconds. A hook starts it if it is not running, and does
not wait for it: the first prompts may go without an answer.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fivefold.hooks.state import FIRST_PAUSE_S, MAX_PAUSE_S, State, reason_of

if TYPE_CHECKING:
    from fivefold.hooks.requests import Requests

BACKLOG = 64
LOCK_WAIT_S = 5.0
LOG_BYTES = 1_000_000
END = b"end\n"
"""The request to end, as after a change of the settings."""

MAX_REQUEST = 20_000_000
"""Bytes of a request; a longer one is dropped."""


class Resident:
    """Listens until nothing has come for a while. It listens first and then loads the slow parts."""

    def __init__(self, state: State, idle_s: float | None = None) -> None:
        self._state = state
        self._idle_s = 60.0 * state.settings().idle_minutes if idle_s is None else idle_s
        self._last = time.monotonic()
        self._requests: Requests | None = None
        self._loaded = threading.Event()
        self._asked = threading.Event()
        self._ended = False

    def run(self) -> None:
        """Serve until idle; only one process does so in a folder, another one leaves at once."""
        os.chdir(self._state.folder)  # the path of a socket may only be short
        with open(self._state.lock, "ab") as lock:
            if not self._locked(lock.fileno()):
                return
            with suppress(FileNotFoundError):
                os.unlink(self._state.socket.name)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
                server.bind(self._state.socket.name)
                server.listen(BACKLOG)
                try:
                    self._state.delete_leftovers()
                    self._serve(server)
                finally:
                    self._state.kept_flag.unlink(missing_ok=True)
                    os.unlink(self._state.socket.name)
        if self._requests is not None:
            self._requests.close()

    def _locked(self, file: int) -> bool:
        """True if this process got the lock. It waits a little for a process that is just ending."""
        import fcntl  # which Windows lacks

        end = time.monotonic() + LOCK_WAIT_S
        while time.monotonic() < end:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if is_running(self._state):
                    return False
                time.sleep(0.05)
            else:
                return True
        return False

    def _serve(self, server: socket.socket) -> None:
        threading.Thread(target=self._load, daemon=True).start()
        server.settimeout(min(1.0, self._idle_s))
        while not self._ended and not self._is_idle():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                if self._requests is not None and self._requests.retries():
                    threading.Thread(target=self._requests.drain, daemon=True).start()
                continue
            self._last = time.monotonic()
            threading.Thread(target=self._respond, args=(connection,), daemon=True).start()

    def _is_idle(self) -> bool:
        """True if nothing has come for a while, and nothing is being stored."""
        if not self._loaded.is_set() or (self._requests is not None and self._requests.busy):
            self._last = time.monotonic()
        return time.monotonic() - self._last > self._idle_s

    def _load(self) -> None:
        """Open the store; one that is away is tried again with growing pauses, and at each event."""
        pause = FIRST_PAUSE_S
        while self._requests is None and not self._ended:
            try:
                from fivefold.hooks.requests import Requests

                self._requests = Requests(self._state, partial(log, self._state))
            except Exception as error:
                log(self._state, f"the store could not be opened: {reason_of(error)}")
                self._loaded.set()
                self._asked.wait(pause)
                self._asked.clear()
                pause = min(2 * pause, MAX_PAUSE_S)
        self._loaded.set()
        if self._requests is not None:
            self._requests.drain()

    def _respond(self, connection: socket.socket) -> None:
        try:
            with connection:
                data = self._received(connection)
                self._ended = self._ended or data == END
                self._asked.set()
                self._loaded.wait()
                requests = self._requests
                answer = b"" if requests is None or data is None else requests.answer(data)
                if answer:
                    connection.sendall(answer)
            if requests is not None and data is not None:
                requests.follow_up(data)
        except BrokenPipeError:
            return  # the hook no longer waits
        except Exception as error:
            log(self._state, f"a request failed: {reason_of(error)}")

    def _received(self, connection: socket.socket) -> bytes | None:
        """A whole request; None if it is too long."""
        connection.settimeout(1.0)
        data = b""
        while part := connection.recv(1 << 20):
            data += part
            if len(data) > MAX_REQUEST:
                return None
        return data


def log(state: State, message: str) -> None:
    """A line in the log, which begins again when it is long."""
    with suppress(OSError):
        if state.log.exists() and state.log.stat().st_size > LOG_BYTES:
            os.replace(state.log, f"{state.log}.1")
        with state.log.open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {json.dumps(message, ensure_ascii=False)}\n")


def is_running(state: State) -> bool:
    """True if a resident process listens in this folder."""
    return send(state, b"")


def send(state: State, request: bytes) -> bool:
    """Send a request and wait for no answer; whether there is a resident process to take it."""
    here = os.open(".", os.O_RDONLY)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            os.chdir(state.folder)
            client.settimeout(0.5)
            client.connect(state.socket.name)
            client.sendall(request)
        except OSError:
            return False
        finally:
            os.fchdir(here)
            os.close(here)
    return True


def main(folder: str) -> None:
    state = State(Path(folder))
    try:
        Resident(state).run()
    except Exception as error:
        log(state, f"the resident process ended: {reason_of(error)}")


if __name__ == "__main__":
    main(sys.argv[1])
