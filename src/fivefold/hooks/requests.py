"""Requests to the resident process: the block of a session, the answer to a prompt, and to store what waits.

Nothing of an answer outlives it: each is made of what is stored at that moment, so that none has what was forgotten.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from fivefold.engine import Engine
from fivefold.engine import store as open_store
from fivefold.hooks.entry import STARTING
from fivefold.hooks.state import FIRST_PAUSE_S, MAX_PAUSE_S, HookSettings, State
from fivefold.hooks.writer import Event, SpoolWriter, event_of, payload_of, session_of
from fivefold.retrieval.prompt import compose
from fivefold.retrieval.prompt_block import Block, Item, pack
from fivefold.text.display import OPEN, fenced, quote_line
from fivefold.text.passages import tokens
from fivefold.values.serialize import Json
from fivefold.values.times import utc_now
from fivefold.values.validate import MAX_TEXT

LAST_TURNS = 4
"""Turns of the last session that a new one begins with."""

MIN_OPENING_TOKENS = 300
"""In a smaller block the opening is brief."""

MIN_KNOWN_TOKENS = 30
"""In less room nothing that is known is worth its heading."""

PROFILE_SHARE = 70
"""Percent of the room of what is known that the profile may take."""

TIME_AHEAD = timedelta(days=14)
"""Time ahead for which a session is told of dated facts."""

MAX_LINES = 5
"""Lines of what is coming, and of what changed."""

CANDIDATES, ANSWERS = 12, 6
"""Number of memories recalled for a prompt, and of those from other sessions."""

SHORTEST_PROMPT = 8
"""Characters of a prompt that can be a question; "yes" and "go on" are none."""


def session_block(engine: Engine, settings: HookSettings) -> str:
    """The profile, the agenda, the changes, and the last turns of the last session."""
    session = next(iter(engine.sessions(1)), None)
    last = [] if session is None else engine.last_turns(session.id, LAST_TURNS)
    turns = [Item(turn, recent=True) for turn in last]
    block = Block(utc_now(), tokens, len(turns), zone=engine.settings.zone)
    (opening,) = (block if settings.session_tokens >= MIN_OPENING_TOKENS else block.briefly()).opening()
    room = settings.session_tokens - (block.frame(turns) if turns else tokens(f"{opening}\n{fenced('')}"))
    known = _known(engine, room, utc_now(), bool(turns))
    left = settings.session_tokens - tokens(known) - 1
    packed = pack(block, turns, [], left) if turns else []
    if not packed:
        return f"{opening}\n{fenced(known)}" if known else ""
    text = block.text(packed)
    whole = text.replace(f"{OPEN}\n", f"{OPEN}\n{known}\n\n", 1) if known else text
    return whole if tokens(whole) <= settings.session_tokens else text


def _known(engine: Engine, room: int, now: datetime, with_turns: bool) -> str:
    """A profile, the next days and the latest changes, as quotes; the turns have half of the room."""
    if not engine.exists() or room < MIN_KNOWN_TOKENS:
        return ""
    room = room // 2 if with_turns else room
    parts = []
    profile = engine.profile(token_budget=max(1, room * PROFILE_SHARE // 100), now=now)
    if profile.facts:
        lines = str(profile).splitlines()
        parts.append("\n".join(" " * line.startswith(" ") + quote_line(line) for line in lines))
    ahead = engine.agenda(now, now + TIME_AHEAD, limit=MAX_LINES).facts
    changed = engine.changes().replaced[:MAX_LINES] if with_turns else ()
    for title, lines in (
        ("coming:", [f"- {fact.first_day:%a %d %b}: {quote_line(fact.text)}" for fact in ahead]),
        ("changed in the last session:", [f"- {quote_line(fact.text)}" for fact in changed]),
    ):
        fitting = _fitting(lines, room - tokens("\n".join((*parts, title))))
        if fitting:
            parts.append("\n".join((title, *fitting)))
    return "\n".join(parts)


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The first lines that fit."""
    fitting: list[str] = []
    for line in lines:
        room -= tokens(f"{line}\n")
        if room < 0:
            break
        fitting.append(line)
    return fitting


def prompt_block(engine: Engine, settings: HookSettings, prompt: str, session_id: str | None) -> str:
    """The memories about a prompt, without those of its own session; empty if nothing seems to answer."""
    question = prompt.strip()[:MAX_TEXT]
    if len(question) < SHORTEST_PROMPT or question.startswith("/"):
        return ""
    answer = engine.recall(question, CANDIDATES, effort=settings.effort, min_chance=settings.min_chance)
    others = (hit for hit in answer if hit.memory.session_id is None or hit.memory.session_id != session_id)
    hits = tuple(islice(others, ANSWERS))
    if not hits:
        return ""
    return compose(replace(answer, hits=hits), settings.token_budget, tokens, engine.settings.zone).text


