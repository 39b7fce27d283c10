"""What the resident process is asked: to answer a prompt, to be ready for one, to store what waits."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable

from fivefold.engine import store as open_store
from fivefold.hooks.blocks import prompt_block, session_block
from fivefold.hooks.state import State, write_json
from fivefold.hooks.writer import Event, SpoolWriter, event_of

WARM_UPS = (
    "What do we know about this project, and what was decided?",
    "When did we last change config.toml, and who asked for it in early June?",
    "List every test that failed since last Monday, please.",
    "How many retries does the client have now? It was another number before.",
    "Add Sarah's e-mail address to the README; I can't find where we wrote it.",
)
"""Prompts of several kinds, which load what the first real one needs: models, vectors, patterns of texts."""

NICENESS = 5
"""How far storing steps back behind the hooks and the answers to prompts."""


class Requests:
    """Engines over one store, a writer, and the answers. Recalls may run while something is stored."""

    def __init__(self, state: State, log: Callable[[str], None]) -> None:
        self._state = state
        self._settings = state.settings()
        self._store = open_store(self._settings.store)
        self._writer = SpoolWriter(state, self._store.namespace, log)
        self._log = log
        self._writing = threading.Lock()
        self._again = threading.Event()
        self._warm: set[str] = set()

    @property
    def busy(self) -> bool:
        return self._writing.locked()

    def answer(self, data: bytes) -> bytes:
        """The answer to a request, as the agent takes it; empty where there is nothing to say, or it would be late."""
        what, _, rest = data.partition(b"\n")
        if what == b"ask":
            deadline, _, rest = rest.partition(b"\n")
            return self._ask(event_of(rest)) if time.time() < float(deadline) else b""
        if what == b"warm":
            self._get_ready(rest.split(b"\n")[2].decode())
        elif what == b"keep":
            self._keep(event_of(rest))
        elif what == b"drain":
            self.drain()
        return b""

    def drain(self) -> None:
        """Store what waits; where that is under way, the one that does it looks once more.

        The calling thread has a lower priority from then on: the agent waits for hooks, and nobody for the writer.
        """
        step_back()
        self._again.set()
        while self._again.is_set() and self._writing.acquire(blocking=False):
            try:
                self._again.clear()
                for namespace in self._writer.drain():
                    self.refresh(namespace)
            finally:
                self._writing.release()

    def refresh(self, namespace: str) -> None:
        """Make the block that the next session begins with."""
        block = session_block(self._store.namespace(namespace), self._settings)
        path = self._state.block(namespace)
        if block:
            write_json(path, block)
        else:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        self._store.close()

    def _ask(self, event: Event) -> bytes:
        block = self._block(event)
        context = {"hookEventName": event.name, "additionalContext": block}
        return json.dumps({"hookSpecificOutput": context}, ensure_ascii=False).encode() + b"\n" if block else b""

    def _keep(self, event: Event) -> None:
        conversation = event.payload.get("conversation_id")
        if isinstance(conversation, str):
            self._state.keep(conversation, self._block(event))
        self.drain()

    def _block(self, event: Event) -> str:
        prompt = event.payload.get("prompt")
        engine = self._store.namespace(event.namespace)
        if not isinstance(prompt, str) or not engine.exists():
            return ""
        return prompt_block(engine, self._settings, prompt, event.session)

    def _get_ready(self, namespace: str) -> None:
        """Load what a prompt in this namespace needs."""
        engine = self._store.namespace(namespace)
        if namespace in self._warm or not engine.exists():
            return
        self._warm.add(namespace)
        for prompt in WARM_UPS:
            prompt_block(engine, self._settings, prompt, None)
        self.refresh(namespace)


def step_back() -> None:
    """Lower the priority of this thread, where the system has one for each thread; it cannot be raised again."""
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        usual = os.getpriority(os.PRIO_PROCESS, os.getpid())
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(usual + NICENESS, 19))
