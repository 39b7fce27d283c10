"""The server as a process: how it starts, what it refuses to do, and how it stops without losing anything."""

from __future__ import annotations

import signal
import socket
import threading
import time
from pathlib import Path
from typing import cast

import httpx
import pytest
from click import Command
from click.testing import CliRunner

import fivefold
import fivefold.cli.serve
from fivefold.cli.app import command_tree
from fivefold.errors import InvalidInput
from fivefold.service.audit import Audit
from fivefold.service.keys import Keyring
from fivefold.service.service import Service
from fivefold.stores import open_store
from fivefold.web.app import create_app
from fivefold.web.security import is_loopback
from fivefold.web.server import CannotListen, listen, until_stopped, url_of
from tests.support.web_server import Served

pytestmark = pytest.mark.slow


def test_what_was_accepted_is_finished(tmp_path: Path) -> None:
    """Told to stop while writes are under way, it answers those, takes no more, keeps its notes and ends well."""
    path = str(tmp_path / "memory.db")
    server = Served(path, "--embedder", "wordllama", "--maintain", "24")
    answered: list[list[str]] = []
    refused = threading.Event()

    def write(writer: int) -> None:
        with server.asking(None) as client:
            for turn in range(1_000):
                body = {"content": f"Writer {writer} says {turn}", "session_id": f"talk {writer}"}
                try:
                    answer = client.post("/v1/namespaces/default/memories", json=body)
                except httpx.TransportError:
                    refused.set()
                    return
                assert answer.status_code == 201, answer.text
                answered.append(answer.json()["stored"])

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    while len(answered) < 8:
        time.sleep(0.01)
    recalled = server.client.post("/v1/namespaces/default/recall", json={"question": "who says?", "recipe": "lexical"})
    assert server.stop() == 0
    for writer in writers:
        writer.join()
    assert refused.is_set()
    with fivefold.open(path) as engine:
        stored = {memory.id for turn in range(4) for memory in engine.turns(f"talk {turn}")}
        assert {id for ids in answered for id in ids} <= stored
        engine.feedback(recalled.json()["id"], used=[])
        noted = Audit(engine.store).entries(2_000)
    assert [entry.action for entry in noted].count("remember") >= len(answered)
    assert "recall" in {entry.action for entry in noted}


def test_a_port_that_is_taken_is_told_in_plain_words(service: Service) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match="Address already in use; choose another, or any free one with port=0"):
            until_stopped(service, create_app(service), "127.0.0.1", port, 1, pytest.fail)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback


def test_an_address_that_is_none_is_told_so() -> None:
    with pytest.raises(CannotListen, match="cannot be opened"):
        listen("no such host.invalid", 0)
    with listen("::1", 0) if socket.has_ipv6 else listen("127.0.0.1", 0) as bound:
        assert url_of(bound).startswith("http://")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org"])
def test_other_machines_are_not_let_in_without_keys(service: Service, host: str) -> None:
    with pytest.raises(InvalidInput, match=r"create one first with Keyring\.create\(\)"):
        until_stopped(service, create_app(service), host, 0, 1, pytest.fail)


def test_a_key_made_while_the_server_runs_closes_it_to_all_without_one(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with Served(path) as server:
        assert server.client.get("/v1/key").json()["role"] == "admin"
        store = open_store(path)
        key, secret = Keyring(store).create("first", "reader", ["default"])
        store.close()
        assert server.client.get("/v1/key").status_code == 401
        with server.asking(secret) as client:
            assert client.get("/v1/key").json()["key_id"] == key.id
        assert server.stop(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--allow-origin", "*"), "takes a site such as https://app.example.org"),
        (("--allow-origin", "https://a/b"), "takes a site such as"),
        (("--log-level", "loud"), "debug, info, warning, error"),
        (("--log-format", "xml"), "auto, json, plain"),
        (("--embedder", "best"), "unknown embedder 'best'"),
    ],
)
def test_options_that_mean_nothing_are_told_so(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    done = CliRunner().invoke(
        cast("Command", command_tree("serve")), ["serve", "--store", str(tmp_path / "memory.db"), *options]
    )
    assert isinstance(done.exception, InvalidInput)
    assert told in str(done.exception)
    assert not (tmp_path / "memory.db").exists()
