"""Without keys, only programs of the same user are let in, and none that speaks as a plain proxy does."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from starlette.requests import Request

from fivefold.web.auth import Peer, is_local

pytestmark = pytest.mark.slow

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
NOBODY = 65_534


def request(version: str = "1.1", **state: object) -> Request:
    headers = [(b"host", b"127.0.0.1:8484")]
    scope = {"type": "http", "http_version": version, "client": ("127.0.0.1", 5), "headers": headers, "state": state}
    return Request(scope)


@contextmanager
def connected(host: str, as_user: int | None = None) -> Iterator[Peer]:
    """A connection on this machine, from a process of this user or of another."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listener:
        ready, go_on = os.pipe()
        child = os.fork()
        if child == 0:
            if as_user is not None:
                os.setuid(as_user)
            os.close(go_on)
            client = socket.create_connection(listener.getsockname()[:2])
            os.read(ready, 1)
            client.close()
            os._exit(0)
        os.close(ready)
        accepted, address = listener.accept()
        with accepted:
            yield Peer(address[:2], accepted.getsockname()[:2])
        os.close(go_on)
        assert os.waitpid(child, 0)[1] == 0


@linux
@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1"])
def test_a_program_of_this_user_is_known(host: str) -> None:
    with connected(host) as peer:
        assert peer.owner == os.geteuid()
        assert is_local(request(peer=peer))


@linux
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
def test_a_program_of_another_user_is_not_let_in() -> None:
    with connected("127.0.0.1", NOBODY) as peer:
        assert peer.owner == NOBODY
        assert not is_local(request(peer=peer))


@linux
def test_a_connection_that_is_not_there_belongs_to_nobody() -> None:
    assert not is_local(request(peer=Peer(("127.0.0.1", 1), ("127.0.0.1", 2))))


def test_a_proxy_of_old_http_is_not_this_machine() -> None:
    assert is_local(request("1.1"))
    assert not is_local(request("1.0"))
