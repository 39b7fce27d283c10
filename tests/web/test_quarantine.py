"""Records that wait for approval: only an admin sees them and decides, by REST and by a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fivefold.service.service import Service, open_service
from fivefold.values.access import Role
from fivefold.web.app import create_app

pytestmark = pytest.mark.slow

AT = "/v1/namespaces/default"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = open_service(str(tmp_path / "memory.db"))
    yield service
    service.close()


def test_an_admin_decides_by_rest_and_by_the_page(service: Service) -> None:
    roles: tuple[Role, ...] = ("writer", "admin")
    secrets = {role: service.keyring.create(role, role, ["default"])[1] for role in roles}
    with TestClient(create_app(service, mcp=False), base_url="http://localhost", client=("127.0.0.1", 1)) as client:
        writer, admin = ({"Authorization": f"Bearer {secret}"} for secret in secrets.values())
        client.patch(f"{AT}/settings", json={"quarantine": "origin:tool"}, headers=admin)
        for id in ("one", "two", "three"):
            record = {"id": id, "content": f"Page {id} says <b>hello</b>", "origin": "tool"}
            answer = client.post(f"{AT}/memories", json=record, headers=writer)
            assert (answer.status_code, answer.json()["quarantined"]) == (201, [id])
        assert client.get(f"{AT}/quarantine", headers=writer).status_code == 403
        assert client.post(f"{AT}/quarantine/approve", json={"ids": ["one"]}, headers=writer).status_code == 403
        assert client.get(f"{AT}/memories/one", headers=admin).status_code == 404
        listed = client.get(f"{AT}/quarantine", params={"filter": "text:two"}, headers=admin).json()
        assert [item["id"] for item in listed["items"]] == ["two"]
        approved = client.post(f"{AT}/quarantine/approve", json={"ids": ["one"]}, headers=admin)
        assert approved.json()["stored"] == ["one"]
        for body in ({}, {"ids": ["one"], "filter": ""}, {"every": True}):
            assert client.post(f"{AT}/quarantine/reject", json=body, headers=admin).status_code == 422
        assert client.post(f"{AT}/quarantine/approve", json={"ids": ["one"]}, headers=admin).status_code == 404

        client.headers["Origin"] = "http://localhost"
        client.post("/login", data={"key": secrets["admin"]})
        page = client.get("/quarantine")
        assert "Page two says &lt;b&gt;hello" in page.text
        client.follow_redirects = False
        assert client.post("/memories/two/decide", data={"decision": "approve"}).status_code == 303
        assert client.post("/memories/three/decide", data={"decision": "reject"}).status_code == 303
        assert client.post("/memories/three/decide", data={"decision": "keep"}).status_code == 422
        assert [item.id for item in service.engines.namespace("default").memories()] == ["two", "one"]
        assert service.engines.namespace("default").stats().quarantined == 0
