"""A talk with the memory: piped, as JSON lines, and at a prompt in a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import fivefold
from fivefold.cli.read import GREETING, PROMPT
from fivefold.values.explain import NOT_FOUND
from tests.support.shell import clean, process

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]
TALK = "I live in Leeds\n\n  I take my tea without milk  \nhow do I take my tea?\nI moved from Leeds to Bristol\n"


def test_piped_lines_are_remembered_and_questions_answered(tmp_path: Path) -> None:
    ran = process("chat", "--store", "talk.db", "--session", "s", folder=str(tmp_path), said=TALK)
    assert (ran.code, ran.err) == (0, "")
    lines = [line.strip() for line in ran.out.splitlines()]
    assert lines[:2] == ["remembered", "remembered"]
    assert lines[2].endswith("%  I take my tea without milk")
    assert lines[3].endswith("user · says “take”, “tea”")
    assert lines[-2:] == ["remembered", "no longer so: I live in Leeds"]
    with fivefold.open(tmp_path / "talk.db") as mem:
        turns = mem.turns("s")
    assert [turn.content for turn in turns] == [
        "I live in Leeds",
        "I take my tea without milk",
        "I moved from Leeds to Bristol",
    ]
    assert {turn.speaker for turn in turns} == {"user"}


def test_a_second_talk_knows_the_first_and_has_a_session_of_its_own(tmp_path: Path) -> None:
    process("chat", "--store", "talk.db", folder=str(tmp_path), said="My badge ID is E-47821\n")
    said = "what is my badge ID?\nwhat is the capital of Peru?\nMy badge is blue\n"
    ran = process("chat", "--store", "talk.db", "--session", "later", folder=str(tmp_path), said=said)
    assert "My badge ID is E-47821" in ran.out
    assert NOT_FOUND in ran.out
    with fivefold.open(tmp_path / "talk.db") as mem:
        first, second = sorted((session.id for session in mem.sessions()), key=len)
        assert (first, second[:5]) == ("later", "chat ")


def test_as_json_each_line_is_one_object_and_a_bad_line_ends_nothing(tmp_path: Path) -> None:
    said = f"I live in Leeds\n{'x' * 200_001}\nwhere do I live?\n"
    ran = process("chat", "--store", "talk.db", "--json", folder=str(tmp_path), said=said)
    assert (ran.code, ran.err) == (0, "")
    told, refused, asked = map(json.loads, ran.out.splitlines())
    assert told["report"]["stored"]
    assert refused["error"]["type"] == "InvalidInput"
    assert asked["report"] is None
    assert [hit["memory"]["content"] for hit in asked["recall"]["hits"]] == ["I live in Leeds"]


def test_a_terminal_has_a_prompt_and_ends_with_its_input(tmp_path: Path) -> None:
    here, there = pty.openpty()
    env = clean({"TERM": "xterm-256color", "COLUMNS": "80", "NO_COLOR": "1"})
    command = [sys.executable, "-m", "fivefold", "chat", "--store", "talk.db"]
    run = subprocess.Popen(command, stdin=there, stdout=there, stderr=there, cwd=tmp_path, env=env)
    os.close(there)
    shown = b""
    for typed in ("I take my tea without milk\n", "how do I take my tea?\n", "\x04"):
        shown += _to_the_prompt(here)
        os.write(here, typed.encode())
    assert run.wait(60) == 0
    shown += os.read(here, 65536)
    os.close(here)
    text = shown.decode()
    assert GREETING in text
    assert "remembered" in text
    assert "%  I take my tea without milk" in text


def _to_the_prompt(terminal: int) -> bytes:
    """What is shown up to the next prompt."""
    said = b""
    while PROMPT.encode() not in said:
        said += os.read(terminal, 65536)
    return said
