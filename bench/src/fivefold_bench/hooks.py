"""The time that the hooks of coding agents add to an agent's turn: from starting each command to its end.

The commands are those that are installed, run by a shell as agents do, with the payloads that agents send, on a store
of many memories. Between two events an agent works for a while, so that there is a pause here too, and what one event
leaves to be stored is stored before the next. The baseline is the start of Python alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fivefold.engine import Engine
from fivefold.errors import StoreError
from fivefold.hooks.agents import AGENTS, Agent
from fivefold.hooks.entry import namespace_of
from fivefold.hooks.manage import command
from fivefold.hooks.resident import END, is_running, send
from fivefold.hooks.state import HookSettings, State
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.text.display import bar
from fivefold_bench.measures import Measure, VariedSample, figure, milliseconds, new_questions, write_rate

LIMIT_MS = 50.0
"""Maximum time that a hook may add at the 95th percentile."""

START_S = 120.0
"""Maximum time for the resident process to load."""

PAUSE_S = 0.1
"""Pause between two events, for which an agent works for seconds."""

RARE = ("SessionStart", "sessionStart", "PreCompact", "preCompact", "SessionEnd", "sessionEnd")
"""Events that come once in ten turns here."""

BASELINE = "baseline: python alone"


class _PinnedSample(VariedSample):
    """Vectors without a model's cost, under the pin of the model by which the resident process reads questions."""

    def __init__(self) -> None:
        super().__init__()
        self.pin = embedder(DEFAULT).pin


@dataclass(slots=True)
class _Project:
    """A repository whose agent is measured, with its transcript."""

    folder: Path
    state: State
    times: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    answered: int = 0
    asked: int = 0

    @property
    def transcript(self) -> Path:
        return self.folder / "transcript.jsonl"

    def run(self, agent: Agent, event: str, prompt: str) -> bytes:
        """One hook, as its agent runs it."""
        payload = json.dumps(self._payload(agent, event, prompt)).encode()
        line = ["/bin/sh", "-c", command(agent, event, self.state.folder)]
        start = time.perf_counter()
        done = subprocess.run(line, input=payload, capture_output=True, cwd=self.folder, check=True)
        self.times.setdefault((agent.name, event), []).append((time.perf_counter() - start) * 1000)
        return done.stdout

    def turn(self, agent: Agent, number: int, question: str) -> None:
        """The commands that an agent runs in one turn."""
        with self.transcript.open("a", encoding="utf-8") as file:
            # Both Claude Code's and Codex's reader understand such a line.
            line = {"type": "user", "sessionId": "bench", "message": {"role": "user", "content": question}}
            at = f"2026-01-01T00:00:00.{number % 1000:03d}Z"
            file.write(json.dumps({**line, "uuid": f"u{number}", "timestamp": at}) + "\n")
        for event in agent.events:
            if event in RARE and number % 10:
                continue
            answer = self.run(agent, event, question)
            if event in ("UserPromptSubmit", "BeforeAgent", "postToolUse"):
                self.asked += 1
                self.answered += bool(answer)
            time.sleep(PAUSE_S)
            self.wait_until_stored()
        bare = ["/bin/sh", "-c", f"{sys.executable} -I -S -c pass"]
        ms = milliseconds(subprocess.run, bare, input=b"", capture_output=True, check=True)
        self.times.setdefault((BASELINE, ""), []).append(ms)

    def wait_until_stored(self) -> None:
        end = time.monotonic() + START_S
        while self.state.events():
            if time.monotonic() > end:
                raise StoreError("the resident process does not store what waits; its log is in the state folder")
            time.sleep(0.02)

    def _payload(self, agent: Agent, event: str, prompt: str) -> dict[str, object]:
        session = {"conversation_id": "bench"} if agent.name == "cursor" else {"session_id": "bench"}
        return {
            **session,
            "hook_event_name": event,
            "cwd": str(self.folder),
            "workspace_roots": [str(self.folder)],
            "transcript_path": None if agent.name == "cursor" else str(self.transcript),
            "prompt": prompt,
        }


def measure_hooks(size: int, rounds: int, progress: bool = False) -> list[Measure]:
    """The time of each hook of each agent, and how many prompts got an answer in time."""
    with tempfile.TemporaryDirectory() as folder:
        project = _Project(Path(folder) / "project", State(Path(folder) / "state"))
        (project.folder / ".git").mkdir(parents=True)
        project.state.save_settings(HookSettings(store=str(Path(folder) / "memory.db"), min_chance=0.0))
        store = SqliteStore(project.state.settings().store)
        with Engine(store, namespace_of(str(project.folder)), embedder=_PinnedSample()) as engine:
            engine.configure(find_changes=False, find_repeats=False)
            write_rate(engine, size, progress)
        try:
            _start(project)
            with bar("Running hooks", rounds * len(AGENTS), show=progress) as advance:
                for agent in AGENTS.values():
                    for number, question in enumerate(new_questions(rounds)):
                        project.turn(agent, number, question)
                        advance(1)
        finally:
            send(project.state, END)
            end = time.monotonic() + 10
            while project.state.socket.exists() and time.monotonic() < end:
                time.sleep(0.05)
        return list(_measures(project, size))


def _start(project: _Project) -> None:
    """Start the resident process as the first session does, and wait until it answers prompts."""
    agent, end = AGENTS["claude-code"], time.monotonic() + START_S
    block = project.run(agent, "SessionStart", "")
    while not (block and is_running(project.state)) and time.monotonic() < end:
        time.sleep(0.1)
        block = project.run(agent, "SessionStart", "")
    if not block:
        raise StoreError("the resident process did not start; its log is in the state folder")
    project.times.clear()


def _measures(project: _Project, size: int) -> Iterator[Measure]:
    for (agent, event), ms in project.times.items():
        p50, p95, p99 = (float(value) for value in np.percentile(ms, (50, 95, 99)))
        limit = f"p95 ≤ {LIMIT_MS:g}" if event else ""
        yield Measure(f"{agent} {event}".strip(), size, p50, p95, p99, "ms", limit, p95 <= LIMIT_MS)
    share = 100 * project.answered / max(1, project.asked)
    yield figure("prompts answered in time", size, share, "%")
