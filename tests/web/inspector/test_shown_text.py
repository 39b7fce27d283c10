"""Memories as templates write them: marked words with their titles, everything escaped, nothing of a text lost."""

from __future__ import annotations

import html
import re

import pytest

from fivefold.values.explain import LONG_CHARACTERS
from fivefold.values.recall_trace import PassageMatch, WordMatch
from fivefold.web.inspector.rendering import MAX_INLINE_CHARS, around_passage, environment

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = '<script>alert("tea")</script> & tea'


def written(text: str, match: PassageMatch) -> str:
    template = '{% import "parts.html" as parts with context %}{{ parts.words(text | marked_passage(match)) }}'
    return environment().from_string(template).render(text=text, match=match, namespace="")


def test_overlapping_words_are_escaped_and_marked_once() -> None:
    words = (WordMatch('"><b>', "script", 0.9, 1, 7), WordMatch("t", '>alert("', 0.4, 3, 15))
    shown = written(TEXT, PassageMatch(0.5, 0, 1, 0, len(TEXT), words))
    assert set(re.findall(r"<(/?\w+)", shown)) == {"mark", "/mark"}
    assert html.unescape(re.sub(r"</?mark.*?>", "", shown.replace("&gt;", "≥"))).replace("≥", ">") == TEXT
    titles = [html.unescape(title) for title in re.findall(r'title="(.*?)">', shown)]
    assert titles == ['matches “"><b>”, 0.90', 'matches “"><b>”, 0.90; “t”, 0.40', "matches “t”, 0.40"]
    assert re.findall(r"met-(\d)", shown) == ["3", "3", "1"]


def test_a_whole_text_comes_in_three_parts() -> None:
    text = "The path goes up. " * 200
    match = PassageMatch(
        0.5, 1, 3, 900, 1_700, (WordMatch("up", "up", 0.9, text.index("up", 900), text.index("up", 900) + 2),)
    )
    before, passage, after = around_passage(text, match)
    parts = ["".join(segment.text for segment in part) for part in (before, passage, after)]
    assert "".join(parts) == text
    assert parts[1] == text[900:1_700]
    assert [segment.text for segment in passage if segment.words] == ["up"]


def test_a_long_text_is_long_and_a_very_long_one_has_its_own_page() -> None:
    is_long, is_inline = (environment().filters[name] for name in ("is_long", "is_inline"))
    assert [is_long("x" * LONG_CHARACTERS), is_long("x" * (LONG_CHARACTERS + 1))] == [False, True]
    assert [is_inline("x" * MAX_INLINE_CHARS), is_inline("x" * (MAX_INLINE_CHARS + 1))] == [True, False]
