"""The server under load: a new one in its own process, or one that is already running."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO
from urllib.error import URLError
from urllib.request import Request, urlopen

from fivefold.errors import FivefoldError

STOP_S = 60


class ServerFailed(FivefoldError):
    """The server did not start, or did not stop in good order."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the clients ask."""

    url: str
    key: str | None = None

    def memory_mb(self) -> float | None:
        """The memory of the server's processes by its own metrics, where they can be read."""
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            with urlopen(Request(f"{self.url}/metrics", headers=headers), timeout=30) as answer:
                metrics = answer.read().decode()
        except (URLError, OSError):
            return None
        match = re.search(r"^process_resident_memory_bytes (\S+)$", metrics, re.MULTILINE)
        return round(float(match[1]) / 1e6, 1) if match else None


@contextmanager
def serving(location: str, embedder: str | None, workers: int = 1) -> Iterator[Target]:
    """A real `fivefold serve` on a free port of this machine; stopped at the end, which must go well."""
    command = [
        sys.executable,
        "-m",
        "fivefold",
        "serve",
        "--store",
        location,
        "--port",
        "0",
        "--rate",
        "0",
        "--maintain",
        "0",
        "--log-level",
        "error",
        "--json",
        "--workers",
        str(workers),
        *(["--embedder", embedder] if embedder else []),
    ]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line.startswith('{"url"'):
                raise ServerFailed(f"the server did not start: {_why(line + process.stdout.read(), errors)}")
            yield Target(json.loads(line)["url"])
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            code = _exit_code(process)
            process.stdout.close()
        if code != 0:
            raise ServerFailed(f"the server ended with code {code}: {_why('', errors)}")


def _exit_code(process: subprocess.Popen[str]) -> int:
    """The exit code of a process; one that does not end is killed, so that no process stays behind."""
    try:
        return process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise ServerFailed(f"the server did not stop within {STOP_S} s and was killed") from None


def _why(output: str, errors: IO[str]) -> str:
    """The error message the server ended with, or the end of its output."""
    try:
        return str(json.loads(output)["error"]["message"])
    except (ValueError, LookupError):
        errors.seek(0)
        return (output + errors.read()).strip()[-500:]