WARM_UPS = (
    "What do we know about this project, and what was decided?",
    "When did we last change config.toml, and who asked for it in early June?",
    "List every test that failed since last Monday, please.",
    "How many retries does the client have now? It was another number before.",
    "Add Sarah's e-mail address to the README; I can't find where we wrote it.",
)
"""Prompts of several kinds, which load what the first real one needs: models, vectors, patterns of texts."""

NICENESS = 5
"""Priority by which storing steps back behind the hooks and the answers to prompts."""


MAX_KEPT = 100
"""Prompts of Cursor whose answer has not been taken yet."""


class Requests:
    """Engines over one store, a writer, and the answers. Recalls may run while something is stored."""

    def __init__(self, state: State, log: Callable[[str], None]) -> None:
        self._state = state
        self._settings = state.settings()
        self._store = open_store(self._settings.store)
        state.seal(self._settings.store)
        self._writer = SpoolWriter(state, self._store.namespace, log)
        self._log = log
        self._writing = threading.Lock()
        self._again = threading.Event()
        self._warm: set[str] = set()
        self._kept: OrderedDict[str, Event] = OrderedDict()
        """The last prompt of each conversation of Cursor."""
        self._pause = FIRST_PAUSE_S
        self._retry_at: float | None = None

    @property
    def busy(self) -> bool:
        return self._writing.locked()

    def answer(self, data: bytes) -> bytes:
        """The answer to a request, as the agent takes it; empty if there is nothing to say, or it would be late."""
        what, _, rest = data.partition(b"\n")
        if what in (b"begin", b"ask", b"take"):
            deadline, _, rest = rest.partition(b"\n")
            event = event_of(rest)
            made = {b"begin": self._begin, b"ask": self._ask, b"take": self._take}[what]
            return made(event) if time.time() < float(deadline) else b""
        if what == b"keep":
            self._keep(event_of(rest))
        elif what == b"store":
            self._writer.unspooled.append(rest)
            self.drain()
        elif what == b"drain":
            self.drain()
        return b""

    def follow_up(self, data: bytes) -> None:
        """After the answer to the begin of a session: load what its prompts need."""
        if not data.startswith(b"begin\n"):
            return
        namespace = data.split(b"\n")[4].decode()
        engine = self._store.namespace(namespace)
        if namespace not in self._warm and engine.exists():
            self._warm.add(namespace)
            for prompt in WARM_UPS:
                prompt_block(engine, self._settings, prompt, None)

    def drain(self) -> None:
        """Store what waits, at a lower priority of this thread; if that is under way, it looks once more."""
        step_back()
        self._again.set()
        while self._again.is_set() and self._writing.acquire(blocking=False):
            try:
                self._again.clear()
                if self._writer.drain().waiting == 0:
                    self._pause, self._retry_at = FIRST_PAUSE_S, None
                else:
                    self._retry_at = time.monotonic() + self._pause
                    self._pause = min(2 * self._pause, MAX_PAUSE_S)
            finally:
                self._writing.release()

    def retries(self) -> bool:
        """True if it is time to store failed writes again."""
        return self._retry_at is not None and time.monotonic() >= self._retry_at and not self.busy

    def close(self) -> None:
        self._store.close()

    def _begin(self, event: Event) -> bytes:
        """The block of a session; it is made without the models, which may still be loading."""
        engine = self._store.namespace(event.namespace)
        block = session_block(engine, self._settings) if engine.exists() else ""
        field = STARTING[event.name]
        return _context(event.name, block) if field == "additionalContext" else _json({field: block} if block else {})

    def _ask(self, event: Event) -> bytes:
        return _context(event.name, self._block(event))

    def _take(self, event: Event) -> bytes:
        """The answer to the last prompt of a conversation, once, made of what is stored now."""
        asked = self._kept.pop(_conversation(event), None)
        if not self._kept:
            self._state.kept_flag.unlink(missing_ok=True)
        block = self._block(asked) if asked else ""
        return _json({"additional_context": block} if block else {})

    def _keep(self, event: Event) -> None:
        """Keep a prompt until the agent has used a tool, if something stored answers it."""
        if self._block(event):
            self._kept[_conversation(event)] = event
            self._state.kept_flag.touch()
        else:
            self._kept.pop(_conversation(event), None)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        self.drain()

    def _block(self, event: Event) -> str:
        payload = payload_of(event.data)
        prompt = payload.get("prompt")
        engine = self._store.namespace(event.namespace)
        if not isinstance(prompt, str) or not engine.exists():
            return ""
        return prompt_block(engine, self._settings, prompt, session_of(event.agent, payload))


def _conversation(event: Event) -> str:
    return str(payload_of(event.data).get("conversation_id"))


def _context(event: str, block: str) -> bytes:
    return _json({"hookSpecificOutput": {"hookEventName": event, "additionalContext": block}} if block else {})


def _json(answer: Json) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode() + b"\n" if answer else b""


def step_back() -> None:
    """Lowers the priority of this thread, if the system has one for each thread; it cannot be raised again."""
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        usual = os.getpriority(os.PRIO_PROCESS, os.getpid())
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(usual + NICENESS, 19))
