"""Text as wide as the terminal, coloured only in one."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess

import pytest
from rich.cells import cell_len

from tests.support import shell
from tests.support.shell import Small, clean, process

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]
STYLE = re.compile(r"\x1b\[[\d;]*m")


def terminal(*args: str, folder: str, **env: str) -> str:
    """What `fivefold` shows in a terminal 80 columns wide."""
    here, there = pty.openpty()
    env = clean({"TERM": "xterm-256color", "COLUMNS": "80", **env})
    run = subprocess.Popen([*shell.FIVEFOLD, *args], stdin=there, stdout=there, cwd=folder, env=env)
    os.close(there)
    said = b""
    while True:
        try:
            part = os.read(here, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(here)
    assert run.wait() == 0
    return said.decode()


def words(told: str) -> list[str]:
    """The words without times and ids, which are new in every run and may wrap elsewhere."""
    return [word for word in told.split() if not re.fullmatch(r"[\d.]+|[\w-]{36}|\d\d:\d\d", word)]


@pytest.mark.parametrize(
    "args",
    [
        ["recall", "where did I move, and what did Sarah say about the Berlin office?"],
        ["recall", "where did I move, and what did Sarah say about the Berlin office?", "-v"],
        ["understand", "where did I move, and what did Sarah say about the Berlin office last week?"],
        ["list"],
        ["get", "s01.03"],
        ["explain", "where do I live now?"],
        ["plan", "where do I live now?"],
        ["stats"],
        ["sessions"],
        ["doctor"],
    ],
    ids=lambda args: f"{args[0]} {' '.join(args[2:])}".strip(),
)
def test_no_line_is_wider_than_the_terminal(args: list[str], sample_path: str, tmp_path: str) -> None:
    ran = process(*args, "--store", sample_path, folder=str(tmp_path), COLUMNS="60")
    assert ran.code == 0, ran.err
    assert ran.out
    assert max(map(cell_len, ran.out.splitlines())) <= 60


def test_a_wide_terminal_lists_a_memory_beside_its_origin(sample_path: str, tmp_path: str) -> None:
    ran = process("list", "--limit", "3", "--store", sample_path, folder=str(tmp_path), COLUMNS="120")
    assert re.match(r"date +speaker +type +id +text *\n", ran.out)
    assert max(map(cell_len, ran.out.splitlines())) <= 120


def test_wrapped_memories_hang_below_their_first_line(sample_path: str, tmp_path: str) -> None:
    ran = process(
        "recall", "what's my badge ID?", "-k", "1", "--store", sample_path, folder=str(tmp_path), COLUMNS="60"
    )
    first, second, *_ = ran.out.splitlines()
    assert first.startswith(" 1. ")
    assert re.match(r" {8}\S", second)
    piped = process("recall", "what's my badge ID?", "-k", "1", "--store", sample_path, folder=str(tmp_path))
    assert piped.out.splitlines()[0].startswith(f"{first} {second.strip()}")


def test_bars_scale_with_the_width(small: Small) -> None:
    longest = []
    for width in ("60", "80", "100", "240"):
        ran = process("recall", "badge", "-v", "--store", small.path, folder=small.folder, COLUMNS=width)
        longest.append(max(len(bar) for bar in re.findall("█+", ran.out)))
    assert longest == sorted(longest)
    assert longest[0] < longest[-1] == 24


@pytest.mark.parametrize("name", ["recall", "explain"])
def test_a_terminal_has_colour_and_a_pipe_has_none(name: str, small: Small) -> None:
    args = (name, "what is my badge ID?", "--store", small.path)
    shown = terminal(*args, folder=small.folder)
    assert STYLE.search(shown)
    plain = process(*args, folder=small.folder, COLUMNS="80").out
    assert "\x1b" not in plain
    assert words(STYLE.sub("", shown)) == words(plain)


@pytest.mark.parametrize("args", [["recall", "badge"], ["explain", "badge"], ["plan", "badge"], ["stats"], ["list"]])
def test_no_color_means_no_style_at_all(args: list[str], small: Small) -> None:
    assert "\x1b" not in terminal(*args, "--store", small.path, folder=small.folder, NO_COLOR="1")


def test_a_piped_explanation_is_that_of_the_library(small: Small) -> None:
    ran = process("explain", "what is my badge ID?", "--store", small.path, folder=small.folder)
    assert ran.out.startswith("what is my badge ID?")
    assert not [line for line in ran.out.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("name", ["recall", "explain"])
def test_words_that_met_are_marked_in_a_terminal(name: str, small: Small) -> None:
    shown = terminal(name, "what is my badge ID?", "-k", "1", "--store", small.path, folder=small.folder)
    assert re.search("\x1b\\[1;4mbadge\x1b\\[0m", shown)


def test_D10_a_composite_is_in_percent_and_each_signal_in_its_colour(small: Small) -> None:
    args = ("what is my badge ID?", "-k", "1", "--recipe", "ditto", "--store", small.path)
    (hit,) = json.loads(process("recall", *args, "--json", folder=small.folder).out)["hits"]
    told = f"{100 * hit['score']:.1f} %"
    assert f" 1. {told}  " in process("recall", *args, folder=small.folder).out
    verbose = process("recall", *args, "--verbose", folder=small.folder).out
    assert re.search(rf"^ +=  +{told}$", verbose, re.MULTILINE)
    assert f"#1  {told}  " in process("explain", *args, folder=small.folder).out
    shown = terminal("recall", *args, "--verbose", folder=small.folder, COLORTERM="truecolor")
    assert re.findall("\x1b\\[38;2;(\\d+;\\d+;\\d+)m█+", shown) == ["47;111;237", "217;119;6", "15;155;116"], (
        "blue, amber, emerald"
    )


@pytest.mark.parametrize("name", ["recall", "explain"])
def test_of_a_long_memory_what_matched_is_shown(name: str, small: Small) -> None:
    text = "We walked along the river again. " * 60 + "I am allergic to penicillin, says the doctor."
    process("add", text, "--store", small.path, folder=small.folder)
    args = (name, "which medicine am I allergic to?", "-k", "1", "--store", small.path)
    (line,) = [
        line for line in process(*args, folder=small.folder).out.splitlines() if "allergic to penicillin" in line
    ]
    assert "…" in line
    assert len(line) < 400
    assert text in process(*args, "--full", folder=small.folder).out
