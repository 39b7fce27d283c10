"""Graph: a picture to click through, a list that says the same, and names put right."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

from fivefold.web.inspector.drawing import Frame, placed
from tests.support.web_server import Served

OWN = "graph-changed"

boxes = st.lists(st.tuples(st.floats(14, 150), st.floats(30, 60)), min_size=1, max_size=20)


def entity(served: Served, name: str, namespace: str = "default") -> int:
    (found,) = served.client.get(f"/v1/namespaces/{namespace}/entities", params={"name": name}).json()["items"]
    return int(found["id"])


@settings(max_examples=25, deadline=None)
@given(boxes, st.data(), st.booleans())
def test_names_do_not_overlap_and_stay_inside(
    sizes: list[tuple[float, float]], data: st.DataObject, middle: bool
) -> None:
    ends = st.integers(0, len(sizes) - 1)
    ties = data.draw(st.lists(st.tuples(ends, ends), max_size=40))
    frame = Frame(860, 560, 20)
    places = placed(sizes, ties, frame, middle)
    assert np.array_equal(places, placed(sizes, ties, frame, middle)), "drawn the same way again"
    half = np.array(sizes) / 2
    assert (places - half >= 0).all()
    assert (places + half <= (860, 560)).all()
    if middle:
        assert places[0].tolist() == [430, 280]
    apart = np.abs(places[:, None] - places[None, :]) - half[:, None] - half[None, :]
    covered = np.asarray((apart < 0).all(axis=2))
    np.fill_diagonal(covered, False)
    assert not covered.any()


def test_one_clicks_through_the_picture(browser_page: Page) -> None:
    browser_page.goto("/graph")
    browser_page.locator("svg.broad").get_by_role("link", name="Sarah Chen").click()
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Sarah Chen")
    expect(browser_page).to_have_url(re.compile(r"/graph\?entity=\d+$"))
    expect(browser_page.locator("svg.broad .labels")).to_contain_text("reports to")
    spot = browser_page.locator("svg.broad").get_by_role("link", name="Tom Okafor")
    spot.focus()
    browser_page.keyboard.press("Enter")
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Tom Okafor")
    expect(browser_page.locator("[data-card]").first).to_contain_text("Tom")


TOUCHING = """size => {
  const boxes = (selector) => [...document.querySelectorAll(`svg.${size} ${selector}`)].map((one) =>
    [one.textContent || "disc", one.getBoundingClientRect()]);
  const labels = boxes(".labels text"), spots = [...boxes(".spot circle"), ...boxes(".spot text")];
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return labels.flatMap(([label, box], place) => [...spots, ...labels.slice(place + 1)]
    .filter(([, other]) => meet(box, other)).map(([name]) => `${label} on ${name}`));
}"""


def test_the_name_of_a_relation_touches_nothing(browser_page: Page, served: Served) -> None:
    """In the pictures of the sample that are crowded by stated relations, on a desk and on a phone."""
    shown, stated = 0, 0
    for path in ("/graph", f"/graph?entity={entity(served, 'user')}"):
        browser_page.goto(path)
        for size, wide in (("broad", 1280), ("slim", 390)):
            browser_page.set_viewport_size({"width": wide, "height": 900})
            expect(browser_page.locator(f"svg.{size}")).to_be_visible()
            assert browser_page.evaluate(TOUCHING, size) == [], path
            shown += browser_page.locator(f"svg.{size} .labels text").count()
            stated += browser_page.locator(f"svg.{size} line.stated").count()
    assert stated >= shown > 0.8 * stated > 10, "most have room"


def test_the_list_says_what_the_picture_shows(browser_page: Page) -> None:
    browser_page.goto("/graph")
    lines, rows = browser_page.locator("svg.broad line.tie"), browser_page.locator("main table tbody tr")
    assert lines.count() == rows.count() > 20
    names = set(browser_page.locator("svg.broad a.spot text").all_text_contents())
    cells = rows.locator("td:first-child, td:nth-child(3)").all_inner_texts()
    assert {cell.strip() for cell in cells} == names
    assert len(names) <= 20, "a crowded graph stays readable"


def test_who_has_many_neighbours_keeps_a_readable_picture(browser_page: Page, served: Served) -> None:
    browser_page.goto(f"/graph?entity={entity(served, 'Daniel')}")
    spots, rows = browser_page.locator("svg.broad a.spot"), browser_page.locator("main table tbody tr")
    assert (spots.count(), browser_page.locator("svg.slim a.spot").count()) == (20, 9)
    cells = rows.locator("td:first-child, td:nth-child(3)").all_inner_texts()
    neighbours = {cell.strip() for cell in cells} - {"Daniel"}
    expect(browser_page.locator("p.broad")).to_have_text(
        f"{len(neighbours) - 19} more are not drawn; the list below has them."
    )
    browser_page.set_viewport_size({"width": 390, "height": 844})
    expect(browser_page.locator("svg.slim")).to_be_visible()
    expect(browser_page.locator("svg.broad")).to_be_hidden()


def test_what_has_ended_is_dashed(browser_page: Page, served: Served) -> None:
    browser_page.goto(f"/graph?entity={entity(served, 'Priya Raman')}")
    ended = browser_page.locator("svg.broad line.ended")
    assert ended.count() == 1
    assert ended.evaluate("line => getComputedStyle(line).strokeDasharray") == "5px, 4px"
    row = browser_page.locator("main table tr", has_text="ended")
    expect(row).to_contain_text("leads")
    expect(row).to_contain_text("4 Nov 2025")


def test_a_name_leads_to_its_entity(browser_page: Page) -> None:
    browser_page.goto("/graph")
    browser_page.get_by_label("Name or alias").fill("kestrel")
    browser_page.keyboard.press("Enter")
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Project Kestrel")
    browser_page.get_by_label("Name or alias").fill("nobody at all")
    browser_page.keyboard.press("Enter")
    expect(browser_page.get_by_text("Nobody and nothing of this namespace is known as")).to_be_visible()


def test_an_entity_is_put_right(browser_page: Page, served: Served) -> None:
    for text in ("Jonas Weber met Elin Lund in Malmö", "Yesterday J. Weber wrote from Malmö"):
        served.client.post(f"/v1/namespaces/{OWN}/memories", json={"content": text})
    key = entity(served, "Jonas Weber", OWN)
    browser_page.goto(f"/graph?namespace={OWN}&entity={key}")
    browser_page.get_by_text("Rename, add an alias, merge").click()
    browser_page.get_by_label("Name", exact=True).fill("Jonas Weber-Lund")
    browser_page.get_by_role("button", name="Rename").click()
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Jonas Weber-Lund")
    browser_page.get_by_text("Rename, add an alias, merge").click()
    browser_page.get_by_label("One more alias").fill("JWL")
    browser_page.get_by_role("button", name="Add").click()
    expect(browser_page.locator(".notice-good")).to_contain_text("alias")
    browser_page.get_by_text("Rename, add an alias, merge").click()
    browser_page.get_by_label("The same as").fill("someone else")
    browser_page.get_by_role("button", name="Merge").click()
    expect(browser_page.get_by_role("alert")).to_contain_text("has no entity 'someone else'")
    expect(browser_page.get_by_label("The same as")).to_have_value("someone else")
    browser_page.get_by_label("The same as").fill("Elin Lund")
    browser_page.get_by_role("button", name="Merge").click()
    expect(browser_page.locator(".notice-good")).to_contain_text("one now")
    known = served.client.get(f"/v1/namespaces/{OWN}/entities/{key}").json()
    assert known["name"] == "Jonas Weber-Lund"
    assert {"jwl", "jonas weber", "elin lund"} <= set(known["aliases"])


def test_an_unknown_entity_is_told(served: Served) -> None:
    assert served.client.get("/graph?entity=999999999", headers={"Accept": "text/html"}).status_code == 404
    assert served.client.get("/graph?cursor=nonsense").status_code == 422
    assert served.client.post("/graph/merge?entity=1", data={"name": "9" * 5_000}).status_code == 422
