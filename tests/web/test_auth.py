"""Who asks: keys in the header, no key on this machine until the first one exists, and never through a proxy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from fivefold.service.service import Service, open_service
from fivefold.values.access import HERE
from fivefold.web.app import create_app
from fivefold.web.auth import COOKIE, PROXY_HEADERS
from fivefold.web.security import Sites
from tests.support.web_requests import sent
from tests.web.conftest import UNLIMITED, asking

pytestmark = pytest.mark.slow


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Service]:
    service = open_service(str(tmp_path / "memory.db"), limits=UNLIMITED)
    yield service
    service.close()


def test_this_machine_needs_no_key_until_the_first_one_exists(fresh: Service) -> None:
    with asking(fresh) as client:
        assert client.get("/v1/key").json() == {"key_id": None, "role": "admin", "namespaces": ["*"]}
        key, secret = fresh.keyring.create("first", "reader", ["a", "b"])
        refused = client.get("/v1/key")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="fivefold"')
        told = client.get("/v1/key", headers={"Authorization": f"Bearer {secret}"}).json()
        assert told == {"key_id": key.id, "role": "reader", "namespaces": ["a", "b"]}
        fresh.keyring.revoke(key.id)
        assert client.get("/v1/key", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
        assert client.get("/v1/key").status_code == 401


@pytest.mark.parametrize("address", ["192.0.2.7", "10.0.0.1", "", "localhost", "::ffff:10.0.0.1"])
def test_another_machine_always_needs_a_key(fresh: Service, address: str) -> None:
    with asking(fresh, address=address) as client:
        assert client.get("/v1/key").status_code == 401


@pytest.mark.parametrize(
    "header", [*PROXY_HEADERS, "x-forwarded-for", "x-forwarded-proto", "x-real-ip", "cf-connecting-ip"]
)
def test_what_comes_through_a_proxy_does_not_come_from_this_machine(fresh: Service, header: str) -> None:
    with asking(fresh) as client:
        assert client.get("/v1/key", headers={header: "127.0.0.1"}).status_code == 401


def test_a_name_that_is_not_this_machines_needs_a_key(fresh: Service) -> None:
    """Whoever asks under it may come through a proxy that does not say so."""
    app = create_app(fresh, pages=False, mcp=False, sites=Sites(("memory.example.org",)))
    with TestClient(app, base_url="http://memory.example.org", client=("127.0.0.1", 50_000)) as client:
        assert client.get("/health").status_code == 200
        assert client.get("/v1/key").status_code == 401


@pytest.mark.parametrize(
    "path", ["/v1/namespaces/a/memories", "/v1/namespaces/a/recall", "/v1/namespaces/a/import", "/mcp"]
)
def test_a_key_that_is_revoked_while_a_body_comes_no_longer_holds(fresh: Service, path: str) -> None:
    key, secret = fresh.keyring.create("one", "writer", ["a"])
    called = {"name": "remember", "arguments": {"content": "x", "namespace": "a"}}
    bodies: dict[str, dict[str, object]] = {
        "memories": {"content": "x"},
        "recall": {"question": "x"},
        "import": {"content": "x"},
        "mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called},
    }
    body = json.dumps(bodies[path.rpartition("/")[2]]).encode()
    parts = [body[:5], body[5:]]

    async def receive() -> Message:
        if len(parts) == 1:
            fresh.keyring.revoke(key.id)
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    kind = b"application/x-ndjson" if path.endswith("import") else b"application/json"
    headers = [(b"authorization", f"Bearer {secret}".encode()), (b"content-type", kind), (b"accept", b"*/*")]
    status, answer = asyncio.run(sent(create_app(fresh, pages=False), path, receive, *headers))
    assert status == 401 or b'"isError":true' in answer, answer
    assert fresh.namespaces(HERE) == ()


@pytest.mark.parametrize("header", ["Basic eDp5", "Bearer", "Bearer  ", "ff_1_2", "", "Bearer ff_1_2", "Bearer ü"])
def test_a_header_that_is_no_key_is_refused(fresh: Service, header: str) -> None:
    """Also on this machine before there are keys: who shows one means it."""
    with asking(fresh) as client:
        assert client.get("/v1/key", headers={b"Authorization": header.encode()}).status_code == 401


def test_a_key_in_any_case_of_the_scheme_and_none_in_a_cookie(fresh: Service) -> None:
    _, secret = fresh.keyring.create("one", "reader", ["a"])
    with asking(fresh) as client:
        assert client.get("/v1/key", headers={"Authorization": f"bearer {secret}"}).status_code == 200
        for cookie in (secret, fresh.sign_ins.begin(secret)):
            client.cookies.set(COOKIE, cookie)
            assert client.get("/v1/key").status_code == 401


@pytest.mark.parametrize(
    ("role", "reads", "writes", "configures"),
    [("reader", 200, 403, 403), ("writer", 200, 201, 403), ("admin", 200, 201, 200)],
)
def test_a_role_may_do_what_those_before_it_may(
    fresh: Service, role: str, reads: int, writes: int, configures: int
) -> None:
    _, secret = fresh.keyring.create("one", role, ["a"])  # type: ignore[arg-type]
    with asking(fresh, secret) as client:
        space = "/v1/namespaces/a"
        assert client.get(f"{space}/memories").status_code == reads
        assert client.post(f"{space}/entities", json={"name": "Anna"}).status_code == writes
        assert client.patch(f"{space}/settings", json={"hops": 1}).status_code == configures
        assert client.get("/v1/audit").status_code == configures
