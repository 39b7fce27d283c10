"""Every view passes axe, dark on a phone and light on a desk, and is never wider than its window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.support.web_server import Served
from tests.web.inspector.conftest import WatchedPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]

QUESTION = urlencode(
    {"q": "What did I tell Sarah about the Berlin office last week?", "now": "2025-12-22T09:00:00", "k": 3}
)
VIEWS = (
    f"/ask?{QUESTION}&recent=2",
    "/overview?day=2025-12-10&days=365&of=phone+number",
    f"/why?{QUESTION}&recipe=ditto",
    f"/compare?{QUESTION}",
    "/memories?q=coffee",
    "/memories?show=near-duplicates",
    "/memories?show=stale",
    "/memories/s13.01",
    "/memories/none",
    "/remember",
    "/sessions",
    "/sessions/s21",
    "/graph",
    "/graph?entity=1",
    "/live",
    "/learn",
    "/settings",
)
AXE = Axe()
PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 900}
CONTRAST = "axe.run(document, {runOnly: ['color-contrast'], resultTypes: ['violations']})"


@pytest.fixture(scope="module")
def axe_page(browser: Browser, served: Served) -> Iterator[Page]:
    with WatchedPage(browser.new_context(base_url=served.url, reduced_motion="reduce"), served.url) as page:
        yield page


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(axe_page: Page, view: str) -> None:
    """Every rule in the dark on a phone; then in the light on a desk what can differ there, colours and width."""
    page = axe_page
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    page.goto(view)
    page.evaluate("[...document.querySelectorAll('details')].slice(0, 2).forEach(part => { part.open = true })")
    dark = AXE.run(page, options={"resultTypes": ["violations"]}).response
    assert violations(dark) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESK)
    assert violations(page.evaluate(CONTRAST)) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"


def violations(result: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [
        (item["id"], [node["html"][:160] + " " + node["failureSummary"][:300] for node in item["nodes"][:3]])
        for item in result["violations"]
    ]


def test_the_theme_can_be_chosen_and_is_kept(browser_page: Page) -> None:
    browser_page.emulate_media(color_scheme="light")
    browser_page.goto("/ask")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser_page.evaluate(ground)
    browser_page.get_by_role("button", name="Colours: system").click()
    browser_page.get_by_role("button", name="Colours: light").click()
    dark = browser_page.evaluate(ground)
    assert dark != light
    browser_page.goto("/compare")
    assert browser_page.evaluate(ground) == dark
    browser_page.get_by_role("button", name="Colours: dark").click()
    assert browser_page.evaluate(ground) == light


def test_tabbing_shows_where_one_is_and_skips_to_the_content(browser_page: Page) -> None:
    browser_page.goto("/memories")
    browser_page.keyboard.press("Tab")
    skip = browser_page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    assert skip.evaluate("link => getComputedStyle(link).outlineStyle") == "solid"
    browser_page.keyboard.press("Enter")
    expect(browser_page.locator("main")).to_be_focused()


def test_single_keys_can_be_switched_off(browser_page: Page) -> None:
    browser_page.goto("/compare")
    browser_page.get_by_role("button", name="Keyboard").click()
    browser_page.get_by_label("Single keys are shortcuts").uncheck()
    browser_page.get_by_role("button", name="Close").click()
    browser_page.keyboard.press("/")
    expect(browser_page.locator("[data-question]")).not_to_be_focused()
