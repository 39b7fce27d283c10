"""Compare: recipes side by side, the same memory joined, the weights at hand."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import fivefold
from fivefold.engine import Engine
from fivefold.values.recall_trace import Evidence
from fivefold.web.inspector.compare import RECIPES
from fivefold.web.inspector.question import Card, make_cards, score_parts
from tests.support.term_columns import talk
from tests.support.web_server import Served
from tests.web.inspector.conftest import WatchedPage
from tests.web.inspector.test_ask import NOW, address

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RACES = "List every race I ran this year, please."


def column(page: Page, number: int) -> Locator:
    return page.locator(".column").nth(number - 1)


def ids(page: Page, number: int) -> list[str]:
    found: list[str] = column(page, number).locator("[data-id]").evaluate_all("all => all.map(card => card.dataset.id)")
    return found


def open_weights(page: Page, number: int) -> Locator:
    side = page.locator(".side").nth(number - 1)
    side.locator("summary").click()
    return side


@pytest.mark.parametrize("wide", [1280, 390])
def test_N2_six_recipes_stand_side_by_side_on_one_page(browser_page: Page, wide: int) -> None:
    browser_page.set_viewport_size({"width": wide, "height": 900})
    browser_page.goto(address("compare", RACES, k=2))
    expect(browser_page.locator(".column h2")).to_have_text([re.compile(name) for name in RECIPES])
    boxes = [box for part in browser_page.locator(".column").all() if (box := part.bounding_box())]
    assert len({round(box["y"]) for box in boxes}) == 1, "they stand beside each other"
    assert all(one["x"] + one["width"] < two["x"] for one, two in pairwise(boxes))
    assert (boxes[-1]["x"] + boxes[-1]["width"] <= wide) == (wide == 1280), "a phone scrolls sideways, a desk need not"
    assert browser_page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_N2_recipes_are_added_and_left_out(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, recipes=["lexical", "recall"], k=2, **{"2.routes.lexical.weight": 0.5}))
    browser_page.locator(".options > summary").click()
    browser_page.get_by_label("One more recipe").select_option("dense")
    expect(browser_page.locator(".column h2")).to_have_text(
        [re.compile(name) for name in ("lexical", "recall", "dense")]
    )
    browser_page.get_by_label("Recipe 1").select_option(label="– leave out –")
    expect(browser_page.locator(".column h2")).to_have_text([re.compile(name) for name in ("recall.*changed", "dense")])
    assert parse_qs(urlsplit(browser_page.url).query)["1.routes.lexical.weight"] == ["0.5"], "its weights moved along"


@pytest.mark.parametrize("recipe", RECIPES)
def test_N2_equal_bars_are_equal_scores(sample_engine: Engine, recipe: str) -> None:
    """The bar has every step in it: what is drawn is as long as the score, whatever made it."""
    answer = sample_engine.recall(RACES, k=10, recipe=recipe, now=NOW)
    cards = make_cards(answer)
    least, best = min(0.0, *(hit.score for hit in answer)), max(0.0, *(hit.score for hit in answer))
    for card in cards:
        assert math.fsum(amount for _, amount in score_parts(card.hit.candidate)) == pytest.approx(card.hit.score)
        assert drawn(card) == pytest.approx(abs(card.hit.score) / (best - least))
        assert card.start == pytest.approx((min(card.hit.score, 0.0) - least) / (best - least))


def drawn(card: Card) -> float:
    return math.fsum(share for _, share in card.made_of)


def test_N2_a_bar_of_each_step_by_hand() -> None:
    """Decay makes what is there smaller, a cross-encoder and noise add a part, a score below 0 is a part by itself."""
    routes = tuple(Evidence(name, 1, 1.0, 1.0, part, "") for name, part in (("a", 0.2), ("b", 0.6)))
    decayed = replace(talk(1, score=0.8), evidence=routes).with_step("decay", 0.4, "× 0.5")
    read = decayed.with_step("rerank", 0.9, "read").with_step("noise", 1.0, "+ 0.1")
    names, amounts = zip(*score_parts(read), strict=True)
    assert names == ("a", "b", "rerank", "noise")
    assert amounts == pytest.approx((0.1, 0.3, 0.5, 0.1))
    assert score_parts(read.with_step("mmr", -0.2, "said before")) == [("mmr", -0.2)]


def test_N2_a_failed_recipe_leaves_the_others(served: Served) -> None:
    answer = served.client.get(address("compare", RACES, recipes=["lexical", "../x"], k=2))
    assert answer.status_code == 422
    assert "unknown recipe" in answer.text
    assert answer.text.count('class="card pair') == 2
    assert served.client.get(address("compare", RACES, recipes=["lexical"] * 25)).status_code == 422


def test_the_same_memory_is_joined_from_side_to_side(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, recipes=["lexical", "recall"], k=6))
    left, right = ids(browser_page, 1), ids(browser_page, 2)
    both = set(left) & set(right)
    assert both
    assert set(left) != set(right)
    lines = browser_page.locator(".joins path")
    expect(lines).to_have_count(len(both))
    expect(browser_page.locator(".pair.unmatched")).to_have_count(len(left) + len(right) - 2 * len(both))
    last = next(id for id in reversed(left) if id in both)
    column(browser_page, 2).locator(f'[data-id="{last}"]').hover()
    expect(browser_page.locator(".pair.highlight")).to_have_count(2)
    expect(browser_page.locator(".joins path.highlight")).to_have_count(1)
    expect(lines.last).to_have_class("highlight")
    browser_page.locator("h1").hover(force=True)
    expect(browser_page.locator(".joins path.highlight")).to_have_count(0)
    before = lines.first.get_attribute("d")
    browser_page.set_viewport_size({"width": 900, "height": 800})
    expect(lines.first).not_to_have_attribute("d", before or "")


def test_a_slider_weighs_anew_and_the_address_follows(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, recipes=["recall", "recall"], k=8))
    before = ids(browser_page, 1)
    assert before == ids(browser_page, 2)
    slider = open_weights(browser_page, 1).get_by_role("slider", name="lexical")
    slider.focus()
    slider.press("Home")
    expect(column(browser_page, 1).get_by_text("weights changed")).to_be_visible()
    expect(browser_page).to_have_url(re.compile("lexical.weight"))
    state = parse_qs(urlsplit(browser_page.url).query)
    assert state["1.routes.lexical.weight"] == ["0.0"]
    assert not [name for name in state if name.startswith("2.")], "only what was changed is in the address"
    after = ids(browser_page, 1)
    assert after != before
    assert ids(browser_page, 2) == before
    expect(slider).to_be_focused()
    browser_page.reload()
    assert ids(browser_page, 1) == after
    expect(browser_page.get_by_role("slider", name="lexical").first).to_have_value("0")
    browser_page.get_by_role("link", name="Back to the weights of the recipes").click()
    expect(browser_page.get_by_text("weights changed")).to_have_count(0)
    assert ids(browser_page, 1) == before


def test_predicted_weights_can_be_taken_over(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, recipes=["lexical", "ditto"], k=3))
    recency = open_weights(browser_page, 2).get_by_role("slider", name="recency")
    expect(recency).to_be_disabled()
    expect(browser_page.get_by_text("The weights are predicted from the question.")).to_be_visible()
    browser_page.get_by_label("Set the weights by hand").check()
    expect(browser_page).to_have_url(re.compile("fusion.weights=fixed"))
    expect(recency).to_be_enabled()
    browser_page.get_by_role("slider", name="similarity").press("Home")
    expect(column(browser_page, 2).get_by_text("weights changed")).to_be_visible()
    expect(browser_page).to_have_url(re.compile(r"2\.fusion\.weights=fixed&2\.routes\.similarity\.weight=0\.0"))


def test_choosing_a_recipe_brings_its_own_weights(browser_page: Page) -> None:
    browser_page.goto(address("compare", RACES, recipes=["recall", "lexical"], k=3))
    browser_page.get_by_label("Recipe 1").select_option("engram")
    expect(column(browser_page, 1).locator("h2")).to_contain_text("engram")
    expect(open_weights(browser_page, 1).get_by_role("slider", name="associative")).to_be_visible()
    expect(browser_page).to_have_url(re.compile(r"recipes=engram&recipes=lexical$"))


def test_without_scripts_ranks_are_told_in_words(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.url, java_script_enabled=False)
    with WatchedPage(context, served.url) as page:
        page.goto(address("compare", RACES, recipes=["lexical", "recall"], k=6))
        left, right = ids(page, 1), ids(page, 2)
        for id in left:
            card = column(page, 1).locator(f'[data-id="{id}"]')
            words = f"also recall #{right.index(id) + 1}" if id in right else "only here"
            expect(card).to_contain_text(words)
        page.locator(".options > summary").click()
        page.get_by_label("Memories").fill("2")
        page.get_by_role("button", name="Compare").click()
        assert len(ids(page, 1)) == 2


def test_a_weight_the_namespace_has_set_is_not_offered(served: Served) -> None:
    with fivefold.open(served.path, namespace="weighed") as mem:
        mem.remember("The gate sticks in wet weather.")
        mem.configure(lexical_weight=0.25)
    text = served.client.get("/compare?namespace=weighed&q=gate&recipes=recall&recipes=lexical").text
    assert "The weight of lexical is a setting of the namespace." in text
    sliders = re.findall(r'name="1\.routes\.lexical\.weight"[^>]*value="([\d.]+)"( disabled)?', text)
    assert sliders == [("0.25", " disabled")]


def test_a_weight_that_is_none_is_told(served: Served) -> None:
    answer = served.client.get("/compare", params={"q": RACES, "recipes": "recall", "1.routes.lexical.weight": "heavy"})
    assert answer.status_code == 422
    assert "routes.lexical.weight is a number" in answer.text
    assert served.client.get("/compare", params={"q": RACES, "recipes": "../x"}).status_code == 422
