"""Events of coding agents with the payloads of their documentation, run by the command that is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fivefold.hooks import entry
from fivefold.hooks.resident import END, send
from fivefold.hooks.state import HookSettings, State

DATA = Path(__file__).parents[1] / "data" / "coding_agents"
LONG_MS = "60000"
VARIABLES = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR", "FIVEFOLD_STORE", "FIVEFOLD_HOME")


@dataclass(frozen=True, slots=True)
class HookRun:
    """What an agent sees of a hook."""

    status: int
    output: str
    errors: str

    @property
    def context(self) -> str:
        """The block in the answer, whichever agent it is for; empty without an answer."""
        if not self.output:
            return ""
        answer = json.loads(self.output)
        found = answer.get("additional_context") or answer["hookSpecificOutput"]["additionalContext"]
        assert isinstance(found, str)
        return found


@dataclass(frozen=True, slots=True)
class Hooks:
    """A state folder, a project, and a transcript of each agent that may grow."""

    state: State
    project: Path

    def payload(self, agent: str, event: str, **changes: object) -> bytes:
        data = json.loads((DATA / agent / f"{event}.json").read_text("utf-8"))
        text = json.dumps({**data, **changes})
        return text.replace("PROJECT", str(self.project)).replace("TRANSCRIPT", str(self.transcript(agent))).encode()

    def transcript(self, agent: str) -> Path:
        (source,) = (DATA / agent).glob("*.jsonl")
        own = self.project.parent / f"{agent}-{source.name}"
        if not own.exists():
            shutil.copy(source, own)
        return own

    def run(
        self, agent: str, event: str, *, folder: Path | None = None, wait: str = LONG_MS, **changes: object
    ) -> HookRun:
        return self.run_raw(agent, event, self.payload(agent, event, **changes), folder=folder, wait=wait)

    def run_raw(
        self, agent: str, event: str, payload: bytes, *arguments: str, folder: Path | None = None, wait: str = LONG_MS
    ) -> HookRun:
        command = [sys.executable, "-I", "-S", entry.__file__, agent, event, str(self.state.folder), *arguments]
        inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        done = subprocess.run(
            command,
            input=payload,
            capture_output=True,
            cwd=folder or self.project,
            env={**inherited, "FIVEFOLD_HOOK_WAIT_MS": wait},
            check=False,
        )
        return HookRun(done.returncode, done.stdout.decode(), done.stderr.decode())

    def wait_until_stored(self) -> None:
        wait_for(lambda: not self.state.events())

    def end(self) -> None:
        send(self.state, END)
        wait_for(lambda: not self.state.socket.exists())


def new_hooks(folder: Path) -> Hooks:
    state, project = State(folder / "state"), folder / "shop"
    state.save_settings(HookSettings(store=str(folder / "memory.db"), min_chance=0.0))
    (project / ".git").mkdir(parents=True)
    return Hooks(state, project)


def wait_for(done: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
