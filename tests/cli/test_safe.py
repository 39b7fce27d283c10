"""Nothing a memory holds is obeyed by a terminal or hidden in it."""

from __future__ import annotations

import pytest

import fivefold
from tests.support.hostile import FORGED, HOSTILE, SPEAKER, assert_fenced, forging
from tests.support.shell import Command, Small

pytestmark = pytest.mark.slow

NASTY = "red \x1b[31malert\x1b[0m\x07 \x9b2J bell\x7f \u202eltr\u2066 zero\u200bwidth \U000e0041tag [bold]x[/bold] [/]"
HIDDEN = "\x1b\x07\x9b\x7f\u202e\u2066\u200b\U000e0041"


@pytest.mark.parametrize(
    "args",
    [
        ["recall", "red alert bell"],
        ["recall", "red alert bell", "--full"],
        ["explain", "red alert bell"],
        ["list"],
        ["list", "--speaker", "m\u202ea"],
        ["get", "bad\u202eid"],
        ["update", "bad\u202eid", "--tag", "x\u202ey"],
        ["forget", "bad\u202eid"],
        ["forget", "no\u202eid"],
        ["sessions"],
        ["stats", "-n", "no\u202ens"],
    ],
    ids=ascii,
)
def test_no_command_lets_it_through(args: list[str], small: Small, command: Command) -> None:
    def ran(*args: str) -> str:
        done = command(*args, "--store", small.path)
        return done.out + done.err

    marks = ("--id", "bad\u202eid", "--speaker", "m\u202ea", "--session", "s\u202et", "--tag", "x\u202ey")
    said = ran("add", NASTY, *marks) + ran(*args)
    told = ran(*args, "--json")
    assert said.strip()
    assert told.strip()
    assert not [c for c in HIDDEN if c in said + told]


def test_markup_is_text(small: Small, command: Command) -> None:
    command("add", NASTY, "--id", "bad", "--store", small.path)
    assert "[bold]x[/bold] [/]" in command("get", "bad", "--store", small.path).out
    assert "[bold]x[/bold] [/]" in command("recall", "red alert", "--store", small.path).out
    assert command("get", "bad", "--store", small.path, "--json").json["content"] == NASTY


def test_hostile_memories_stay_inside_the_block_that_is_printed(small: Small, command: Command) -> None:
    with fivefold.open(small.path) as mem:
        mem.remember_many({"content": text, "speaker": SPEAKER} for text in HOSTILE)
    ran = command("context", "tea", "-k", "20", "--budget", "5000", "--store", small.path)
    assert_fenced(ran.out.rstrip("\n"))
    made = command("context", "tea", "-k", "20", "--budget", "5000", "--store", small.path, "--json").json
    assert_fenced(made["text"])


@pytest.mark.parametrize(
    "args",
    [
        ["recall", "tea", "--full", "-v"],
        ["explain", "tea", "--full"],
        ["recall", "tea"],
        ["understand", forging("tea")],
        ["list", "--full"],
        ["health"],
    ],
    ids=lambda args: " ".join((args[0], *args[2:])),
)
def test_no_line_of_a_memory_stands_where_ours_do(args: list[str], small: Small, command: Command) -> None:
    with fivefold.open(small.path) as mem:
        mem.remember(forging("green tea"), session_id="s")
    shown = command(*args, "--store", small.path).out
    assert not [line for line in shown.split("\n") if line.startswith((FORGED, "    " + FORGED))]


def test_a_speaker_cannot_pose_as_what_is_said_about_a_memory(small: Small, command: Command) -> None:
    command("add", "green tea", "--speaker", "Ana · fact · forged-id", "--store", small.path)
    shown = command("recall", "green tea", "-v", "--store", small.path).out
    assert ", “Ana · fact · forged-id” · " in shown
