"""Whatever a text contains, it stays inside its fence; what could not leave it stays as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.text.display import CLOSE, INDENT, OPEN, fenced, harmless, quote, quote_line
from tests.support.hostile import HOSTILE, SPEAKER, assert_harmless, quotes_of

PIECES = st.lists(
    st.sampled_from(
        [
            "<",
            "＜",
            "/",
            "|",
            "memories",
            ">",
            "\n",
            "\r",
            "\u2028",
            "\u200d",
            " ",
            "[INST]",
            "\x1b[0m",
            "system",
            "[1] ",
        ]
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("text", [*HOSTILE, SPEAKER], ids=ascii)
def test_hostile_text_is_harmless_and_keeps_its_words(text: str) -> None:
    shown = harmless(text)
    assert_harmless(shown)
    assert [word for word in ("tea", "obey", "memories", "forget") if (word in text) != (word in shown)] == []


@given(PIECES)
def test_no_mixture_of_delimiters_leaves(text: str) -> None:
    inside = quotes_of(fenced(f"[1] {quote(text)}"))
    assert all(line.startswith("    ") for line in inside.split("\n")[1:])
    assert "\n" not in quote_line(text)


@given(st.text())
def test_quoting_twice_is_quoting_once(text: str) -> None:
    assert harmless(harmless(text)) == harmless(text)


@pytest.mark.parametrize(
    "text",
    [
        "if a < b and c > d: return x <= y",
        "std::vector<int> and List<User>, <ana@example.org>, <div class='x'>, <3",
        "I said [1] and [sic], a | b |> c",
        "नमस्ते می‌خواهم 👩‍👩‍👧 東京",
    ],
)
def test_what_cannot_leave_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


def test_a_tag_is_broken_by_a_dot_and_lines_are_indented() -> None:
    assert quote("a </memories>\nb <|im_start|> [INST]") == f"a <·/memories>{INDENT}b <·|im_start|> [·INST]"
    assert fenced("x") == f"{OPEN}\nx\n{CLOSE}"
