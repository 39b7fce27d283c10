"""What the writer makes of events: transcripts from where it stopped, and payloads of agents that write none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fivefold.engine import Engine
from fivefold.hooks.state import State
from fivefold.hooks.writer import SpoolWriter, event_of
from tests.support.hook_events import Hooks, new_hooks


class Writing:
    """A writer over one engine, with what it logged."""

    def __init__(self, hooks: Hooks, engine: Engine) -> None:
        self.hooks, self.engine, self.said = hooks, engine, list[str]()
        self.writer = SpoolWriter(hooks.state, lambda namespace: engine, self.said.append)

    @property
    def state(self) -> State:
        return self.hooks.state

    def leave(self, agent: str, event: str, at: float = 1_772_400_000.0, **changes: Any) -> None:
        header = f"{agent}\n{event}\nshop-1\n{at}\n".encode()
        number = len(list(self.state.spool.iterdir()))
        (self.state.spool / f"{number:03d}.event").write_bytes(header + self.hooks.payload(agent, event, **changes))


@pytest.fixture
def writing(tmp_path: Path, engine: Engine) -> Writing:
    return Writing(new_hooks(tmp_path), engine)


def test_an_event_is_read_as_the_hook_wrote_it() -> None:
    event = event_of(b'codex\nStop\nshop-1\n1772400000.5\n{"session_id": "a\\nb",\n"x": 1}')
    assert (event.agent, event.name, event.namespace) == ("codex", "Stop", "shop-1")
    assert event.at.isoformat() == "2026-03-01T21:20:00.500000+00:00"
    assert event.payload["x"] == 1


def test_a_transcript_is_read_from_where_it_ended(writing: Writing) -> None:
    path = writing.hooks.transcript("codex")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]))
    writing.leave("codex", "Stop")
    assert writing.writer.drain() == {"shop-1"}
    assert json.loads(writing.state.offsets.read_text("utf-8")) == {str(path): len(b"".join(lines[:6]))}
    path.write_bytes(b"".join(lines))
    writing.leave("codex", "Stop")
    assert writing.writer.drain() == {"shop-1"}
    writing.leave("codex", "PreCompact")
    assert writing.writer.drain() == set(), "nothing new"
    (session,) = writing.engine.sessions()
    assert session.turns == 2
    assert writing.state.events() == []


def test_a_transcript_that_is_shorter_than_before_is_read_again(writing: Writing) -> None:
    path = writing.hooks.transcript("claude-code")
    path.write_bytes(path.read_bytes() + b"\n" * 50_000)
    writing.leave("claude-code", "Stop")
    writing.writer.drain()
    text = path.read_text("utf-8").strip().replace('"uuid": "u1"', '"uuid": "u1b"').replace("Fridays", "Saturdays")
    path.write_text(text + "\n", "utf-8")
    writing.leave("claude-code", "Stop")
    assert writing.writer.drain() == {"shop-1"}
    assert any("Saturdays" in memory.content for memory in writing.engine.memories())


def test_a_transcript_that_is_not_there_is_no_error(writing: Writing) -> None:
    writing.leave("claude-code", "Stop", transcript_path="/nowhere/at/all.jsonl")
    assert writing.writer.drain() == set()
    assert writing.said == []
    assert writing.state.events() == []


def test_cursor_without_transcripts_is_stored_from_its_payloads(writing: Writing) -> None:
    for _ in range(2):
        writing.leave("cursor", "beforeSubmitPrompt", at=1.0, transcript_path=None)
        writing.leave("cursor", "afterAgentResponse", at=2.0, transcript_path=None)
        writing.leave("cursor", "stop", at=3.0, transcript_path=None)
        writing.writer.drain()
    (session,) = writing.engine.sessions()
    assert [(turn.speaker, turn.content) for turn in writing.engine.turns(session.id)] == [
        ("user", "How does the cart keep prices?"),
        ("assistant", "Prices are cents."),
    ]


def test_cursor_with_transcripts_stores_nothing_twice(writing: Writing) -> None:
    for event in ("beforeSubmitPrompt", "afterAgentResponse", "stop", "sessionEnd"):
        writing.leave("cursor", event)
    writing.writer.drain()
    (session,) = writing.engine.sessions()
    assert session.turns == 5
    assert session.id == "cursor:5f1d2c3b-6a79-4880-9b0c-1d2e3f405162"


def test_a_message_of_an_unknown_shape_keeps_no_other_from_being_stored(writing: Writing) -> None:
    path = writing.hooks.transcript("claude-code")
    lines = path.read_text("utf-8").splitlines()
    odd = json.loads(lines[2]) | {"uuid": "odd", "message": {"role": "user", "content": 7}}
    path.write_text("\n".join([json.dumps(odd), *lines]) + "\n", "utf-8")
    writing.leave("claude-code", "Stop")
    writing.writer.drain()
    (session,) = writing.engine.sessions()
    assert session.turns == 3
    assert writing.said == ["a message was left out: message 1: content should be a text or a list of parts, not int"]


def test_an_event_that_fails_is_put_aside(writing: Writing) -> None:
    (writing.state.spool / "000.event").write_bytes(b"nonsense")
    writing.leave("codex", "Stop")
    assert writing.writer.drain() == {"shop-1"}
    assert [path.name for path in writing.state.failed.iterdir()] == ["000.event"]
    assert writing.said[0].startswith("000.event was put aside")
