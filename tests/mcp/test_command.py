"""`fivefold mcp` on the command line: what cannot be meant is said, and what is offered can be read."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from fivefold.mcp.prompts import PROMPTS
from fivefold.mcp.tools import TOOLS
from tests.support.shell import process


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--port", "9"], "--host and --port go with --http; without it a client speaks over standard streams"),
        (["--http", "-n", "a"], "over HTTP a key says which namespaces it reaches; leave --namespace and the like out"),
        (["-n", " "], "namespace is empty; give it at least one visible character"),
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


def test_what_is_offered_can_be_read_without_a_client(tmp_path: Path) -> None:
    offered = process("mcp", "--json", folder=str(tmp_path)).json
    assert [tool["name"] for tool in offered["tools"]] == list(TOOLS)
    assert all(tool["inputSchema"] and tool["outputSchema"] for tool in offered["tools"])
    assert [prompt["name"] for prompt in offered["prompts"]] == list(PROMPTS)
    assert not (tmp_path / "fivefold.db").exists()
