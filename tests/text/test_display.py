"""Text is shown without what would be obeyed or hidden, and JSON loses nothing by it."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.text.display import BRIEF_CHARACTERS, brief, escaped, visible


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
    assert len(line) <= BRIEF_CHARACTERS
    assert "\n" not in line
    assert brief(text, full=True) == visible(text)
