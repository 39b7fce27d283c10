"""`fivefold mcp` on the command line: options that do not go together are refused."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.shell import process

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--port", "9"], "--host, --port and --json need --http; without it a client speaks over standard streams"),
        (["--http", "-n", "a"], "--namespace and --all-namespaces have no effect over HTTP: the API key decides"),
        (["-n", " "], "namespace is empty"),
        (
            ["--http", "--host", "0.0.0.0"],
            "host '0.0.0.0' can be reached from other machines, and this store has no keys",
        ),
    ],
)
def test_options_that_cannot_be_meant_are_said(args: list[str], told: str, tmp_path: Path) -> None:
    ran = process("mcp", *args, folder=str(tmp_path))
    assert ran.code == 1
    assert ran.err.startswith(f"fivefold: {told}")
    assert ran.out == ""


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = process("mcp", "--http", "--port", str(taken.getsockname()[1]), folder=str(tmp_path))
    assert ran.code == 1
    assert "cannot be opened" in ran.err
    assert "Traceback" not in ran.err


def test_json_goes_with_http(tmp_path: Path) -> None:
    ran = process("mcp", "--json", folder=str(tmp_path))
    assert ran.code == 1
    assert "--json need --http" in ran.json["error"]["message"]
    assert not (tmp_path / "fivefold.db").exists()
