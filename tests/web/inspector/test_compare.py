"""Compare: two recipes side by side, the same memory joined, the weights at hand."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Page, expect

import fivefold
from tests.support.web_server import Served
from tests.web.inspector.conftest import WatchedPage
from tests.web.inspector.test_ask import address

RACES = "List every race I ran this year, please."


def ids(page: Page, side: str) -> list[str]:
    return [card.get_attribute("data-id") or "" for card in page.locator(f".column-{side} [data-id]").all()]


def test_the_same_memory_is_joined_from_side_to_side(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, left="lexical", right="recall", k=6))
    left, right = ids(browser_page, "left"), ids(browser_page, "right")
    both = set(left) & set(right)
    assert both
    assert set(left) != set(right)
    lines = browser_page.locator(".joins path")
    expect(lines).to_have_count(len(both))
    expect(browser_page.locator(".pair.unmatched")).to_have_count(len(left) + len(right) - 2 * len(both))
    last = next(id for id in reversed(left) if id in both)
    browser_page.locator(f'.column-right [data-id="{last}"]').hover()
    expect(browser_page.locator(".joins path.highlight")).to_have_count(1)
    expect(lines.last).to_have_class("highlight")
    browser_page.locator("h1").hover(force=True)
    expect(browser_page.locator(".joins path.highlight")).to_have_count(0)
    before = lines.first.get_attribute("d")
    browser_page.set_viewport_size({"width": 900, "height": 800})
    expect(lines.first).not_to_have_attribute("d", before or "")
    browser_page.set_viewport_size({"width": 390, "height": 800})
    expect(lines).to_have_count(0)


def test_a_slider_weighs_anew_and_the_address_follows(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, left="recall", right="recall", k=8))
    before = ids(browser_page, "left")
    assert before == ids(browser_page, "right")
    slider = browser_page.get_by_role("slider", name="lexical").first
    slider.focus()
    slider.press("Home")
    expect(browser_page.locator(".column-left .badge", has_text="weights changed")).to_be_visible()
    expect(browser_page).to_have_url(re.compile("lexical.weight"))
    state = parse_qs(urlsplit(browser_page.url).query)
    assert state["l.routes.lexical.weight"] == ["0.0"]
    assert not [name for name in state if name.startswith("r.")], "only what was changed is in the address"
    after = ids(browser_page, "left")
    assert after != before
    assert ids(browser_page, "right") == before
    expect(slider).to_be_focused()
    browser_page.reload()
    assert ids(browser_page, "left") == after
    expect(browser_page.get_by_role("slider", name="lexical").first).to_have_value("0")
    browser_page.get_by_role("link", name="Back to the weights of the recipes").click()
    expect(browser_page.locator(".column-left .badge", has_text="weights changed")).to_have_count(0)
    assert ids(browser_page, "left") == before


def test_predicted_weights_can_be_taken_over(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, left="lexical", right="ditto", k=3))
    recency = browser_page.get_by_role("slider", name="recency")
    expect(recency).to_be_disabled()
    expect(browser_page.get_by_text("The weights are predicted from the question.")).to_be_visible()
    browser_page.get_by_label("Set the weights by hand").check()
    expect(recency).to_be_enabled()
    browser_page.get_by_role("slider", name="similarity").press("Home")
    expect(browser_page.locator(".column-right .badge", has_text="weights changed")).to_be_visible()
    expect(browser_page).to_have_url(re.compile(r"r\.fusion\.weights=fixed&r\.routes\.similarity\.weight=0\.0"))


def test_choosing_a_recipe_brings_its_own_weights(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, left="recall", right="lexical", k=3))
    browser_page.get_by_label("Left recipe").select_option("engram")
    expect(browser_page.get_by_role("slider", name="associative")).to_be_visible()
    expect(browser_page.locator(".column-left h2")).to_contain_text("engram")
    expect(browser_page).to_have_url(re.compile("left=engram"))


def test_without_scripts_ranks_are_told_in_words(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.url, java_script_enabled=False)
    with WatchedPage(context, served.url) as page:
        page.goto(address("compare", RACES, left="lexical", right="recall", k=6))
        left, right = ids(page, "left"), ids(page, "right")
        for id in left:
            badge = page.locator(f'.column-left [data-id="{id}"] .badge').inner_text()
            rank = right.index(id) + 1 if id in right else 0
            same = rank == left.index(id) + 1
            assert badge == ("only here" if not rank else "same rank" if same else f"#{rank} on the other side")
        page.locator(".options > summary").click()
        page.get_by_label("Memories").fill("2")
        page.get_by_role("button", name="Compare").click()
        assert len(ids(page, "left")) == 2


def test_a_weight_the_namespace_has_set_is_not_offered(served: Served) -> None:
    with fivefold.open(served.path, namespace="weighed") as mem:
        mem.remember("The gate sticks in wet weather.")
        mem.configure(lexical_weight=0.25)
    text = served.client.get("/compare?namespace=weighed&q=gate&left=recall&right=lexical").text
    assert "The weight of lexical is a setting of the namespace." in text
    sliders = re.findall(r'name="l\.routes\.lexical\.weight"[^>]*value="([\d.]+)"( disabled)?', text)
    assert sliders == [("0.25", " disabled")]


def test_a_weight_that_is_none_is_told(served: Served) -> None:
    answer = served.client.get("/compare", params={"q": RACES, "left": "recall", "l.routes.lexical.weight": "heavy"})
    assert answer.status_code == 422
    assert "routes.lexical.weight is a number" in answer.text
    assert served.client.get("/compare", params={"q": RACES, "left": "../x"}).status_code == 422
