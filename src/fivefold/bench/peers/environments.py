"""Environments for other engines: each has its own, so that no package of theirs meets one of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from fivefold.errors import FivefoldError

DONE = "installed.txt"
"""What is in an environment; written last, so that one that was cut off is made again."""

LIMIT_S = 1_800

QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RUST_LOG": "error",
    "PYTHONNOUSERSITE": "1",
}
"""Engines send nothing and fetch nothing while they are measured."""

_OFFLINE = ("NewConnectionError", "Temporary failure in name resolution", "Network is unreachable", "ProxyError")


class NotInstalled(FivefoldError):
    """An engine could not be installed."""


def install(requirements: Sequence[str], folder: Path) -> Path:
    """The Python of an environment with these packages; one of an earlier run is used again."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = "\n".join(requirements)
    done = folder / DONE
    if done.exists() and done.read_text("utf-8") == wanted and python.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    pip = find_spec("pip") is not None  # without a pip of ours the environment gets its own, which takes seconds
    _run([sys.executable, "-m", "venv", *(["--without-pip"] if pip else []), str(folder)])
    command = [sys.executable, "-m", "pip", "--python", str(python)] if pip else [str(python), "-m", "pip"]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    _run([*command, "install", *quiet, *requirements])
    done.write_text(wanted, "utf-8")
    return python


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"it took longer than {LIMIT_S // 60} minutes") from None
    except OSError as error:
        raise NotInstalled(str(error)) from None
    if done.returncode:
        raise NotInstalled(_why(done.stderr + done.stdout))


def _why(output: str) -> str:
    """The error that pip ends with, in one line."""
    if any(sign in output for sign in _OFFLINE):
        return "the package index cannot be reached"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip gave no reason"])[-1][:200]


def quiet_environment(home: Path, own: bool) -> Mapping[str, str]:
    """The variables of an engine's process: other engines see no path of ours, and a home folder of their own."""
    inherited = {name: value for name, value in os.environ.items() if own or not name.startswith("PYTHON")}
    return {**inherited, **QUIET} if own else {**inherited, **QUIET, "HOME": str(home), "MEM0_DIR": str(home / "mem0")}
