"""Every change in the inspector takes a key that may make it; without one nothing changes and no control is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest
from starlette.routing import BaseRoute, Route
from starlette.testclient import TestClient

from fivefold.service.service import Service
from fivefold.web.app import create_app
from fivefold.web.auth import COOKIE
from fivefold.web.inspector import router

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HTML = {"Accept": "text/html"}
OPEN = {"/login", "/logout"}


def changes(routes: Iterable[BaseRoute]) -> Iterator[str]:
    """The paths of all forms, also of routers within routers."""
    for route in routes:
        if isinstance(route, Route) and "POST" in (route.methods or ()):
            yield route.path
        elif (inner := getattr(route, "original_router", None)) is not None:
            yield from changes(inner.routes)


CHANGES = sorted(set(changes(router.routes)) - OPEN)
VIEWS = (
    "/ask?q=coffee&recipe=lexical",
    "/memories",
    "/memories/s01.05",
    "/sessions",
    "/sessions/s01",
    "/graph",
    "/graph?entity=1",
    "/learn",
    "/settings",
)


def test_there_are_changes_to_refuse() -> None:
    assert len(CHANGES) >= 12


@pytest.fixture(scope="module")
def reader(service: Service) -> Iterator[TestClient]:
    _, secret = service.keyring.create("page reader", "reader", ["default"])
    with TestClient(create_app(service, mcp=False), base_url="http://localhost", client=("127.0.0.1", 5)) as client:
        client.cookies.set(COOKIE, service.sign_ins.begin(secret))
        yield client


def test_a_readers_key_changes_nothing(reader: TestClient, service: Service) -> None:
    before = reader.get("/export").text, service.engines.namespace("default").settings
    texts = dict.fromkeys(("content", "replacement", "name"), "Changed")
    form = {**texts, "recent_turns": "9", "recall": "x", "memory": "s01.05"}
    for path in CHANGES:
        place = path.replace("{id:name}", "s01" if path.startswith("/sessions") else "s01.05")
        answer = reader.post(place, params={"entity": 1}, data=form, headers=HTML)
        assert answer.status_code == 403, path
        assert "this key is a reader&#39;s" in answer.text
    assert (reader.get("/export").text, service.engines.namespace("default").settings) == before


@pytest.mark.parametrize("path", VIEWS)
def test_a_reader_sees_no_controls(reader: TestClient, path: str) -> None:
    page = reader.get(path, headers=HTML)
    assert page.status_code == 200
    forms = set(re.findall(r'<form[^>]*method="post"[^>]*action="([^"]+)"', page.text))
    assert forms <= {"/logout"}
    for control in ("Forget …", "Add a memory", "<textarea", "Save the settings", "Train now"):
        assert control not in page.text
