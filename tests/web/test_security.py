"""What no face should ever see: other names, other sites, bodies without end; and what every answer carries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from fivefold.service.limits import Limits
from fivefold.service.service import Service, open_service
from fivefold.web import security
from fivefold.web.app import create_app
from fivefold.web.security import CSP, Sites
from tests.support.web_requests import sent

pytestmark = pytest.mark.slow

HERE = "/v1/namespaces/default"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A store with narrow limits."""
    path = str(tmp_path_factory.mktemp("small") / "memory.db")
    service = open_service(path, "wordllama", limits=Limits(1_000, 5_000, 100, 5, 2, 10, per_minute=0))
    yield service
    service.close()


@pytest.fixture(scope="module")
def client(small: Service) -> Iterator[TestClient]:
    sites = Sites(("memory.example.org",), ("https://app.example.org",))
    app = create_app(small, pages=False, mcp=False, sites=sites)
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50_000)) as asks:
        yield asks


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8484", 200),
        ("127.0.0.1:8484", 200),
        ("[::1]:8484", 200),
        ("192.0.2.7", 200),
        ("memory.example.org", 200),
        ("MEMORY.example.org:443", 200),
        ("example.org", 421),
        ("localhost.evil", 421),
        ("127.0.0.1.evil", 421),
        ("", 421),
        ("[", 421),
        ("memory.example.org.", 421),
        ("[::1]evil.org", 421),
        ("localhost:80@evil.org", 421),
        ("localhost:80:80", 421),
        ("evil.org@localhost", 421),
    ],
)
def test_only_known_names_are_answered(client: TestClient, host: str, status: int) -> None:
    """An address cannot be made to lead here by someone else; a name can."""
    assert client.get("/health", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"Origin": "http://localhost"}, 201),
        ({"Origin": "https://app.example.org"}, 201),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Sec-Fetch-Site": "none"}, 201),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_a_page_of_another_site_changes_nothing(client: TestClient, headers: dict[str, str], status: int) -> None:
    answer = client.post(f"{HERE}/memories", json={"content": "A note"}, headers=headers)
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["type"] == "urn:fivefold:problem:other-site"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "https://app.example.org"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "https://evil.example"}, 403),
    ],
)
def test_a_page_of_another_site_leads_here_and_loads_nothing(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    assert client.get(f"{HERE}/memories?limit=1", headers=headers).status_code == status


def test_a_query_of_many_values_is_not_read(client: TestClient) -> None:
    answer = client.get(f"{HERE}/memories?" + "&".join(f"k{number}=" for number in range(101)))
    assert (answer.status_code, answer.json()["detail"]) == (422, "too many query parameters (max 100)")


def test_a_site_that_is_named_may_read_the_answer_and_no_other(client: TestClient) -> None:
    named = client.get("/health", headers={"Origin": "https://app.example.org"})
    assert named.headers["access-control-allow-origin"] == "https://app.example.org"
    other = client.get("/health", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers
    asked = {"Origin": "https://app.example.org", "Access-Control-Request-Method": "PATCH"}
    assert client.options(f"{HERE}/settings", headers=asked).status_code == 200


def test_cors_is_off_unless_a_site_is_named(small: Service) -> None:
    with TestClient(create_app(small, pages=False, mcp=False), base_url="http://localhost") as plain:
        answer = plain.get("/health", headers={"Origin": "https://app.example.org"})
        assert not [name for name in answer.headers if name.startswith("access-control")]
        asked = {"Origin": "https://app.example.org", "Access-Control-Request-Method": "POST"}
        assert plain.options(f"{HERE}/memories", headers=asked).status_code == 405


@pytest.mark.parametrize("path", ["/health", "/nothing", "/openapi.json", f"{HERE}/memories/none"])
def test_every_answer_carries_the_headers_of_safety(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"] == CSP
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_a_body_too_large_is_refused_however_it_comes(client: TestClient, small: Service) -> None:
    body = json.dumps({"content": "A note", "metadata": {"filler": "x" * 2_000}}).encode()

    def in_chunks() -> Iterator[bytes]:
        for start in range(0, len(body), 100):
            yield body[start : start + 100]

    headers = {"Content-Type": "application/json"}
    for content in (body, in_chunks()):
        answer = client.post(f"{HERE}/memories", content=content, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:fivefold:problem:body-too-large")
        assert answer.json()["limit"] == 1_000
    assert not small.engines.namespace("default").memories(text="filler")


def test_a_body_of_very_many_values_is_not_read(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MAX_BODY_VALUES", 50)
    assert client.post(f"{HERE}/memories", json={"content": "A note", "tags": ["a"] * 20}).status_code == 201
    answer = client.post(f"{HERE}/memories", json={"content": "A note", "tags": [[]] * 50})
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:fivefold:problem:body-too-large")
    assert answer.json()["detail"] == "the body has more than 50 values; send them in several"
    headers = {"Content-Type": "application/x-ndjson"}
    lines = b"".join(b'{"content": "note, number, %d"}\n' % number for number in range(40))
    assert client.post(f"{HERE}/import", content=lines, headers=headers).status_code == 200


def test_an_import_has_a_limit_of_its_own(client: TestClient) -> None:
    headers = {"Content-Type": "application/x-ndjson"}
    lines = b"".join(b'{"content": "note number %d of many"}\n' % number for number in range(60))
    assert 1_000 < len(lines) < 5_000
    assert client.post(f"{HERE}/import", content=lines, headers=headers).status_code == 200
    answer = client.post(f"{HERE}/import", content=lines * 3, headers=headers)
    assert (answer.status_code, answer.json()["limit"]) == (413, 5_000)


def test_an_import_holds_no_text_longer_than_others_do(client: TestClient) -> None:
    headers, lines = {"Content-Type": "application/x-ndjson"}, b'{"content": "one"}\n{"content": "%s"}\n' % (b"x" * 101)
    answer = client.post(f"{HERE}/import", content=lines, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:fivefold:problem:text-too-long")
    assert answer.json()["detail"].startswith("line 2: content has 101 characters")


def test_what_is_only_called_import_has_the_limit_of_all(client: TestClient) -> None:
    for path in ("memories/import", "entities/import", "memories/import/supersede"):
        assert client.patch(f"{HERE}/{path}", content=b"x" * 1_001).status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "STALL_S", 0.02)

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    status, body = asyncio.run(sent(create_app(small, pages=False, mcp=False), f"{HERE}/memories", never))
    assert (status, json.loads(body)["type"]) == (408, "urn:fivefold:problem:body-too-slow")


def test_a_body_that_breaks_off_is_the_clients_error(small: Service, caplog: pytest.LogCaptureFixture) -> None:
    """A malformed chunk ends the connection, which the application sees as this."""
    left: list[Message] = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]

    async def broken() -> Message:
        return left.pop(0)

    status, body = asyncio.run(sent(create_app(small, pages=False, mcp=False), f"{HERE}/memories", broken))
    assert (status, json.loads(body)["type"]) == (400, "urn:fivefold:problem:malformed-body")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("memories", {"content": "x", "tags": [1] * 100}, "body.tags.0: "),
        ("memories", {f"k{number}": 1 for number in range(60)}, "body.k0: "),
        ("memories/batch", {"records": [1] * 2}, "body.records.0: "),
        ("memories/batch", {"records": [{"k": 1, "l": 1}] * 2}, "body.records.0.k: "),
        ("memories/batch", {"records": []}, "body.records: "),
        ("memories/batch", {"records": {}}, "body.records: "),
        ("recall", {"question": "x", "history": [1] * 100}, "body.history.0: "),
        ("recall", {"question": "x", **{f"k{number}": 1 for number in range(60)}}, "body.k0: "),
        ("feedback", {"recall_id": "x", "used": [1] * 100}, "body.used.0: "),
        ("entities/1/split", {"name": "x", "memories": [1] * 100}, "body.memories.0: "),
    ],
)
def test_of_many_faults_the_first_is_told(client: TestClient, path: str, body: object, told: str) -> None:
    """To find and word them all would keep everyone else waiting."""
    answer = client.post(f"{HERE}/{path}", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"].startswith(told)
    assert len(answer.json()["errors"]) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("POST", "memories", {"content": "x" * 101}, "text-too-long"),
        ("POST", "memories", {"content": "x", "user_text": "x" * 101}, "text-too-long"),
        ("POST", "memories/batch", {"records": [{"content": "x" * 101}]}, "text-too-long"),
        ("POST", "memories/batch", {"records": [{"content": "x"}] * 3}, "batch-too-large"),
        ("PATCH", "memories/none", {"content": "x" * 101}, "text-too-long"),
        ("POST", "memories/batch", {"records": [1] * 3}, "batch-too-large"),
        ("POST", "messages", {"session_id": "s", "messages": [{"role": "user"}] * 3}, "batch-too-large"),
        (
            "POST",
            "messages",
            {"session_id": "s", "messages": [{"role": "user", "content": "x" * 101}]},
            "text-too-long",
        ),
        (
            "POST",
            "messages",
            {"session_id": "s", "messages": [{"content": [{"type": "text", "text": "x" * 101}]}]},
            "text-too-long",
        ),
        ("POST", "recall", {"question": "x" * 101}, "text-too-long"),
        ("POST", "recall", {"question": "x" * 50, "history": ["x" * 50, "x"]}, "text-too-long"),
        ("POST", "understand", {"question": "x" * 101}, "text-too-long"),
        ("POST", "context", {"question": "x", "k": 6}, "k-too-large"),
        ("POST", "plan", {"question": "x", "k": 6}, "k-too-large"),
        ("GET", "memories?limit=11", None, "page-too-large"),
        ("GET", "sessions?limit=11", None, "page-too-large"),
        ("GET", "entities?limit=11", None, "page-too-large"),
        ("GET", "entities/1/edges?limit=11", None, "page-too-large"),
        ("GET", "entities/1/memories?limit=11", None, "page-too-large"),
    ],
)
def test_each_limit_has_an_error_of_its_own(
    client: TestClient, method: str, path: str, body: object, kind: str
) -> None:
    answer = client.request(method, f"{HERE}/{path}", json=body)
    assert (answer.status_code, answer.json()["type"]) == (422, f"urn:fivefold:problem:{kind}")
    assert isinstance(answer.json()["limit"], int)


def test_a_body_of_another_type_is_refused(client: TestClient) -> None:
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        answer = client.post(f"{HERE}/memories", content=b'{"content": "x"}', headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (415, "urn:fivefold:problem:unsupported-media-type")


@pytest.mark.parametrize("body", [b"{", b"", b"nonsense", b'{"content": "x"', b"\xff\xfe", b"[" * 900, b"1" * 900])
def test_a_body_that_is_no_json_is_told_so(client: TestClient, body: bytes) -> None:
    answer = client.post(f"{HERE}/memories", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in {400, 422}
    assert answer.headers["content-type"] == "application/problem+json"
