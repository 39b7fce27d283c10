"""Nothing a memory holds is obeyed by a terminal or hidden in it."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.cli.safe import SHOWN, brief, escaped, visible
from tests.cli.shell import Command, Small

NASTY = "red \x1b[31malert\x1b[0m\x07 \x9b2J bell\x7f \u202eltr\u2066 zero\u200bwidth \U000e0041tag [bold]x[/bold] [/]"
HIDDEN = "\x1b\x07\x9b\x7f\u202e\u2066\u200b\U000e0041"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("bell\x07 del\x7f csi\x9b", "bell␇ del␡ csi·"),
        ("over\u202eride \u2066isolate\u2069", "over·ride ·isolate·"),
        ("zero\u200bwidth \ufeffmark", "zero·width ·mark"),
        ("one\ntwo\tthree\r\nfour", "one\ntwo\tthree\nfour"),
        ("back\rover", "back␍over"),
        ("👩\u200d🔬 می\u200cخواهم ۝", "👩\u200d🔬 می\u200cخواهم ۝"),
        ("Ärger, naïve, 東京, [bold]", "Ärger, naïve, 東京, [bold]"),
    ],
)
def test_marks_stand_for_what_would_be_obeyed_or_hidden(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_no_text_keeps_a_control_or_bidi_character(text: str) -> None:
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert not [c for c in shown if unicodedata.bidirectional(c) in {"LRO", "RLO", "LRE", "RLE", "PDF", "LRI", "RLI"}]
    assert visible(shown) == shown


@given(st.text())
def test_json_loses_nothing(text: str) -> None:
    told = escaped(json.dumps({"text": text}, ensure_ascii=False, indent=2))
    assert json.loads(told) == {"text": text}
    assert visible(told) == told


@given(st.text(max_size=2_000))
def test_a_brief_text_is_one_short_line(text: str) -> None:
    line = brief(text)
    assert len(line) <= SHOWN
    assert "\n" not in line
    assert brief(text, full=True) == visible(text)


@pytest.mark.parametrize(
    "args",
    [
        ["recall", "red alert bell"], ["recall", "red alert bell", "--full"], ["explain", "red alert bell"], ["list"],
        ["list", "--speaker", "m\u202ea"], ["get", "bad\u202eid"], ["update", "bad\u202eid", "--tag", "x\u202ey"],
        ["forget", "bad\u202eid"], ["forget", "no\u202eid"], ["sessions"], ["stats", "-n", "no\u202ens"],
    ],
    ids=ascii,
)  # fmt: skip
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
