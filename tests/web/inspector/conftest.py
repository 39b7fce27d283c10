"""A real Chromium before a real server, which all pages share: tests that write use a namespace of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, sync_playwright

from tests.support.web_server import Served

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-zygote",
    "--disable-software-rasterizer",
    "--disable-extensions",
    "--disable-features=Translate,OptimizationHints,MediaRouter,PaintHolding,IsolateOrigins,site-per-process,"
    "SpareRendererForSitePerProcess,RenderDocument",
]
"""Pages of one server need no process each: without these, a page costs a quarter more processor time."""

ANSWERED = "Failed to load resource: the server responded with a status of 4"
"""What the console says of a page that is itself a refusal; whether that was right is the test's to say."""


@pytest.fixture(scope="package")
def served(sample_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without keys on a copy of the sample, one for all tests of pages."""
    path = tmp_path_factory.mktemp("pages") / "sample.db"
    shutil.copy(sample_path, path)
    with Served(str(path), "--rate", "0") as server:
        yield server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Not for the whole session: while it is open, no other test of its thread could run an event loop."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail("the tests of the pages need Chromium; install it with: apt-get install chromium", pytrace=False)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGS)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def tab(browser: Browser, served: Served) -> Iterator[WatchedPage]:
    """A tab that tests use one after the other; one of its own for each would be a process for each."""
    watched_page = WatchedPage(browser.new_context(base_url=served.url), served.url)
    with watched_page:
        yield watched_page


@pytest.fixture
def browser_page(tab: WatchedPage) -> Iterator[Page]:
    """A page of the shared server; an error in its console or a request that leaves this machine fails the test."""
    yield tab.page
    tab.put_back()
    assert tab.problems == []


class WatchedPage:
    """A page whose console and requests are looked at when it is left."""

    def __init__(self, context: BrowserContext, home: str) -> None:
        self.context = context
        self.home = home
        self.problems: list[str] = []
        self.page = context.new_page()

    def __enter__(self) -> Page:
        self.context.set_default_timeout(20_000)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"script failed: {error}"))
        self.page.on("request", self._request)
        self.page.on("response", self._response)
        return self.page

    def put_back(self) -> None:
        """As a browser is that was never here; it stays at the server, for to leave it is a new process."""
        if self.page.url.startswith(self.home):
            self.page.evaluate("localStorage.clear()")
        self.page.set_viewport_size({"width": 1280, "height": 720})
        self.page.emulate_media(color_scheme="null", reduced_motion="null")
        self.context.clear_cookies()

    def __exit__(self, *raised: object) -> None:
        self.context.close()
        if raised[0] is None:
            assert self.problems == []

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(ANSWERED):
            self.problems.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.home}/", "data:")):
            self.problems.append(f"request to {request.url}")

    def _response(self, response: Response) -> None:
        if "/static/" in response.url and response.status >= 400:
            self.problems.append(f"{response.status} for {response.url}")
