"""What the writer makes of events: transcripts from where it stopped, and payloads of agents that write none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fivefold.engine import Engine
from fivefold.errors import DiskFull
from fivefold.hooks.state import State, offset_name
from fivefold.hooks.writer import SpoolWriter, event_of, payload_of
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
    assert payload_of(event.data)["x"] == 1


def test_a_transcript_is_read_from_where_it_ended(writing: Writing) -> None:
    path = writing.hooks.transcript("codex")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]))
    writing.leave("codex", "Stop")
    assert writing.writer.drain().new == 1
    assert json.loads(writing.state.offsets.read_text("utf-8")) == {offset_name(path): len(b"".join(lines[:6]))}
    path.write_bytes(b"".join(lines))
    writing.leave("codex", "Stop")
    assert writing.writer.drain().new == 1
    writing.leave("codex", "PreCompact")
    assert writing.writer.drain().new == 0
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
    assert writing.writer.drain().new == 1
    assert any("Saturdays" in memory.content for memory in writing.engine.memories())


def test_a_transcript_that_is_not_there_is_no_error(writing: Writing) -> None:
    writing.leave("claude-code", "Stop", transcript_path="/nowhere/at/all.jsonl")
    assert writing.writer.drain().new == 0
    assert writing.said == ["nothing was stored of claude-code Stop: its transcript is not there"]
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


def test_what_is_not_an_event_is_passed_over_and_named_once(writing: Writing) -> None:
    spool = writing.state.spool
    (spool / "000.event").write_bytes(b"nonsense")
    os.mkfifo(spool / "001.event")
    (spool / "002.event").symlink_to("/etc/passwd")
    (spool / "003.event").mkdir()
    (spool / "notes.txt").write_text("mine", "utf-8")
    names = {path.name for path in spool.iterdir()}
    writing.leave("codex", "Stop")
    assert writing.writer.drain().new == 1
    writing.writer.drain()
    assert {path.name for path in spool.iterdir()} == names
    assert sorted(said.split("'")[1] for said in writing.said) == sorted(names)
    assert not writing.state.offsets.is_symlink()


def test_an_event_that_cannot_be_stored_now_waits(tmp_path: Path, engine: Engine) -> None:
    hooks = new_hooks(tmp_path)
    away = True

    def engine_of(namespace: str) -> Engine:
        if away:
            raise DiskFull("the disk is full")
        return engine

    writing = Writing(hooks, engine)
    writing.writer = SpoolWriter(hooks.state, engine_of, writing.said.append)
    for event in ("beforeSubmitPrompt", "afterAgentResponse"):
        writing.leave("cursor", event, transcript_path=None)
    drain = writing.writer.drain()
    assert (drain.stored, drain.waiting, len(hooks.state.events())) == (0, 2, 2)
    assert drain.error == "000.event waits: the disk is full"
    away = False
    assert writing.writer.drain().new == 2
    assert hooks.state.events() == []
    (session,) = engine.sessions()
    assert [turn.speaker for turn in engine.turns(session.id)] == ["user", "assistant"]


def test_codex_without_a_transcript_is_stored_from_its_events(writing: Writing) -> None:
    writing.leave("codex", "UserPromptSubmit", at=1.0, transcript_path=None)
    writing.leave("codex", "Stop", at=2.0, transcript_path=None)
    writing.leave("codex", "Stop", at=3.0, transcript_path=None, last_assistant_message=None)
    writing.writer.drain()
    (session,) = writing.engine.sessions()
    assert [(turn.speaker, turn.content) for turn in writing.engine.turns(session.id)] == [
        ("user", "What renders the invoices?"),
        ("assistant", "Fonts are loaded for each invoice."),
    ]
    assert writing.said == ["nothing was stored of codex Stop: it names no transcript and carries no text"]


def test_an_event_without_a_session_is_said_in_the_log(writing: Writing) -> None:
    writing.leave("codex", "Stop", transcript_path=None, session_id=None)
    writing.writer.drain()
    assert writing.said == ["nothing was stored of codex Stop: it names no session"]


def test_the_log_quotes_no_error_that_may_hold_a_text(tmp_path: Path, engine: Engine) -> None:
    hooks = new_hooks(tmp_path)
    said: list[str] = []

    def engine_of(namespace: str) -> Engine:
        raise KeyError("We deploy the shop on Fridays")

    writing = Writing(hooks, engine)
    writing.leave("codex", "Stop")
    SpoolWriter(hooks.state, engine_of, said.append).drain()
    assert said[0].startswith("000.event waits: KeyError in test_writer.py")


def test_offsets_that_are_torn_or_of_an_earlier_version_lose_nothing(writing: Writing) -> None:
    path = writing.hooks.transcript("codex")
    writing.state.offsets.write_text(json.dumps({str(path): path.stat().st_size}), "utf-8")
    writing.leave("codex", "Stop")
    assert writing.writer.drain().new == 0, "read to its end before"
    writing.state.offsets.write_text('{"torn', "utf-8")
    writing.leave("codex", "Stop")
    assert writing.writer.drain().new == 1
    assert str(path) not in writing.state.offsets.read_text("utf-8")
