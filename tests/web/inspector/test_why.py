"""Why: the trace of one recall, from the question to what was left out."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.web_server import Served
from tests.web.inspector.test_ask import address

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SHOWN_BOXES = """
all => all.filter(each => each.checkVisibility()).map(each => each.getBoundingClientRect())
          .map(box => [box.left, box.right])
"""

BERLIN = "What did I tell Sarah about the Berlin office last week?"


def test_the_question_is_marked_with_what_was_read_out_of_it(browser_page: Page) -> None:
    browser_page.goto(address("why", BERLIN, recipe="recall"))
    marked = browser_page.locator(".readings")
    assert marked.locator("mark.mark-entity").all_inner_texts() == ["SarahSarah Chen", "BerlinBerlin"]
    expect(marked.locator("mark.mark-window")).to_have_text("last week2025-12-13…2025-12-20")
    expect(marked.locator("mark.mark-cue")).to_have_text("did Itype: event")
    plain = marked.evaluate("p => { p.querySelectorAll('small').forEach(s => s.remove()); return p.textContent }")
    assert plain.strip() == BERLIN, "marks take nothing away"
    browser_page.get_by_role("link", name="Sarah Chen").click()
    expect(browser_page).to_have_url(re.compile(r"/graph\?entity=\d+"))


def test_skipped_routes_are_shown_with_the_reason(browser_page: Page) -> None:
    browser_page.goto(address("why", "how to make bread", recipe="recall"))
    row = browser_page.get_by_role("row").filter(has_text="graph")
    expect(row).to_contain_text("skipped")
    expect(row).to_contain_text("the question names no known entity")


def test_a_phone_keeps_the_reasons(browser_page: Page) -> None:
    """Nothing has to be scrolled sideways to see why a route ran, or why a memory came or was dropped."""
    browser_page.set_viewport_size({"width": 390, "height": 844})
    browser_page.goto(address("why", BERLIN, k=2))
    browser_page.locator("section", has_text="Dropped candidates").locator("summary").click()
    plan = browser_page.get_by_role("table", name="The plan")
    for reasons in (plan.locator(".how"), browser_page.locator("summary .reason"), browser_page.locator("main .how")):
        boxes = reasons.evaluate_all(SHOWN_BOXES)
        assert len(boxes) >= 2
        for left, right in boxes:
            assert left >= 0
            assert right <= 390
            assert right - left > 100, "it has room"
    expect(plan.get_by_text("the question asks for no turns of a conversation")).to_be_visible()
    assert browser_page.evaluate("document.querySelectorAll('.scrolls').length") == 0


def test_predicted_weights_are_shown_in_percent(browser_page: Page) -> None:
    browser_page.goto(address("why", BERLIN, recipe="ditto"))
    section = browser_page.locator("section", has_text="Weights for this question")
    percents = [int(re.sub(r"\D", "", text)) for text in section.locator("dd.number").all_inner_texts()]
    assert len(percents) == 3
    assert sum(percents) == 100
    expect(browser_page.get_by_text(re.compile("intent (semantic|temporal|frequency|mixed)"))).to_be_visible()


def test_times_and_what_was_left_out_are_told(browser_page: Page) -> None:
    browser_page.goto(address("why", BERLIN, recipe="recall", k=3))
    names = browser_page.locator(".waterfall dt").all_inner_texts()
    assert names == [
        "understand",
        "plan",
        "encode",
        "retrieve",
        "dense",
        "lexical",
        "graph",
        "temporal",
        "fuse",
        "boost",
        "rerank",
        "select",
    ]
    section = browser_page.locator("section", has_text="Dropped candidates")
    left_out = int(re.findall(r"(\d+) candidates", section.inner_text())[0])
    section.get_by_text("Show", exact=False).click()
    expect(section.get_by_text(re.compile(r"rank 4 of \d+, beyond the 3 asked for"))).to_be_visible()
    expect(section.locator("tbody tr")).to_have_count(left_out)


def test_noise_is_left_out_so_that_it_can_be_repeated(served: Served) -> None:
    pages = [served.client.get(address("why", BERLIN, recipe="engram")).text for _ in range(2)]
    scores = [re.findall(r'<td class="number">(−?\d\.\d{4})</td>', text) for text in pages]
    assert scores[0]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("view", ["ask", "why"])
def test_what_the_question_demands_is_shown(served: Served, view: str) -> None:
    text = served.client.get(address(view, "Who is my managr these days?")).text
    assert "what holds now" in text
    assert "Who is my manager these days?" in text
