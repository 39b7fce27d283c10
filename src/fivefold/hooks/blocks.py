"""What an agent gets to read: the block that a session begins with, and the block for a prompt."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from fivefold.engine import Engine
from fivefold.hooks.state import HookSettings
from fivefold.retrieval.prompt import compose
from fivefold.retrieval.prompt_block import Block, Item
from fivefold.retrieval.prompt_packing import pack
from fivefold.text.tokens import tokens
from fivefold.values.limits import MAX_TEXT
from fivefold.values.memory import Memory
from fivefold.values.times import utc_now

LAST_TURNS = 4
"""Turns of the last session that a new one begins with."""

CONSIDERED = 300
"""The latest memories among which those for a new session are chosen."""

CHOSEN = 12
CANDIDATES, ANSWERS = 12, 6
"""Memories that are recalled for a prompt, and how many of other sessions come along."""

SHORTEST_PROMPT = 8
"""Characters of a prompt that can be a question; "yes" and "go on" are none."""

WEIGHTS = {"preference": 0.3, "procedure": 0.3, "fact": 0.1}
"""What more a memory counts by its type: what the user likes and how things are done serve any task."""


def session_block(engine: Engine, settings: HookSettings) -> str:
    """The last turns of the last session, and the memories that matter most; empty where there is nothing."""
    session = next(iter(engine.sessions(1)), None)
    last = [] if session is None else engine.last_turns(session.id, LAST_TURNS)
    seen = {turn.id for turn in last}
    stored = engine.memories(superseded=False, limit=CONSIDERED)
    best = sorted((memory for memory in stored if memory.id not in seen and _matters(memory)), key=_rank)[:CHOSEN]
    if not last and not best:
        return ""
    turns, memories = [Item(turn, recent=True) for turn in last], [Item(memory) for memory in best]
    block = Block(utc_now(), tokens, len(turns) + len(memories), zone=engine.settings.zone)
    packed = pack(block, turns, memories, settings.session_tokens)
    return block.text(packed) if packed else ""


def prompt_block(engine: Engine, settings: HookSettings, prompt: str, session_id: str | None) -> str:
    """What is remembered about a prompt, without what its own session said; empty where nothing seems to answer."""
    question = prompt.strip()[:MAX_TEXT]
    if len(question) < SHORTEST_PROMPT or question.startswith("/"):
        return ""
    answer = engine.recall(question, CANDIDATES, effort=settings.effort, min_chance=settings.min_chance)
    others = (hit for hit in answer if hit.memory.session_id is None or hit.memory.session_id != session_id)
    hits = tuple(islice(others, ANSWERS))
    if not answer.found or not hits:
        return ""
    return compose(replace(answer, hits=hits), settings.token_budget, tokens, engine.settings.zone).text


def _matters(memory: Memory) -> bool:
    return memory.speaker not in ("assistant", "tool", "system") and memory.kind != "session"


def _rank(memory: Memory) -> tuple[float, float]:
    return -(memory.importance + memory.memory_score + WEIGHTS.get(memory.type, 0.0)), -memory.event_at.timestamp()
