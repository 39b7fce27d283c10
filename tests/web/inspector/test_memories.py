"""Memories: looking through them, one of them in full, and everything that can be done to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

import fivefold
from fivefold.stores import open_store
from tests.support.web_server import Served
from tests.web.inspector.conftest import WatchedPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PARTS = "memories-in-parts"
OWN = "memories-changed"
"""What these tests write goes here."""


@pytest.fixture
def plain_page(browser: Browser, served: Served) -> Iterator[Page]:
    """The same, with scripts switched off."""
    context = browser.new_context(base_url=served.url, java_script_enabled=False)
    with WatchedPage(context, served.url) as page:
        yield page


def remember(served: Served, **record: object) -> str:
    """A memory of the namespace for changes; gives its id."""
    answer = served.client.post(f"/v1/namespaces/{OWN}/memories", json=record)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["stored"][0])


def at(id: str, namespace: str = OWN) -> str:
    return f"/memories/{quote(id, safe='')}?namespace={namespace}"


def test_latest_come_first_and_more_by_a_click(browser_page: Page, served: Served) -> None:
    latest = served.client.get("/v1/namespaces/default/memories", params={"limit": 60}).json()["items"]
    browser_page.goto("/memories")
    cards = browser_page.locator("[data-card]")
    assert cards.count() == 30
    address = browser_page.url
    browser_page.get_by_role("link", name="Show more").focus()
    browser_page.keyboard.press("Enter")
    expect(cards).to_have_count(60)
    expect(cards.nth(30)).to_be_focused()
    assert cards.locator("a.id").all_inner_texts() == [memory["id"] for memory in latest]
    assert browser_page.url == address
    expect(browser_page.get_by_role("link", name="Show more")).to_have_count(1)


def test_without_scripts_the_next_page_is_a_page(plain_page: Page) -> None:
    plain_page.goto("/memories?session=s01")
    assert plain_page.locator("[data-card]").count() == 9
    plain_page.goto("/memories")
    last = plain_page.locator("[data-card] a.id").last.inner_text()
    plain_page.get_by_role("link", name="Show more").click()
    assert "cursor=" in plain_page.url
    ids = plain_page.locator("[data-card] a.id").all_inner_texts()
    assert len(ids) == 30
    assert last not in ids
    plain_page.get_by_label("Words in the text").fill("bertil")
    plain_page.get_by_role("button", name="Filter").click()
    assert all("bertil" in text.lower() for text in plain_page.locator("[data-card] > .text").all_inner_texts())


def test_a_filter_is_the_address(browser_page: Page) -> None:
    browser_page.goto("/memories")
    browser_page.keyboard.press("/")
    browser_page.keyboard.type("kestrel")
    browser_page.keyboard.press("Enter")
    browser_page.wait_for_url("**/memories?q=kestrel")
    browser_page.get_by_label("Superseded").select_option("superseded")
    browser_page.get_by_role("button", name="Filter").click()
    browser_page.wait_for_url("**/memories?q=kestrel&superseded=yes")
    cards = browser_page.locator("[data-card]")
    assert cards.locator("a.id").all_inner_texts() == ["s15.05", "s13.01", "s03.04"]
    browser_page.goto("/memories?type=preference&speaker=user&tag=work&since=2025-01-01&until=2025-01-06")
    assert cards.locator("a.id").all_inner_texts() == ["s01.05"], "the last day counts too"
    assert browser_page.get_by_label("Type").input_value() == "preference"
    expect(browser_page.get_by_label("Tag")).to_have_value("work")
    browser_page.goto("/memories?since=2025-12-19&until=9999-12-31")
    assert cards.count() == 7
    browser_page.goto("/memories?q=unheardofword")
    expect(browser_page.get_by_text("No memory of this namespace matches.")).to_be_visible()


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("since=yesterday", "since 'yesterday' is not a day"),
        ("until=2025-02-30", "until '2025-02-30' is not a day"),
        ("kind=dream", "kind 'dream' is unknown"),
        ("superseded=perhaps", "superseded 'perhaps' is unknown"),
        ("cursor=nonsense", "the cursor is not one of this list"),
        ("filter=colour:red", "'colour' is not a field"),
        ("show=lost", "show 'lost' is unknown; it is one of near-duplicates, unused, stale, expiring"),
        ("show=near-duplicates&cursor=nonsense", "the cursor is not one of this list"),
        ("show=stale&filter=used:yes idle-since:2025-01-01", "filter has idle_since as well; give them once"),
    ],
)
def test_what_cannot_be_looked_for_is_told_and_kept(served: Served, state: str, error: str) -> None:
    answer = served.client.get(f"/memories?speaker=user&{state}")
    assert answer.status_code == 422
    assert error.replace("'", "&#39;") in answer.text
    assert 'name="speaker" value="user"' in answer.text


def test_a_filter_of_the_language_narrows_the_list_and_stays(served: Served) -> None:
    text = served.client.get("/memories", params={"filter": "tag:work type:preference until:2025-01-07"}).text
    assert re.findall(r'<a class="id"[^>]*><bdi>([^<]+)<', text) == ["s01.05"]
    assert 'name="filter" value="tag:work type:preference until:2025-01-07"' in text


def test_parts_of_the_list_show_what_somebody_should_look_at(served: Served) -> None:
    path = f"/v1/namespaces/{PARTS}/memories"
    soon = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    for record in (
        {"id": "first", "content": "The deploy script is in the tools folder"},
        {"id": "again", "content": "Deploy script lives in the tools folder"},
        {"id": "soon", "content": "The parcel comes tomorrow", "expires_at": soon},
        {"id": "kept", "content": "The lamp is on the shelf", "expires_at": soon, "pinned": True},
    ):
        assert served.client.post(path, json=record).status_code == 201

    def ids(**state: str) -> list[str]:
        answer = served.client.get("/memories", params={"namespace": PARTS, **state})
        assert answer.status_code == 200
        return re.findall(r'<a class="id"[^>]*><bdi>([^<]+)<', answer.text)

    assert ids() == ["kept", "soon", "again", "first"]
    assert ids(show="near-duplicates") == ["again", "first"]
    assert ids(show="expiring") == ["soon"]
    assert ids(show="expiring", q="lamp") == ids(show="expiring", filter="pinned:yes") == []
    assert ids(show="stale") == ids(show="unused") == []
    assert ids(show="stale", superseded="yes") == []
    text = served.client.get("/memories", params={"namespace": PARTS, "show": "expiring"}).text
    assert 'name="show" value="expiring"' in text
    assert re.search(r'show=expiring"[^>]*aria-current="true"', text)


def test_parts_of_the_list_are_reached_by_a_click_and_a_filter_stays_in_one(browser_page: Page) -> None:
    browser_page.goto("/memories")
    parts = browser_page.get_by_role("navigation", name="Parts of the list")
    parts.get_by_role("link", name="Stale").click()
    browser_page.wait_for_url("**/memories?show=stale")
    expect(parts.get_by_role("link", name="Stale")).to_have_attribute("aria-current", "true")
    browser_page.get_by_label("Words in the text").fill("coffee")
    browser_page.get_by_role("button", name="Filter").click()
    browser_page.wait_for_url("**/memories?show=stale&q=coffee")
    parts.get_by_role("link", name="Near-duplicates").click()
    browser_page.wait_for_url("**/memories?show=near-duplicates")
    parts.get_by_role("link", name="All").click()
    expect(browser_page.locator("[data-card]")).to_have_count(30)


def test_a_memory_shows_its_history_its_entities_and_its_neighbours(browser_page: Page) -> None:
    browser_page.goto("/memories/s13.01")
    expect(browser_page.locator("footer")).to_contain_text(f"fivefold {fivefold.__version__}")
    steps = browser_page.locator(".chain > li")
    assert steps.count() == 3
    expect(steps.nth(0)).to_contain_text("kestrel launch: '26 June' replaces '15 May'")
    expect(steps.nth(1)).to_contain_text("this memory")
    expect(steps.nth(2)).to_contain_text("current")
    expect(browser_page.get_by_text("kestrel launch = 26 June")).to_be_visible()
    expect(browser_page.locator(".neighbour")).to_contain_text("Half is information")
    steps.nth(2).get_by_role("link").click()
    expect(browser_page).to_have_url(re.compile("/memories/s23.01$"))
    browser_page.goto("/memories/s13.01")
    browser_page.get_by_role("link", name="Kestrel", exact=True).click()
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Project Kestrel")


def link_likely(served: Served, new: str, old: str, why: str, chance: float) -> None:
    with closing(open_store(served.path)) as store, store.write(OWN) as txn:
        rows = {memory.id: memory.row for memory, _ in txn.memories.scan()}
        txn.memories.link(rows[new], rows[old], "likely", why, chance)


def test_what_likely_replaces_a_memory_is_shown_with_its_chance(served: Served) -> None:
    old, new = (remember(served, content=text) for text in ("Grapes are sour in June", "Seven boats left early"))
    link_likely(served, new, old, "a test says so", 0.75)
    page = served.client.get(at(old)).text
    assert "likely supersedes (0.75): <a" in page
    assert "a test says so" in page
    assert "with a chance below" not in page


def test_links_that_are_hardly_likely_are_behind_a_click(served: Served) -> None:
    old, new = (remember(served, content=text) for text in ("Plums are ripe in August", "The ferry was late"))
    link_likely(served, new, old, "it is a guess", 0.1)
    page = served.client.get(at(old)).text
    shown, _, folded = page.partition("1 link with a chance below 50 %</summary>")
    assert "it is a guess" in folded
    assert "it is a guess" not in shown


def test_what_is_typed_is_remembered(browser_page: Page, served: Served) -> None:
    browser_page.goto(f"/memories?namespace={OWN}-new")
    browser_page.get_by_role("main").get_by_role("link", name="Add a memory").first.click()
    browser_page.get_by_label("Content").fill("The spare key lies under the third pot")
    browser_page.get_by_text("More fields").click()
    browser_page.get_by_label("Speaker").fill("Vera")
    browser_page.get_by_label("Event at (UTC)").fill("2025-02-03T04:05:06")
    browser_page.get_by_label("Tags").fill("home\nkeys, spare")
    browser_page.get_by_label("Expires at (UTC)").fill("2999-02-03T04:05:06")
    expect(browser_page.get_by_label("Pinned").locator("option").first).to_have_text("default (no)")
    browser_page.get_by_label("Pinned").select_option("yes")
    browser_page.get_by_label("Importance").fill("3")
    browser_page.get_by_role("button", name="Remember").click()
    expect(browser_page.get_by_role("alert")).to_contain_text("importance must be a number from 0 to 1")
    expect(browser_page.get_by_label("Content")).to_have_value("The spare key lies under the third pot")
    browser_page.get_by_label("Importance").fill("0.9")
    browser_page.get_by_role("button", name="Remember").click()
    expect(browser_page.locator(".notice-good")).to_have_text("The memory is stored.")
    expect(browser_page).to_have_url(re.compile(f"namespace={OWN}-new$"))
    (stored,) = served.client.get(f"/v1/namespaces/{OWN}-new/memories").json()["items"]
    assert (stored["speaker"], stored["tags"], stored["importance"]) == ("Vera", ["home", "keys, spare"], 0.9)
    assert stored["event_at"] == "2025-02-03T04:05:06Z"
    assert (stored["expires_at"], stored["pinned"]) == ("2999-02-03T04:05:06Z", True)


def test_an_edit_changes_what_was_changed_and_nothing_else(browser_page: Page, served: Served) -> None:
    id = remember(
        served,
        content="\nTea at four\r\nwith Ada\rand Bo",
        tags=["a, b"],
        importance=0.3,
        event_at="2025-02-03T04:05:06.789Z",
        valid_from="0800-12-25T10:00:00Z",
    )
    place = f"/v1/namespaces/{OWN}/memories/{id}"
    before = served.client.get(place).json()
    browser_page.goto(at(id))
    browser_page.get_by_text("Edit", exact=True).click()
    browser_page.get_by_role("button", name="Save").click()
    expect(browser_page.locator(".notice-good")).to_have_text("The memory is changed.")
    assert served.client.get(place).json() == before, "saved as it was"
    browser_page.get_by_text("Edit", exact=True).click()
    browser_page.get_by_label("Type").select_option("procedure")
    browser_page.get_by_label("Valid to (UTC)").fill("2026-01-01T00:00:00")
    browser_page.get_by_role("button", name="Save").click()
    expect(browser_page.locator(".notice-good")).to_have_text("The memory is changed.")
    after = served.client.get(place).json()
    assert after == {**before, "type": "procedure", "valid_to": "2026-01-01T00:00:00Z"}


def test_a_refused_edit_keeps_what_was_typed(browser_page: Page, served: Served) -> None:
    id = remember(served, content="The boat is called Nightjar")
    browser_page.goto(at(id))
    browser_page.get_by_text("Edit", exact=True).click()
    browser_page.get_by_label("Content").fill("The boat is called Heron")
    browser_page.get_by_label("Importance").fill("high")
    browser_page.get_by_role("button", name="Save").click()
    expect(browser_page.get_by_role("alert")).to_contain_text("importance must be a number, not 'high'")
    expect(browser_page.get_by_label("Content")).to_have_value("The boat is called Heron")
    assert served.client.get(f"/v1/namespaces/{OWN}/memories/{id}").json()["content"] == "The boat is called Nightjar"


def test_an_edit_does_not_undo_what_another_changed_meanwhile(browser_page: Page, served: Served) -> None:
    id = remember(served, content="The gate opens at six", tags=["old"])
    place = f"/v1/namespaces/{OWN}/memories/{id}"
    browser_page.goto(at(id))
    assert served.client.patch(place, json={"tags": ["new"]}).status_code == 200
    browser_page.get_by_text("Edit", exact=True).click()
    browser_page.get_by_label("Content").fill("The gate opens at seven")
    browser_page.get_by_role("button", name="Save").click()
    expect(browser_page.get_by_role("alert")).to_contain_text("someone else changed it")
    stored = served.client.get(place).json()
    assert (stored["content"], stored["tags"]) == ("The gate opens at six", ["new"])
    expect(browser_page.get_by_label("Content")).to_have_value("The gate opens at seven")
    browser_page.get_by_label("Tags").fill("new")
    browser_page.get_by_role("button", name="Save").click()
    expect(browser_page.locator(".notice-good")).to_have_text("The memory is changed.")
    stored = served.client.get(place).json()
    assert (stored["content"], stored["tags"]) == ("The gate opens at seven", ["new"])


def test_replaced_reinstated_and_forgotten(browser_page: Page, served: Served) -> None:
    id = remember(served, content="Our vet is Dr Moss", speaker="Vera", tags=["pets"])
    browser_page.goto(at(id))
    browser_page.get_by_text("Replace with a newer memory").click()
    browser_page.get_by_label("Replacement").fill("Our vet is Dr Lindgren")
    browser_page.get_by_role("button", name="Replace").click()
    expect(browser_page.locator(".notice-good")).to_contain_text("The memory is replaced")
    expect(browser_page.locator(".chain > li").first).to_contain_text("said so by the caller")
    browser_page.locator(".chain > li").first.get_by_role("link").first.click()
    expect(browser_page.get_by_text("This memory is superseded")).to_be_visible()
    browser_page.get_by_role("button", name="Make it current again").click()
    expect(browser_page.locator(".notice-good")).to_have_text("The memory is current again.")
    browser_page.get_by_role("link", name="Forget …").click()
    assert served.client.get(f"/v1/namespaces/{OWN}/memories/{id}").status_code == 200, "asked first"
    browser_page.get_by_role("button", name="Forget it").click()
    expect(browser_page.locator(".notice-good")).to_contain_text("The memory is deleted")
    assert served.client.get(f"/v1/namespaces/{OWN}/memories/{id}").status_code == 404
    entries = served.client.get("/v1/audit", params={"namespace": OWN}).json()["items"]
    done = [entry["action"] for entry in entries if (entry["subject"] or "").startswith(id)]
    assert {"remember", "supersede", "reinstate", "forget"} <= set(done)


def test_a_memory_is_pinned_and_unpinned_by_a_click(browser_page: Page, served: Served) -> None:
    id = remember(served, content="The fuse box is behind the coats", origin="import")
    browser_page.goto(at(id))
    badges = browser_page.locator("article .badge")
    assert badges.all_inner_texts() == ["imported"]
    browser_page.get_by_role("button", name="Pin", exact=True).click()
    expect(browser_page.locator(".notice-good")).to_contain_text("The memory is pinned")
    assert badges.all_inner_texts() == ["imported", "pinned"]
    browser_page.get_by_role("button", name="Unpin").click()
    expect(browser_page.locator(".notice-good")).to_have_text("The memory is no longer pinned.")
    entries = served.client.get("/v1/audit", params={"namespace": OWN}).json()["items"]
    assert {"pin", "unpin"} <= {entry["action"] for entry in entries if entry["subject"] == id}


def test_ids_of_any_kind_have_a_page(served: Served) -> None:
    for id in ("new", "a/b", "%2F", "ü ?#", "forget", "edit"):
        remember(served, content=f"Remembered as {id}", id=id)
        page = served.client.get(at(id))
        assert page.status_code == 200, id
        assert served.client.get(f"/memories/{quote(id, safe='')}/forget?namespace={OWN}").status_code == 200
    assert served.client.get("/memories/unheard-of", headers={"Accept": "text/html"}).status_code == 404


def test_the_export_is_that_of_rest(served: Served) -> None:
    answer = served.client.get("/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="memories.jsonl"'
    assert answer.text == served.client.get("/v1/namespaces/default/export").text


@pytest.mark.parametrize(
    "path", ["/memories", "/sessions", "/graph", "/graph?name=Ada", "/learn", "/settings", "/remember"]
)
def test_an_empty_namespace_has_pages_too(served: Served, path: str) -> None:
    answer = served.client.get(path, params={"namespace": "nothing-here"})
    assert answer.status_code == 200
    assert "nothing-here" not in served.client.get("/v1/namespaces").text, "looking makes nothing"


def test_a_list_says_what_is_pinned_and_what_expires(browser_page: Page, served: Served) -> None:
    with fivefold.open(served.path, namespace="lives") as mem:
        mem.remember("The bins go out on Monday", id="bins", expires_at="2999-05-01")
        mem.remember("The lift is out of order", id="lift", expires_at="2020-05-01")
        mem.remember("My blood group is A", id="blood", pinned=True)
        mem.remember("I like rye bread", id="bread")
    browser_page.goto("/memories?namespace=lives")
    badges = {"bins": ["expires 1 May 2999"], "lift": ["expired 1 May 2020"], "blood": ["pinned"], "bread": []}
    cards = browser_page.locator("[data-card]")
    expect(cards).to_have_count(4)
    for id, words in badges.items():
        card = cards.filter(has=browser_page.get_by_role("link", name=id, exact=True))
        assert card.locator(".badge").all_inner_texts() == words
