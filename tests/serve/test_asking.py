"""Who asks: keys in the header, no key on this machine until the first one exists, and never through a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fivefold.serve.asking import COOKIE, FORWARDED
from fivefold.serve.service import Service, open_service
from tests.serve.conftest import UNLIMITED, asking


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


@pytest.mark.parametrize("header", FORWARDED)
def test_what_comes_through_a_proxy_does_not_come_from_this_machine(fresh: Service, header: str) -> None:
    with asking(fresh) as client:
        assert client.get("/v1/key", headers={header: "127.0.0.1"}).status_code == 401


@pytest.mark.parametrize("header", ["Basic eDp5", "Bearer", "Bearer  ", "ff_1_2", "", "Bearer ff_1_2", "Bearer ü"])
def test_a_header_that_is_no_key_is_refused(fresh: Service, header: str) -> None:
    """Also on this machine before there are keys: who shows one means it."""
    with asking(fresh) as client:
        assert client.get("/v1/key", headers={b"Authorization": header.encode()}).status_code == 401


def test_a_key_in_any_case_of_the_scheme_and_none_in_a_cookie(fresh: Service) -> None:
    _, secret = fresh.keyring.create("one", "reader", ["a"])
    with asking(fresh) as client:
        assert client.get("/v1/key", headers={"Authorization": f"bearer {secret}"}).status_code == 200
        client.cookies.set(COOKIE, secret)
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
