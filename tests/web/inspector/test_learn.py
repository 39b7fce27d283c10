"""Learn: thumbs reach the engine, and the page shows what it learned from them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

import fivefold
from fivefold.learning.adaptation import MAX_OFFSET_SPREAD, Adaptation
from fivefold.web.inspector.learn import make_shifts
from tests.support.web_server import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OWN = "learn-changed"


def feedback(served: Served) -> dict[str, tuple[set[str], set[str]]]:
    """By recall what was said to be of use, and of none. The server writes its log when it is asked for figures."""
    assert served.client.get(f"/v1/namespaces/{OWN}/stats").json()["feedback"] == 1
    with fivefold.open(served.path, namespace=OWN) as engine:
        return {
            item.recall: (set(item.used), set(item.refused)) for item in engine.store.reader(OWN).feedback.latest(10)
        }


def test_thumbs_become_feedback_and_the_last_counts(browser_page: Page, served: Served) -> None:
    texts = ("The shed key hangs behind the door", "The shed needs a new roof", "The spare key is with Vera")
    records = [{"content": text, "id": f"m{place}"} for place, text in enumerate(texts)]
    served.client.post(f"/v1/namespaces/{OWN}/memories/batch", json={"records": records})
    browser_page.goto(f"/ask?namespace={OWN}&q=where+is+the+shed+key")
    cards = browser_page.locator("[data-card]")
    first = cards.first.locator("a.id").first.text_content()  # the id is folded away, with all that explains the card
    with browser_page.expect_response("**/learn/thumb*"):
        cards.first.get_by_role("button", name="This memory helped").click()
    expect(cards.first.get_by_role("button", name="This memory helped")).to_have_attribute("aria-pressed", "true")
    ((used, refused),) = feedback(served).values()
    assert (used, refused) == ({first}, set())
    with browser_page.expect_response("**/learn/thumb*"):
        cards.first.get_by_role("button", name="This memory did not help").click()
    expect(cards.first.get_by_role("button", name="This memory did not help")).to_have_attribute("aria-pressed", "true")
    ((used, refused),) = feedback(served).values()
    assert (used, refused) == (set(), {first})
    browser_page.goto(f"/learn?namespace={OWN}")
    expect(browser_page.locator(".tiles")).to_contain_text("1 with feedback")
    expect(browser_page.get_by_text("1 of 50", exact=True)).to_be_visible()


def test_without_scripts_a_thumb_leads_back(served: Served) -> None:
    space = f"{OWN}-plainly"
    served.client.post(f"/v1/namespaces/{space}/memories", json={"content": "My badge ID is E-47821"})
    recall = served.client.post(f"/v1/namespaces/{space}/recall", json={"question": "what is my badge ID?"}).json()
    form = {"recall": recall["id"], "memory": recall["hits"][0]["memory"]["id"], "thumb": "up"}
    place = f"/learn/thumb?namespace={space}"
    answer = served.client.post(place, data={**form, "back": "/ask?q=x"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ask?q=x")
    away = served.client.post(place, data={**form, "back": "https://example.org/"})
    assert away.headers["location"] == "/ask", "nobody is sent elsewhere"
    unknown = {**form, "recall": "unheard-of"}
    assert served.client.post(place, data=unknown, headers={"Accept": "text/html"}).status_code == 404
    fragment = served.client.post(place, data=unknown, headers={"HX-Request": "true"})
    assert "has no recall" in fragment.text
    assert 'aria-pressed="true"' not in fragment.text
    assert served.client.post(place, data={**form, "thumb": "sideways"}).status_code == 422


def test_what_was_learned_is_trained_shown_and_forgotten(browser_page: Page, served: Served) -> None:
    space = f"{OWN}-trained"
    served.client.post(f"/v1/namespaces/{space}/memories", json={"content": "The shed key hangs behind the door"})
    browser_page.goto(f"/learn?namespace={space}")
    expect(browser_page.get_by_text("nothing was trained yet")).to_be_visible()
    browser_page.get_by_role("button", name="Train now").click()
    expect(browser_page.locator(".notice[role=status]")).to_have_text("The reranker stays off; the reason is below.")
    expect(browser_page.locator(".notice-good")).to_have_count(0)
    expect(browser_page.get_by_text("0 of the 50 recalls")).to_be_visible()
    browser_page.get_by_text("Start over").click()
    browser_page.get_by_role("button", name="Delete what was learned").click()
    expect(browser_page.get_by_text("nothing was trained yet")).to_be_visible()


def test_the_shift_is_what_the_weights_are_multiplied_by() -> None:
    shifts = make_shifts(Adaptation((MAX_OFFSET_SPREAD / 2, 0.0, -MAX_OFFSET_SPREAD / 2), gain=4.0, count=9))
    assert [round(item.factor, 3) for item in shifts] == [1.732, 1.0, 0.577]
    assert [round(item.share, 3) for item in shifts] == [0.5, 0.0, -0.5]
    assert [item.factor for item in make_shifts(Adaptation((0.3, 0.0, -0.3), gain=0.0, count=2))] == [1, 1, 1], (
        "not trusted"
    )
