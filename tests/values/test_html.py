"""What a notebook shows: bars by the figures, and text that stays text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest

import fivefold
from fivefold.engine import Engine
from fivefold.values.html_parts import Html, Part, html_bar, html_table, html_text
from tests.conformance.store_pair import NOW
from tests.conformance.vectors import WordVectors
from tests.support.hostile import HOSTILE, SPEAKER

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
