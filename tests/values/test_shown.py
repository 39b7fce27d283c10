"""What a person sees of a memory: an excerpt, a reason, names and text that cannot pose as ours, bars in a notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fivefold
from fivefold.engine import Engine
from fivefold.values.explain import (
    LONG_CHARACTERS,
    excerpt,
    mark_question,
    mark_words,
    marked_line,
    marked_passage,
    short_reason,
    shown_span,
)
from fivefold.values.html_parts import Html, Part, html_bar, html_table, html_text
from fivefold.values.query import Query, Weights
from fivefold.values.recall_trace import Candidate, Evidence, PassageMatch, WordMatch
from fivefold.values.validate import one_line, shorten, shown_name
from tests.conformance.store_pair import NOW
from tests.conformance.vectors import WordVectors
from tests.support.hostile import HOSTILE, SPEAKER
from tests.support.stage_pool import of

# What is shown of a text: nothing is lost or moved by marking words, and a cut text shows where words met.


FILLER = "The path goes up to the vineyard and down again. "


def word_at(text: str, word: str, similarity: float = 0.8, question: str = "q") -> WordMatch:
    start = text.index(word)
    return WordMatch(question, word, similarity, start, start + len(word))


def match(text: str, *words: WordMatch, start: int = 0, end: int | None = None, parts: int = 1) -> PassageMatch:
    return PassageMatch(0.7, min(1, parts - 1), parts, start, len(text) if end is None else end, words)


@st.composite
def words_of_texts(draw: st.DrawFn) -> tuple[str, list[WordMatch]]:
    text = draw(st.text(st.sampled_from("ab \n<>&…"), max_size=120))
    spans = draw(st.lists(st.tuples(st.integers(-1, 130), st.integers(-1, 130)), max_size=6))
    return text, [WordMatch("q", "m", 0.2 * i, *sorted(span)) for i, span in enumerate(spans)]


@given(words_of_texts())
def test_marking_loses_nothing_and_spans_may_overlap(given: tuple[str, list[WordMatch]]) -> None:
    text, words = given
    segments = mark_words(text, words)
    assert "".join(segment.text for segment in segments) == text
    for word in words:
        inside = 0 <= word.start < word.end <= len(text)
        marked = "".join(segment.text for segment in segments if word in segment.words)
        assert marked == (text[word.start : word.end] if inside else "")
    for segment in segments:
        nearest = max((word.similarity for word in segment.words), default=None)
        assert segment.strength == (0 if nearest is None else 3 if nearest >= 0.7 else 2 if nearest >= 0.5 else 1)


@given(words_of_texts(), st.integers(4, 60))
@example(("<  <<", [WordMatch("q", "m", 0.5, 0, 2)]), 4)
def test_a_line_is_one_line_and_no_longer_than_asked_for(given: tuple[str, list[WordMatch]], length: int) -> None:
    text, words = given
    line = excerpt(text, match(text, *words), length)
    assert "\n" not in line
    assert len(line) <= length
    if len(text) <= length:
        assert excerpt(text, None, length) == shorten(text, length)


def test_a_short_text_is_shown_whole() -> None:
    text = "I take\nmy tea without milk"
    assert excerpt(text, None, 100) == "I take my tea without milk"
    assert [part.text for part in marked_passage(text, match(text, word_at(text, "tea")))] == [
        "I take\nmy ",
        "tea",
        " without milk",
    ]


def test_a_cut_goes_to_where_words_met() -> None:
    text = FILLER * 10 + "I am allergic to penicillin. " + FILLER * 10
    found = match(text, word_at(text, "allergic"), word_at(text, "penicillin"))
    line = excerpt(text, found, 80)
    assert line.startswith("…")
    assert line.endswith("…")
    assert "I am allergic to penicillin" in line
    marked = [part.text for part in marked_line(text, found, 80) if part.words]
    assert marked == ["allergic", "penicillin"]


def test_the_nearest_words_are_shown_where_not_all_can_be() -> None:
    text = "tea " + FILLER * 10 + "coffee and cake " + FILLER
    found = match(text, word_at(text, "tea", 0.4), word_at(text, "coffee", 0.5), word_at(text, "cake", 0.5))
    assert "coffee and cake" in excerpt(text, found, 60)
    found = match(text, word_at(text, "tea", 0.9), word_at(text, "coffee", 0.4))
    assert excerpt(text, found, 60).startswith("tea The path")


def test_of_a_long_text_the_passage_that_matched_is_shown() -> None:
    text = FILLER * 30 + "\n\nSecond: I am allergic\nto penicillin.\n\n" + FILLER * 30
    start, end = text.index("Second"), text.index("penicillin.") + len("penicillin.")
    found = match(text, word_at(text, "allergic"), start=start, end=end, parts=3)
    shown = [part.text for part in marked_passage(text, found)]
    assert shown == ["… ", "Second: I am ", "allergic", "\nto penicillin.", " …"]
    assert excerpt(text, found, 60).startswith("…Second: I am allergic to penicillin.")


def test_of_a_long_text_that_was_not_compared_the_beginning_is_shown() -> None:
    text = FILLER * 100
    start, end = shown_span(text, None)
    assert start == 0
    assert 0 < end < LONG_CHARACTERS < len(text)
    assert [part.text for part in marked_passage(text, None)][-1] == " …"


def test_words_of_the_question_are_marked_wherever_they_stand() -> None:
    words = [WordMatch("live", "moved", 0.6), WordMatch("town", "city", 0.7), WordMatch("I", "I", 0.7)]
    question = "In which town do I live, or did I live before I came to relive it?"
    marked = mark_question(words, question)
    assert [part.text for part in marked if part.words] == ["town", "live", "live"]
    assert "".join(part.text for part in marked) == question


# One short reason for each hit: the words that met, the time, or the route that brought it.


def candidate(*routes: str, words: tuple[WordMatch, ...] = ()) -> Candidate:
    evidence = tuple(Evidence(route, 1, 1.0, 1.0, 1.0 - place / 10, "") for place, route in enumerate(routes))
    return replace(of(1), evidence=evidence, passage=PassageMatch(1.0, 0, 1, 0, 10, words))


def word(asked: str, said: str, similarity: float, start: int = 0) -> WordMatch:
    return WordMatch(asked, said, similarity, start, start + len(said))


@pytest.mark.parametrize(
    ("words", "routes", "reason"),
    [
        ((word("my", "My", 0.9), word("badge", "badge", 0.9), word("ID", "ID", 0.9)), ("dense",), "says “badge”, “ID”"),
        ((word("Freja", "Freja", 0.6),), ("late",), "says “Freja”"),
        ((word("eat", "food", 0.6), word("cat", "Miso", 0.55)), ("late",), "“food” is near “eat”"),
        ((word("time", "clock", 0.8),), ("late",), "“clock” is near “time”"),
        ((word("tell", "told", 0.8),), ("late",), "says “told”"),
        ((word("go", "goes", 0.6),), ("late",), "says “goes”"),
        ((word("cat", "category", 0.6),), ("late",), "“category” is near “cat”"),
        ((word("medicine", "I", 0.6),), ("late",), "is close in meaning"),
        ((word("eat", "food", 0.6),), ("late", "window"), "is from that time"),
        ((word("race", "race", 0.9),), ("late", "window"), "says “race”; is from that time"),
        ((word("eat", "user", 0.9, start=-1),), ("dense",), "is close in meaning"),
        (tuple(word(w, w, 0.9) for w in ("one", "two", "three", "four", "One")), (), "says “one”, “two”, “three”"),
        ((), ("lexical", "dense"), "has the same words"),
        ((), ("graph",), "is linked to a person or thing in the question"),
        ((), ("recency", "vec_full"), "is recent"),
        ((), ("vec_full",), "is close in meaning"),
        ((), (), "is close in meaning"),
    ],
)
def test_a_reason_says_what_brought_it(words: tuple[WordMatch, ...], routes: tuple[str, ...], reason: str) -> None:
    assert short_reason(candidate(*routes, words=words)) == reason


# Shortened text: one line, never longer than asked for.


@given(st.text(), st.integers(1, 50))
def test_a_line_is_no_longer_than_asked_for(text: str, length: int) -> None:
    assert len(shorten(text, length)) <= length


def test_a_cut_ends_with_an_ellipsis() -> None:
    assert shorten("one two\nthree", 100) == "one two three"
    assert shorten("one two three", 9) == "one two…"


# A name or a reason is one line of ours, whatever it contains.


@pytest.mark.parametrize("name", ["Ana", "Mary-Jane O'Neil", "assistant", "José", "张伟", "dr.smith@example.org"])
def test_a_usual_name_stays_as_it_is(name: str) -> None:
    assert shown_name(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ana (superseded by [1])", "“Ana (superseded by (1))”"),
        ("Ana · superseded by 7", "“Ana · superseded by 7”"),
        ("Ana: I agree", "“Ana: I agree”"),
        ('”, [2] Bob: "yes', "“', (2) Bob: 'yes”"),
    ],
)
def test_a_name_that_could_pose_as_our_words_is_a_quote(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@given(st.text())
def test_no_name_ends_its_quotation_or_has_the_number_of_a_source(name: str) -> None:
    shown = shown_name(name)
    assert "[" not in shown
    assert shown.count("“") == shown.count("”") <= 1
    assert len(shown.splitlines()) <= 1


@given(st.text(st.sampled_from("a \n\r\x0b\x0c\x1c\x85\u2028\u2029\t")))
def test_one_line_has_no_break(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


# What a notebook shows: bars by the figures, and text that stays text.


OURS = {"b", "bdi", "div", "pre", "span", "table", "tbody", "td", "th", "thead", "tr", "u"}


@pytest.fixture
def guests() -> Iterator[Engine]:
    with fivefold.open(":memory:", embedder=WordVectors()) as engine:
        texts = (
            *HOSTILE,
            "tea <script>alert(1)</script>",
            "tea <img src=x onerror=alert(1)>",
            "tea \" ' onclick=x &lt;",
        )
        engine.remember_many(
            {"content": text, "speaker": f"<b onload=x>{SPEAKER}", "event_at": "2025-01-01T00:00:00Z"} for text in texts
        )
        yield engine


def test_text_stays_text_in_all_of_them(guests: Engine) -> None:
    question = "tea <script>alert(1)</script>"
    assert len(guests.recall(question, k=20, recipe="lexical", now=NOW)) == 20
    for value in (
        guests.recall(question, k=20, recipe="lexical", now=NOW),
        guests.context(question, k=20, token_budget=9_000, recipe="lexical", now=NOW),
        guests.plan(question, recipe="lexical", now=NOW),
        guests.context(question, token_budget=5, recipe="lexical", now=NOW),
    ):
        shown = value._repr_html_()
        assert set(re.findall(r"<(\w+)", shown)) <= OURS
        assert re.findall(r"<[^>]*\bon\w+=", shown) == []
        assert not [c for c in shown if not c.isprintable() and c not in "\n\t\u200d"]
        assert shown.count("<bdi>") == shown.count("</bdi>") > 0


def test_bars_are_as_long_as_the_figures_say(guests: Engine) -> None:
    answer = guests.recall("tea", k=3, now=NOW)
    shown = answer._repr_html_()
    widths = [
        (html.unescape(name), float(width))
        for name, width in re.findall(r'title="([^"]+)" style="[^"]*width:([\d.]+)em', shown)
    ]
    best = max(hit.candidate.fused for hit in answer)
    expected = []
    for hit in answer:
        expected += [] if hit.chance is None else [(f"{min(99, round(100 * hit.chance))} %", round(4 * hit.chance, 2))]
        expected += [
            (f"{item.route} #{item.rank}: {item.contribution:.3f}", round(12 * item.contribution / best, 2))
            for item in hit.candidate.evidence
        ]
    assert [name for name, _ in widths] == [name for name, _ in expected]
    assert [width for _, width in widths] == pytest.approx([width for _, width in expected], abs=0.011)


def test_D10_a_composite_intent_and_weights_are_in_percent_in_their_colours(sample_engine: Engine) -> None:
    answer = sample_engine.recall("How do I take my coffee these days?", k=2, recipe="ditto", now="2025-12-20T09:00:00")
    weights = answer.query.weights
    assert weights is not None
    shown = html.unescape(answer._repr_html_())
    assert f"intent {weights.intent} · {weights.describe()}" in shown
    assert all(f"{100 * hit.score:.1f} %" in shown for hit in answer)
    bars = re.findall(r'title="(\w+) #\d+: [\d.]+" style="[^"]*background:(#\w+)"', shown)
    assert set(bars) == {("similarity", "#2f6fed"), ("recency", "#d97706"), ("frequency", "#0f9b74")}
    assert f"#1  {100 * answer[0].score:.1f} %  " in answer.explain()
    assert answer[0].explain().startswith(f"#1  {100 * answer[0].score:.1f} %  ")


def test_a_block_shows_what_it_takes_and_what_was_left_out(guests: Engine) -> None:
    block = guests.context("tea", k=20, token_budget=200, recipe="lexical", now=NOW)
    shown = html.unescape(block._repr_html_())
    assert f"{block.tokens} of 200 tokens, {len(block.sources)} sources; " in shown
    assert f"{block.cut[0].count} left out: {block.cut[0].why}" in shown
    assert f"width:{12 * block.tokens / 200:.2f}em" in shown


def test_parts_are_escaped_unless_they_are_html() -> None:
    assert html_text("<i>\u202e") == "<bdi>&lt;i&gt;·</bdi>"
    assert html_text(Html("<i>")) == "<i>"
    assert "<bdi>&lt;x&gt;</bdi>" in html_table(["<x>"], [["<y>", Html("<u>z</u>")]])
    assert 'title="&quot;&gt;"' in html_bar([Part('">', 2.0)])
    assert "width:12.00em" in html_bar([Part("more than all", 2.0)])


# How weights are described: shares in percent, the correction from use, the intent (D10).


ASKED = Query("what's new?", datetime(2025, 6, 1, tzinfo=UTC), ())
RECENT = Weights(0.19, 0.72, 0.09, "model m1", intent="temporal")


def test_D10_weights_are_shown_in_percent() -> None:
    assert RECENT.describe() == "similarity 19%, recency 72%, frequency 9% (model m1)"


def test_D10_the_weights_before_the_correction_are_shown_too() -> None:
    corrected = replace(RECENT, before=(0.3, 0.6, 0.1))
    assert "frequency 9%, before use corrected them 30%, 60%, 10% (model m1)" in corrected.describe()


def test_D10_the_intent_shown_is_the_predicted_one() -> None:
    assert ASKED.shown_intent == "what"
    assert replace(ASKED, weights=Weights(0.6, 0.25, 0.15, "fallback: no model")).shown_intent == "what"
    assert replace(ASKED, weights=RECENT).describe() == ["  asked 2025-06-01 00:00 UTC, intent temporal"]
