"""Live: what is written and recalled appears on the page, only for those who may see it, and ends with the server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

import fivefold
from fivefold.service.keys import Keyring
from fivefold.service.service import Service, open_service
from fivefold.web.app import create_app
from fivefold.web.inspector import live
from tests.support.web_server import STOP_S, Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = "<script>document.title = 'owned'</script> The bees are in the orchard"
NAMESPACE = "/v1/namespaces/live"


def remember(served: Served, content: str, id: str) -> None:
    answer = served.client.post(f"{NAMESPACE}/memories", json={"content": content, "id": id})
    assert answer.status_code in (200, 201)


def test_what_happens_appears_at_once(browser_page: Page, served: Served) -> None:
    browser_page.goto("/live?namespace=live")
    expect(browser_page.locator("#live-state")).to_have_text("Connected")
    expect(browser_page.locator("#live-empty")).to_be_visible()
    remember(served, TEXT, "bees")
    first = browser_page.locator("#live > li").first
    expect(first).to_contain_text(TEXT)
    expect(first).to_contain_text("remember")
    served.client.post(f"{NAMESPACE}/recall", json={"question": "Where are the bees?", "recipe": "lexical"})
    expect(first).to_contain_text("Where are the bees?")
    expect(first.get_by_role("link", name="bees", exact=True)).to_be_visible()
    assert browser_page.title() != "owned"
    assert browser_page.locator("#live script").count() == 0
    served.client.post("/v1/namespaces/elsewhere/memories", json={"content": "Nobody here may see it"})
    browser_page.get_by_role("button", name="Pause").click()
    remember(served, "The wasps came during the pause", "wasps")
    expect(browser_page.locator("#live-state")).to_have_text("Paused")
    browser_page.get_by_role("button", name="Pause").click()
    expect(first).to_contain_text("The wasps came during the pause")
    expect(browser_page.locator("#live > li")).to_have_count(3)
    browser_page.reload()
    expect(browser_page.locator("#live > li")).to_have_count(3)
    expect(browser_page.locator("#live")).not_to_contain_text("Nobody here")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    opened = open_service(str(tmp_path / "live.db"), embedder="wordllama")
    yield opened
    opened.close()


@pytest.fixture
def pages(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Pages whose streams end at once, as any stream ends after a while."""
    monkeypatch.setattr(live, "STREAM_S", 0.2)
    monkeypatch.setattr(live, "POLL_S", 0.05)
    with TestClient(create_app(service, mcp=False), base_url="http://localhost", client=("127.0.0.1", 5)) as client:
        yield client


def ids_of(stream: str) -> list[str]:
    return [line.removeprefix("id: ") for line in stream.splitlines() if line.startswith("id: ")]


def test_a_stream_goes_on_where_the_last_one_ended(pages: TestClient, service: Service) -> None:
    engine = service.engines.namespace("default")
    engine.remember("First")
    answer = pages.get("/live/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("retry: 1000\n\n")
    (first,) = ids_of(answer.text)
    engine.remember("Second\n\nid: 7\ndata: forged")
    again = pages.get("/live/events?after=0", headers={"Last-Event-ID": first})
    (second,) = ids_of(again.text)
    assert int(second) > int(first)
    assert "Second" in again.text
    assert "First" not in again.text
    assert ids_of(pages.get(f"/live/events?after={second}").text) == []


def test_too_many_streams_are_asked_to_come_back_later(
    pages: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.engines.namespace("default").remember("First")
    monkeypatch.setattr(live, "MAX_STREAMS", 0)
    assert pages.get("/live/events").text == "retry: 10000\n\n"


@pytest.mark.parametrize("path", ["/live", "/live/events"])
def test_only_an_admin_sees_the_questions_of_others(pages: TestClient, service: Service, path: str) -> None:
    service.engines.namespace("team").recall("What is the salary of Ana?", recipe="lexical")
    secrets = {role: service.keyring.create(role, role, ["team"])[1] for role in ("reader", "writer", "admin")}
    status = {}
    for role, secret in secrets.items():
        answer = pages.get(f"{path}?namespace=team", headers={"Authorization": f"Bearer {secret}"})
        status[role] = answer.status_code
        assert ("salary" in answer.text) == (role == "admin")
    assert status == {"reader": 403, "writer": 403, "admin": 200}
    assert "salary" not in pages.get(path).text


def test_a_server_with_an_open_stream_stops(tmp_path: Path) -> None:
    path = str(tmp_path / "stop.db")
    with fivefold.open(path, embedder="wordllama") as mem:
        _, secret = Keyring(mem.store).create("watcher", "admin", ["default"])
    served = Served(path, "--rate", "0", "--stop-after", "600", key=secret)
    with served.client.stream("GET", "/live/events") as answer:
        lines = answer.iter_lines()
        assert next(lines) == "retry: 1000"
        served.process.send_signal(signal.SIGTERM)
        assert "".join(lines) == "", "it ends without an error"
    assert served.process.wait(STOP_S) == 0
    served.stop()


def test_a_stream_ends_when_the_server_stops(
    pages: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "STREAM_S", 3_600)
    service.stopping.set()
    assert pages.get("/live/events").text == "retry: 1000\n\n"
