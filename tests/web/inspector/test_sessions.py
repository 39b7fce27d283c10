"""Sessions: along time, as a talk, and forgotten as a whole."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

from fivefold.values.memory import Session
from fivefold.web.inspector.sessions import NARROW, PAGE_TURNS, WIDE, Strip, make_timeline
from tests.support.web_server import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OWN = "sessions-changed"
FIRST, NEAR = datetime(2025, 1, 6, 8), timedelta(days=2)


def test_every_session_has_a_bar_that_leads_to_it(browser_page: Page, served: Served) -> None:
    known = served.client.get("/v1/namespaces/default/sessions", params={"limit": 100}).json()["items"]
    browser_page.goto("/sessions")
    bars = browser_page.locator("svg.wide-only a")
    assert bars.count() == len(known) == 39
    assert browser_page.locator("a.session-row .which").all_inner_texts() == [item["id"] for item in known]
    heights = bars.locator(".session-bar").evaluate_all("all => all.map(bar => Number(bar.getAttribute('height')))")
    turns = [item["turns"] for item in reversed(known)]
    assert heights.index(max(heights)) == turns.index(max(turns))
    bars.first.focus()
    browser_page.keyboard.press("Enter")
    expect(browser_page).to_have_url(re.compile("/sessions/s01$"))


def test_a_session_is_read_as_a_talk(browser_page: Page) -> None:
    browser_page.goto("/sessions/s01")
    turns = browser_page.locator(".turn")
    assert turns.count() == 9
    expect(turns.first).to_contain_text("Morning. First day back")
    assert [turn.get_attribute("class") or "" for turn in turns.all()][1] == "turn side-1", (
        "answers from the other side"
    )
    expect(browser_page.locator("#turn-4")).to_contain_text("superseded")
    browser_page.keyboard.press("j")
    browser_page.keyboard.press("j")
    expect(turns.nth(1)).to_be_focused()
    turns.nth(2).get_by_role("link").first.click()
    expect(browser_page).to_have_url(re.compile(r"/memories/s01\.03$"))


RECAP = "sessions-recap"


def test_a_session_shows_its_recap_and_each_line_leads_to_its_turn(browser_page: Page, served: Served) -> None:
    said = [
        ("user", "Shall we take the blue or the green tiles for the kitchen?"),
        ("user", "We decided on the green tiles from Halvorsen."),
        ("user", "I'll call the tiler on Friday."),
        ("user", "The kitchen is 14 square metres."),
    ]
    lines = [{"content": text, "speaker": who, "session_id": "tiles"} for who, text in said]
    served.client.post(f"/v1/namespaces/{RECAP}/memories/batch", json={"records": lines})
    browser_page.goto(f"/sessions/tiles?namespace={RECAP}")
    recap = browser_page.get_by_role("region", name="Recap")
    expect(recap.get_by_role("heading", level=3)).to_contain_text(["Decided", "Promised", "Open questions"])
    recap.get_by_role("link", name="turn 3").click()
    expect(browser_page).to_have_url(re.compile("#turn-2$"))
    line = recap.get_by_role("listitem").filter(has_text="green tiles from")
    line.locator("summary").click()
    line.get_by_role("textbox").fill("We decided on the grey tiles from Halvorsen.")
    line.get_by_role("button", name="Correct").click()
    expect(browser_page).to_have_url(re.compile("/sessions/tiles"))
    expect(browser_page.locator(".notice-good")).to_contain_text("corrected")
    expect(browser_page.get_by_role("button", name="Undo")).to_be_visible()
    browser_page.get_by_role("button", name="Undo").click()
    expect(recap).to_contain_text("green tiles from")


def test_a_long_session_comes_in_parts(served: Served) -> None:
    lines = [{"content": f"This is line {number}", "session_id": "long"} for number in range(PAGE_TURNS + 3)]
    assert served.client.post(f"/v1/namespaces/{OWN}/memories/batch", json={"records": lines}).status_code == 201
    first = served.client.get(f"/sessions/long?namespace={OWN}").text
    assert "This is line 199<" in first
    assert "This is line 200<" not in first
    assert f"from={PAGE_TURNS + 1}" in first
    rest = served.client.get(f"/sessions/long?namespace={OWN}&from={PAGE_TURNS + 1}").text
    assert "This is line 202<" in rest
    assert "This is line 199<" not in rest


def test_a_session_is_forgotten_once_confirmed(browser_page: Page, served: Served) -> None:
    for text in ("The gate code is 4711", "I will not tell"):
        served.client.post(f"/v1/namespaces/{OWN}/memories", json={"content": text, "session_id": "a/b"})
    browser_page.goto(f"/sessions/a%2Fb?namespace={OWN}")
    browser_page.get_by_role("link", name="Forget …").click()
    browser_page.get_by_role("button", name="Forget 2 turns").click()
    expect(browser_page.locator(".notice-good")).to_contain_text("The session is deleted")
    assert served.client.get(f"/v1/namespaces/{OWN}/sessions/a%2Fb").status_code == 404


moments = st.datetimes(timezones=st.just(UTC)) | st.datetimes(FIRST, FIRST + NEAR, timezones=st.just(UTC))


@settings(deadline=None)
@given(st.lists(st.tuples(moments, st.integers(1, 500)), min_size=1, max_size=60), st.sampled_from([WIDE, NARROW]))
def test_bars_stand_in_order_within_the_strip(starts: list[tuple[datetime, int]], strip: Strip) -> None:
    sessions = [Session(f"s{place:03}", at, at, turns, None) for place, (at, turns) in enumerate(starts)]
    timeline = make_timeline(sessions, strip)
    ordered = sorted(sessions, key=lambda item: (item.started_at, item.id))
    assert [bar.session for bar in timeline.bars] == ordered
    places = [bar.x for bar in timeline.bars]
    assert places == sorted(places)
    assert len(set(places)) == len(places), "each can be clicked"
    assert places[0] >= 0
    assert places[-1] <= strip.width - strip.bar
    assert all(bar.y >= 0 and 0 < bar.height <= strip.height for bar in timeline.bars)
    assert all(0 <= tick.x <= strip.width for tick in timeline.ticks)
