"""Graph: a picture that a script draws, a list of the same relations, and changes to entities."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from tests.support.web_server import Served
from tests.web.inspector.conftest import WatchedPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OWN = "graph-changed"
LAYOUT = """async ([boxes, links, centre]) => {
  const { layout } = await import(document.querySelector("script[type=module]").src);
  return [layout(boxes, links, 860, 560, centre), layout(boxes, links, 860, 560, centre)];
}"""

boxes = st.lists(st.tuples(st.floats(14, 150), st.floats(30, 60)), min_size=1, max_size=20)


def entity(served: Served, name: str, namespace: str = "default") -> int:
    (found,) = served.client.get(f"/v1/namespaces/{namespace}/entities", params={"name": name}).json()["items"]
    return int(found["id"])


@pytest.fixture
def graph_page(browser_page: Page) -> Page:
    browser_page.goto("/graph")
    return browser_page


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(boxes, st.data())
def test_names_do_not_overlap_and_stay_inside(
    graph_page: Page, sizes: list[tuple[float, float]], data: st.DataObject
) -> None:
    ends = st.integers(0, len(sizes) - 1)
    links = data.draw(st.lists(st.tuples(ends, ends, st.booleans()), max_size=40))
    centre = data.draw(st.sampled_from([-1, 0]))
    points, again = graph_page.evaluate(LAYOUT, [sizes, links, centre])
    assert points == again, "the same graph has the same layout"
    if centre == 0:
        assert points[0] == [430, 280], "the first is in the middle"
    sides = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(points, sizes, strict=True)]
    for place, (left, top, right, bottom) in enumerate(sides):
        assert left >= 0
        assert top >= 0
        assert right <= 860
        assert bottom <= 560
        for other in sides[:place]:
            assert not (left < other[2] and other[0] < right and top < other[3] and other[1] < bottom)


def test_the_user_is_in_the_middle_among_what_is_stated(graph_page: Page) -> None:
    middle = graph_page.locator("svg.graph .node", has=graph_page.locator("circle.kind-user"))
    expect(middle).to_contain_text("user")
    box, frame = middle.locator("circle").bounding_box(), graph_page.locator("svg.graph").bounding_box()
    assert box is not None
    assert frame is not None
    assert box["x"] + box["width"] / 2 == pytest.approx(frame["x"] + frame["width"] / 2, abs=12)
    assert box["y"] + box["height"] / 2 == pytest.approx(frame["y"] + frame["height"] / 2, abs=12)
    rows = graph_page.locator("[data-picture] tbody tr").all_inner_texts()
    stated = ["mentioned with" not in row for row in rows]
    assert stated == sorted(stated, reverse=True), "stated relations come first"
    assert sum("user" in row for row in rows) >= 7, "all that is stated of the user, each once"


def test_kinds_have_colours_and_a_click_filters(graph_page: Page) -> None:
    nodes, rows = graph_page.locator("svg.graph .node"), graph_page.locator("[data-picture] tbody tr:visible")
    for name, kind in (("Bristol", "place"), ("Halden", "organisation"), ("Elin", "person")):
        expect(nodes.filter(has_text=name).locator("circle")).to_have_class(f"kind-{kind}")
    fill = "kind => getComputedStyle(document.querySelector(`svg.graph .kind-${kind}`)).fill"
    kinds = [button.get_attribute("data-filter") for button in graph_page.locator("[data-filter]").all()]
    drawn = [kind for kind in kinds if kind not in ("stated", "ended", "shared")]
    assert len({graph_page.evaluate(fill, kind) for kind in drawn}) == len(drawn) >= 4
    before, listed = nodes.count(), rows.count()
    graph_page.get_by_role("button", name="place").click()
    expect(graph_page.get_by_role("button", name="place")).to_have_attribute("aria-pressed", "false")
    expect(graph_page.locator("svg.graph .kind-place")).to_have_count(0)
    assert nodes.count() < before
    assert rows.count() < listed, "the list below follows"
    graph_page.get_by_role("button", name="mentioned together").click()
    expect(graph_page.locator("svg.graph line.shared")).to_have_count(0)
    graph_page.get_by_role("button", name="place").click()
    graph_page.get_by_role("button", name="mentioned together").click()
    expect(nodes).to_have_count(before)
    assert rows.count() == listed


def test_one_clicks_through_the_picture(graph_page: Page) -> None:
    graph_page.locator("svg.graph").get_by_role("link", name="Sarah Chen").click()
    expect(graph_page.get_by_role("heading", level=1)).to_have_text("Sarah Chen")
    expect(graph_page).to_have_url(re.compile(r"/graph\?entity=\d+$"))
    expect(graph_page.locator("svg.graph .labels")).to_contain_text("reports to")
    expect(graph_page.locator("svg.graph [aria-current=true]")).to_have_text(re.compile("Sarah Chen"))
    node = graph_page.locator("svg.graph").get_by_role("link", name="Tom Okafor")
    node.focus()
    assert graph_page.locator("svg.graph line.near").count() > 0, "the relations of the node in focus stand out"
    graph_page.keyboard.press("Enter")
    expect(graph_page.get_by_role("heading", level=1)).to_have_text("Tom Okafor")
    expect(graph_page.locator("article[data-card]").first).to_contain_text("Tom")


TOUCHING = """() => {
  const boxes = (selector) => [...document.querySelectorAll(`svg.graph ${selector}`)].map((one) =>
    [one.textContent || "disc", one.getBoundingClientRect()]);
  const labels = boxes(".labels text"), nodes = [...boxes(".node circle"), ...boxes(".node text")];
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return labels.flatMap(([label, box], place) => [...nodes, ...labels.slice(place + 1)]
    .filter(([, other]) => meet(box, other)).map(([name]) => `${label} on ${name}`));
}"""


def test_the_name_of_a_relation_touches_nothing(browser_page: Page, served: Served) -> None:
    """In the pictures of the sample with the most stated relations, on a desk and on a phone."""
    labels, stated = 0, 0
    for path in ("/graph", f"/graph?entity={entity(served, 'user')}"):
        browser_page.goto(path)
        for wide, most in ((1280, 20), (390, 9)):
            browser_page.set_viewport_size({"width": wide, "height": 900})
            browser_page.wait_for_function("most => document.querySelectorAll('.node').length <= most", arg=most)
            assert browser_page.evaluate(TOUCHING) == [], path
            labels += browser_page.locator("svg.graph .labels text").count()
            stated += browser_page.locator("svg.graph line.stated").count()
    assert stated >= labels > 0.8 * stated > 10, "most have room"


def test_the_list_says_what_the_picture_shows(graph_page: Page) -> None:
    expect(graph_page.locator("svg.graph .node").first).to_be_visible()
    lines, rows = graph_page.locator("svg.graph line.relation"), graph_page.locator("main table tbody tr")
    assert lines.count() == rows.count() > 20
    names = set(graph_page.locator("svg.graph .node text").all_text_contents())
    cells = rows.locator("td:first-child, td:nth-child(3)").all_inner_texts()
    assert {cell.strip() for cell in cells} == names
    assert len(names) <= 20, "a crowded graph stays readable"


def test_without_scripts_the_list_is_there_and_no_empty_picture(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.url, java_script_enabled=False)
    with WatchedPage(context, served.url) as page:
        page.goto(f"/graph?entity={entity(served, 'Priya Raman')}")
        expect(page.locator("figure.picture")).to_be_hidden()
        expect(page.get_by_role("table", name="Relations of this entity")).to_contain_text("Jonas Weber")
        expect(page.get_by_role("region", name="Relations", exact=True)).to_contain_text("Maya Lindqvist")


def test_nothing_in_the_picture_moves(graph_page: Page) -> None:
    """So there is nothing that prefers-reduced-motion would have to stop."""
    graph_page.locator("svg.graph .node").first.focus()
    assert graph_page.evaluate("document.querySelector('svg.graph').getAnimations({subtree: true}).length") == 0


def test_an_entity_with_many_neighbours_has_a_readable_picture(browser_page: Page, served: Served) -> None:
    browser_page.goto(f"/graph?entity={entity(served, 'Daniel')}")
    nodes, rows = browser_page.locator("svg.graph .node"), browser_page.locator("main table tbody tr")
    expect(nodes).to_have_count(20)
    cells = rows.locator("td:first-child, td:nth-child(3)").all_inner_texts()
    cells += browser_page.locator("[aria-labelledby=relations-title] .names bdi").all_inner_texts()
    neighbours = {cell.strip() for cell in cells} - {"Daniel"}
    more = "{} more are not drawn; the list has them."
    expect(browser_page.locator("[data-left-out]")).to_have_text(more.format(len(neighbours) - 19))
    browser_page.set_viewport_size({"width": 390, "height": 844})
    expect(nodes).to_have_count(9)
    expect(browser_page.locator("[data-left-out]")).to_have_text(more.format(len(neighbours) - 8))


def test_an_ended_relation_is_dashed(browser_page: Page, served: Served) -> None:
    browser_page.goto(f"/graph?entity={entity(served, 'Priya Raman')}")
    ended = browser_page.locator("svg.graph line.ended")
    expect(ended).to_have_count(1)
    assert ended.evaluate("line => getComputedStyle(line).strokeDasharray") == "5px, 4px"
    current = browser_page.locator("svg.graph line.stated:not(.ended)").first
    stroke = "line => getComputedStyle(line).stroke"
    assert ended.evaluate(stroke) != current.evaluate(stroke)
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
    expect(browser_page.get_by_text("No entity of this namespace has the name")).to_be_visible()


def test_an_entity_is_put_right(browser_page: Page, served: Served) -> None:
    for text in ("Jonas Weber met Elin Lund in Malmö", "Yesterday J. Weber wrote from Malmö"):
        served.client.post(f"/v1/namespaces/{OWN}/memories", json={"content": text})
    key = entity(served, "Jonas Weber", OWN)
    browser_page.goto(f"/graph?namespace={OWN}&entity={key}")
    browser_page.get_by_text("Rename, add an alias, merge, split").click()
    browser_page.get_by_label("Name", exact=True).fill("Jonas Weber-Lund")
    browser_page.get_by_role("button", name="Rename").click()
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Jonas Weber-Lund")
    browser_page.get_by_text("Rename, add an alias, merge, split").click()
    browser_page.get_by_label("New alias").fill("JWL")
    browser_page.get_by_role("button", name="Add").click()
    expect(browser_page.locator(".notice-good")).to_contain_text("alias")
    browser_page.get_by_text("Rename, add an alias, merge, split").click()
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


def test_a_merge_and_a_split_are_undone(served: Served) -> None:
    for id, text in (("o", "Sam Okafor feeds penguins"), ("w", "Sam Whitfield signs reports")):
        served.client.post(f"/v1/namespaces/{OWN}/memories", json={"content": text, "id": id})
    okafor, whitfield = (entity(served, f"Sam {name}", OWN) for name in ("Okafor", "Whitfield"))
    merged = served.client.post(f"/graph/merge?namespace={OWN}&entity={okafor}", data={"name": str(whitfield)})
    assert merged.status_code == 200
    assert all(
        f'name="{field}" value="{value}"' in merged.text
        for field, value in (("name", "Sam Whitfield"), ("memory", "w"))
    )
    again = {"name": "Sam Whitfield", "memory": "w"}
    assert served.client.post(f"/graph/split?namespace={OWN}&entity={okafor}", data=again).status_code == 200
    apart = entity(served, "Sam Whitfield", OWN)
    assert apart != okafor
    about = served.client.get(f"/v1/namespaces/{OWN}/entities/{apart}/memories").json()
    assert [memory["id"] for memory in about["items"]] == ["w"]
    refused = served.client.post(f"/graph/split?namespace={OWN}&entity={okafor}", data={"name": "Sam"})
    assert refused.status_code == 422


def test_an_unknown_entity_is_told(served: Served) -> None:
    assert served.client.get("/graph?entity=999999999", headers={"Accept": "text/html"}).status_code == 404
    assert served.client.get("/graph?cursor=nonsense").status_code == 422
    assert served.client.post("/graph/merge?entity=1", data={"name": "9" * 5_000}).status_code == 422
