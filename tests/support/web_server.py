"""A real `fivefold serve` in a process of its own, on a free port of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import httpx

UNSET = ("FIVEFOLD_STORE", "FIVEFOLD_KEY")
STOP_S = 60


class Served:
    """A server on the store at `path`; `url` is where it is, `client` asks it, with a key if one is given."""

    def __init__(self, path: str, *options: str, key: str | None = None, errors: Path | None = None) -> None:
        self.path = path
        command = [sys.executable, "-m", "fivefold", "serve", "--store", path, "--port", "0", "--json", *options]
        env = {name: value for name, value in os.environ.items() if name not in UNSET}
        self._errors = errors.open("w") if errors is not None else None
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._errors, text=True, env=env)
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        if not told.startswith('{"url"'):
            rest = told + self.process.stdout.read()
            self._ended()
            raise RuntimeError(f"the server did not start: {rest}")
        self.url: str = json.loads(told)["url"]
        self.client = self.asking(key)

    def asking(self, key: str | None) -> httpx.Client:
        """One more client; close it, or leave it to end with the process."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=120)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; gives its exit code."""
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(STOP_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        if self._errors is not None:
            self._errors.close()
        return code

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
