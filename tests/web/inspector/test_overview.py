"""Overview: what is known, what is coming, what changed; and a line put right where it is seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

import fivefold
from fivefold.service.service import open_service
from fivefold.values.times import utc_now
from fivefold.web.app import create_app
from fivefold.web.auth import COOKIE
from tests.support.web_server import Served

HTML = {"Accept": "text/html"}
OWN = "overview"
TEXTS = {
    "home": "I live in Leeds, at 14 Chapel Rise.",
    "diet": "I'm allergic to penicillin.",
    "ana": "My sister Ana works as a nurse in Hull.",
}


def fill(mem: fivefold.Engine) -> None:
    for id, text in TEXTS.items():
        mem.remember(text, id=id)
    mem.remember(f"The boiler service is due on {utc_now() + timedelta(days=20):%d %B %Y}.", id="boiler")


@contextmanager
def pages(path: Path, role: str = "") -> Iterator[TestClient]:
    """A browser without scripts at the pages of a store; signed in with a key of that role, if there is one."""
    service = open_service(str(path))
    try:
        with TestClient(create_app(service, mcp=False), base_url="http://localhost", client=("127.0.0.1", 5)) as client:
            client.headers.update(HTML)
            if role:
                _, secret = service.keyring.create("test", role, ["default"])  # type: ignore[arg-type]
                client.cookies.set(COOKIE, service.sign_ins.begin(secret))
            yield client
    finally:
        service.close()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with fivefold.open(str(path)) as mem:
        fill(mem)
    return path


def shown(client: TestClient, place: str = "/overview") -> str:
    answer = client.get(place)
    assert answer.status_code == 200
    return answer.text


def part(text: str, title: str) -> str:
    """The section with that title."""
    return re.split(rf'id="{title}-title">', text)[1].split("</section>")[0]


def test_every_line_of_each_section_leads_to_its_source(store: Path) -> None:
    with pages(store) as client:
        text = shown(client)
    assert 'href="/memories/diet"' in part(text, "who")
    assert "allergic to penicillin" in part(text, "who")
    assert 'href="/memories/boiler"' in part(text, "coming")
    assert "Ana" in part(text, "people")
    for line in re.findall(r'<li class="known".*?</li>', text, re.DOTALL):
        assert ">source</a>" in line


def test_figures_over_time_are_drawn_and_can_be_read(store: Path) -> None:
    with pages(store) as client:
        text = part(shown(client), "figures")
        count = client.get("/v1/namespaces/default/stats").json()["periods"][0]["memories"]
    labels = re.findall(r'aria-label="([^"]+)"', text)
    assert [label.partition(",")[0] for label in labels] == [
        "Memories written",
        "Recalls made",
        "Share found",
        "Recall time",
    ]
    assert labels[0].endswith(f"oldest first: {count}")
    assert labels[2].endswith("oldest first: –"), "nothing was asked"
    assert text.count("<title>") == 1


def test_a_line_is_corrected_where_it_is_seen_and_the_correction_is_undone(store: Path) -> None:
    form = {"line": "I live in Leeds, at 14 Chapel Rise", "to": "I live in Bristol", "back": "/overview"}
    with pages(store) as client:
        text = client.post("/memories/home/correct", data=form).text
        assert "I live in Bristol" in part(text, "who")
        assert "Leeds" not in part(text, "who").partition("Earlier")[0]
        (undo,) = re.findall(r'action="(/memories/[^"]+/undo)"', text)
        text = client.post(undo, data={"back": "/overview"}).text
        assert "I live in Leeds" in part(text, "who")
        assert client.get(undo.removesuffix("/undo")).status_code == 404


def test_a_line_is_pinned_and_hidden_and_each_is_undone(store: Path) -> None:
    with pages(store) as client:
        for do, undo, sign in (("pin", "unpin", "badge-accent"), ("hide", "show", "penicillin")):
            before = sign in part(shown(client), "who")
            text = client.post(f"/memories/diet/{do}", data={"back": "/overview"}).text
            assert (sign in part(text, "who")) is not before
            assert f'action="/memories/diet/{undo}"' in text
            text = client.post(f"/memories/diet/{undo}", data={"back": "/overview"}).text
            assert (sign in part(text, "who")) is before


def test_a_line_that_the_memory_does_not_have_changes_nothing(store: Path) -> None:
    with pages(store) as client:
        answer = client.post("/memories/home/correct", data={"line": "I live in Rome", "to": "I live in Bonn"})
        assert answer.status_code == 422
        assert "I live in Bonn" in answer.text
        assert "I live in Leeds" in part(shown(client), "who")


def test_no_address_leads_to_the_deletion_of_what_is_not_a_correction(store: Path) -> None:
    with pages(store) as client:
        assert "/undo" not in shown(client, "/overview?done=corrected&line=home")
        assert client.post("/memories/home/undo").status_code == 422
        assert client.get("/memories/home").status_code == 200
        away = client.post("/memories/home/pin", data={"back": "//evil.example"}, follow_redirects=False)
        assert away.headers["location"].startswith("/ask?")


def test_a_reader_sees_lines_and_no_buttons(store: Path) -> None:
    with pages(store, "reader") as client:
        text = shown(client, "/overview?done=pinned&line=diet")
        assert "penicillin" in text
        assert 'method="post" action="/memories' not in text
        assert client.post("/memories/diet/hide").status_code == 403
        assert "penicillin" in shown(client)


@pytest.mark.parametrize("state", ["day=soon", "day=0001-01-01", "day=9999-12-31", "days=0", "days=many"])
def test_a_wrong_address_is_refused(store: Path, state: str) -> None:
    with pages(store) as client:
        assert client.get(f"/overview?{state}").status_code == 422


def test_a_person_has_a_profile_and_a_timeline(store: Path) -> None:
    with pages(store) as client:
        text = client.get("/graph", params={"name": "Ana"}).text
        assert 'href="/memories/ana"' in part(text, "profile")
        (entity,) = set(re.findall(r'name="back" value="/graph\?entity=(\d+)"', text))
        values = part(shown(client, f"/graph?entity={entity}&of=job"), "timeline")
        assert re.findall(r'class="chain".*href="/memories/ana"', values, re.DOTALL)


def test_the_start_page_opens_the_namespace_that_has_memories(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with fivefold.open(str(path), namespace="team") as mem:
        mem.remember(TEXTS["home"])
    with pages(path) as client:
        assert client.get("/", follow_redirects=False).headers["location"] == "/ask?namespace=team"
        assert "fivefold add" in shown(client, "/overview"), "an empty namespace says how to fill it"
    with fivefold.open(str(path)) as mem:
        mem.remember(TEXTS["home"])
    with pages(path) as client:
        assert client.get("/", follow_redirects=False).headers["location"] == "/ask"
        assert client.get("/?namespace=team", follow_redirects=False).headers["location"] == "/ask?namespace=team"


@pytest.mark.browser
def test_a_click_corrects_a_line_and_another_takes_it_back(browser_page: Page, served: Served) -> None:
    for id, text in TEXTS.items():
        served.client.post(f"/v1/namespaces/{OWN}/memories", json={"id": id, "content": text})
    browser_page.set_viewport_size({"width": 390, "height": 844})
    browser_page.goto(f"/settings?namespace={OWN}")
    expect(browser_page.get_by_role("link", name="Settings")).to_be_in_viewport(ratio=1)
    browser_page.goto(f"/overview?namespace={OWN}")
    line = browser_page.locator(".known", has_text="penicillin").first
    line.locator("summary").click()
    line.get_by_label("What it should say").fill("I'm allergic to amoxicillin")
    assert Axe().run(browser_page).response["violations"] == []
    line.get_by_role("button", name="Correct").click()
    expect(browser_page.locator(".known", has_text="amoxicillin").first).to_be_visible()
    browser_page.get_by_role("button", name="Undo").click()
    expect(browser_page.locator(".known", has_text="penicillin").first).to_be_visible()
    expect(browser_page.locator(".known", has_text="amoxicillin")).to_have_count(0)
