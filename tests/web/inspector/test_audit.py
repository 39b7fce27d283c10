"""The audit log has every look and every change once, under the name REST has for it, with what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest
from starlette.routing import BaseRoute, Route
from starlette.testclient import TestClient

from fivefold.engine import Engine
from fivefold.errors import StoreError
from fivefold.service.service import Service
from fivefold.values.recall import Recall
from fivefold.web.app import create_app
from fivefold.web.auth import COOKIE
from fivefold.web.inspector import router
from fivefold.web.rest.operations import OPERATIONS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HTML = {"Accept": "text/html"}
OPEN = {"/", "/static/{name}", "/login", "/logout"}
"""Paths that belong to no namespace."""

STREAM = "/live/events"
"""Comes again and again as long as the page is open, and is noted with the page alone."""

LOOKS: dict[str, list[tuple[str, str | None]]] = {
    "/ask": [("stats", None)],
    "/ask?q=coffee&recipe=lexical": [("recall", None)],
    "/ask/context?id=s01.05": [("get", "s01.05")],
    "/overview": [("profile", None), ("agenda", None), ("changes", None)],
    "/overview?of=phone+number": [("profile", None), ("agenda", None), ("changes", None), ("history", None)],
    "/why": [],
    "/why?q=coffee&recipe=lexical": [("explain", None)],
    "/compare": [],
    "/compare?q=coffee&recipes=lexical&recipes=lexical": [("recall", None), ("recall", None)],
    "/memories": [("list", None)],
    "/memories/s01.05": [("get", "s01.05")],
    "/memories/s01.05/forget": [("get", "s01.05")],
    "/remember": [],
    "/quarantine": [("quarantine", None)],
    "/export": [("export", None)],
    "/sessions": [("sessions", None)],
    "/sessions/s01": [("session", "s01")],
    "/sessions/s01/forget": [("session", "s01")],
    "/graph": [("entities", None)],
    "/graph?entity=1": [("entity", "1")],
    "/live": [("audit", None)],
    "/learn": [("learned", None)],
    "/settings": [("settings", None)],
}
"""What is noted of each page; a form that is still empty shows nothing of the namespace."""


def routes_of(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Method and path of every page, also of routers within routers."""
    for route in routes:
        if isinstance(route, Route):
            yield from ((method, route.path) for method in route.methods or () if method != "HEAD")
        elif (inner := getattr(route, "original_router", None)) is not None:
            yield from routes_of(inner.routes)


ROUTES = sorted({(method, path) for method, path in routes_of(router.routes) if path not in OPEN})


@pytest.fixture(scope="module")
def pages(service: Service) -> Iterator[TestClient]:
    _, secret = service.keyring.create("looks", "admin", ["default"])
    with TestClient(create_app(service, mcp=False), base_url="http://localhost", client=("127.0.0.1", 5)) as client:
        client.cookies.set(COOKIE, service.sign_ins.begin(secret))
        yield client


def entries_since(service: Service, since: int) -> list[tuple[str, str | None, str]]:
    """What was noted since then, in order."""
    entries = [entry for entry in service.audit.entries(50) if entry.id > since]
    return [(entry.action, entry.subject, entry.outcome) for entry in reversed(entries)]


def last(service: Service) -> int:
    return next((entry.id for entry in service.audit.entries(1)), 0)


@pytest.mark.parametrize("path", LOOKS)
def test_a_look_is_noted_once_as_what_it_is(pages: TestClient, service: Service, path: str) -> None:
    before = last(service)
    assert pages.get(path, headers=HTML).status_code == 200
    assert entries_since(service, before) == [(action, subject, "ok") for action, subject in LOOKS[path]]


def test_every_page_is_looked_at_here() -> None:
    paths = {re.sub(r"s01(\.05)?", "{id:name}", path.partition("?")[0]) for path in LOOKS}
    assert paths | {STREAM} == {path for method, path in ROUTES if method == "GET"}


@pytest.mark.parametrize(
    ("path", "status", "entry"),
    [
        ("/memories/none", 404, ("get", "none", "failed")),
        ("/sessions/none", 404, ("session", "none", "failed")),
        ("/graph?entity=999999", 404, ("entity", "999999", "failed")),
        ("/memories?kind=dream", 422, ("list", None, "failed")),
        ("/ask?q=coffee&k=many", 422, ("recall", None, "failed")),
        ("/why?q=coffee&recipe=none", 422, ("explain", None, "failed")),
    ],
)
def test_a_look_that_came_to_nothing_is_noted_so(
    pages: TestClient, service: Service, path: str, status: int, entry: tuple[str, str | None, str]
) -> None:
    before = last(service)
    assert pages.get(path, headers=HTML).status_code == status
    assert entries_since(service, before) == [entry]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_who_may_not_come_in_is_noted_once(pages: TestClient, service: Service, method: str, path: str) -> None:
    """Whatever the page: one refusal, under a name that REST has too; only training is done here alone."""
    place = re.sub(r"\{\w+(:name)?\}", "x", path)
    before = last(service)
    params = {"namespace": "not theirs", "entity": "1", "id": "x", "q": "coffee"}
    answer = pages.request(method, place, params=params, headers=HTML)
    assert answer.status_code == 403
    assert "Kestrel" not in answer.text
    ((action, _, outcome),) = entries_since(service, before)
    assert outcome == "refused"
    assert action in {"train", *(operation.action for operation in OPERATIONS.values())}


@pytest.mark.parametrize("view", ["ask", "why", "compare"])
def test_a_store_that_fails_is_told_without_its_own_words(
    pages: TestClient, service: Service, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Engine, *args: object, **kwargs: object) -> Recall:
        raise StoreError("another process held '/srv/private/x.db' for more than 120 s")

    monkeypatch.setattr(Engine, "recall", fail)
    before = last(service)
    answer = pages.get(f"/{view}?q=coffee", headers=HTML)
    assert answer.status_code == 503
    assert "/srv/private" not in answer.text
    assert "the store does not answer; try again" in answer.text
    assert 'value="coffee"' in answer.text, "what was typed stays"
    assert {outcome for _, _, outcome in entries_since(service, before)} == {"failed"}
