"""Who sees what once there are keys: signing in, a reader's view, other namespaces, other sites."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import fivefold
from fivefold.service.keys import Keyring
from fivefold.values.access import Role
from fivefold.web.auth import COOKIE
from fivefold.web.inspector.login import local_path
from tests.support.web_server import Served
from tests.web.inspector.conftest import WatchedPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]


class Locked(NamedTuple):
    server: Served
    secrets: dict[Role, str]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    """A store with a key of each role for the namespace `team`, and a namespace none of them reaches."""
    path = str(tmp_path_factory.mktemp("locked") / "memory.db")
    with fivefold.open(path, namespace="team", embedder="wordllama") as mem:
        mem.remember("The harbour office opens at eight.", id="harbour", session_id="monday")
        keyring = Keyring(mem.store)
        roles: tuple[Role, ...] = ("reader", "writer", "admin")
        secrets = {role: keyring.create(role, role, ["team"])[1] for role in roles}
    with fivefold.open(path, namespace="vault", embedder="wordllama") as mem:
        mem.remember("The safe opens with 4711.", id="safe")
    with Served(path, "--rate", "0") as server:
        yield Locked(server, secrets)


@pytest.fixture
def visitor(browser: Browser, locked: Locked) -> Iterator[Page]:
    with WatchedPage(browser.new_context(base_url=locked.server.url), locked.server.url) as page:
        yield page


def sign_in(page: Page, secret: str) -> None:
    page.get_by_label("API key").fill(secret)
    page.get_by_role("button", name="Sign in").click()


@contextmanager
def signed_in(locked: Locked, role: Role) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=locked.server.url) as client:
        assert client.post("/login", data={"key": locked.secrets[role]}).status_code == 303
        yield client


def test_signing_out_ends_it_for_every_copy_of_the_cookie(locked: Locked) -> None:
    with signed_in(locked, "reader") as client:
        cookies = dict(client.cookies)
        assert client.get("/memories").status_code == 200
        client.post("/logout")
        client.cookies.update(cookies)
        assert client.get("/memories", headers={"Accept": "text/html"}).status_code == 303


def test_a_page_is_reached_again_after_signing_in(visitor: Page, locked: Locked) -> None:
    visitor.goto("/ask?q=When+does+the+harbour+office+open%3F&recipe=lexical")
    expect(visitor).to_have_title("Sign in – fivefold")
    assert Axe().run(visitor).response["violations"] == []
    sign_in(visitor, "ff_000000000000_" + "0" * 48)
    expect(visitor.get_by_role("alert")).to_contain_text("this API key is not valid")
    assert visitor.locator("main").inner_text().count("fivefold keys create") == 1, "said once"
    sign_in(visitor, locked.secrets["reader"])
    expect(visitor.locator("article[data-card]")).to_contain_text("opens at eight")
    cookie = next(cookie for cookie in visitor.context.cookies() if cookie["name"] == COOKIE)
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert locked.secrets["reader"] not in cookie["value"], "another program of this host may see the cookie"
    assert visitor.evaluate("document.cookie") == ""
    expect(visitor.get_by_label("Namespace").locator("option")).to_have_text(["team"])
    visitor.get_by_role("button", name="Sign out").click()
    expect(visitor).to_have_title("Sign in – fivefold")
    assert visitor.context.cookies() == []


@pytest.mark.parametrize(
    "path",
    [
        "/ask?q=safe",
        "/overview?of=safe",
        "/why?q=safe",
        "/compare?q=safe",
        "/memories",
        "/memories/safe",
        "/sessions",
        "/graph",
        "/live",
        "/live/events",
        "/learn",
        "/settings",
    ],
)
def test_another_namespace_looks_like_none(locked: Locked, path: str) -> None:
    joined = "&" if "?" in path else "?"
    with signed_in(locked, "admin") as client:
        client.headers["Accept"] = "text/html"
        there = client.get(f"{path}{joined}namespace=vault")
        absent = client.get(f"{path}{joined}namespace=absent")
    assert there.status_code == absent.status_code == 403
    assert there.text.replace("vault", "absent") == absent.text
    assert "4711" not in there.text
    assert '<option value="team" selected>' in there.text, "it leads back to what the key reaches"


def test_another_site_cannot_post(locked: Locked) -> None:
    with signed_in(locked, "writer") as client:
        answer = client.post("/remember", data={"content": "Forged."}, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "path",
    ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "", "/\n/evil.example", "javascript:1"],
)
def test_signing_in_leads_nowhere_else(locked: Locked, path: str) -> None:
    assert local_path(path) == "/ask"
    with httpx.Client(base_url=locked.server.url) as client:
        answer = client.post("/login", data={"key": locked.secrets["reader"], "next": path})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ask")


def test_without_keys_there_is_nothing_to_sign_in_to(served: Served) -> None:
    text = served.client.get("/login?next=/why").text
    assert 'none is needed on this machine: <a href="/why">' in text
    assert '<form method="post"' not in text


def test_a_page_of_ours_is_led_to() -> None:
    assert local_path("/why?q=a%20b&namespace=team") == "/why?q=a%20b&namespace=team"
