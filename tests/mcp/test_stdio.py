"""The process a client starts: what it writes to its output, when it loads, how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fivefold
from tests.cli.test_lazy import loaded
from tests.support.mcp_client import command

pytestmark = pytest.mark.slow

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(id: int, tool: str, /, **given: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": given}}


class Raw:
    """The process itself, spoken to line by line."""

    def __init__(self, path: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command(path, *options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def say(self, *messages: object) -> None:
        lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in messages]
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self, number: int | None = None) -> tuple[int, list[Any], str]:
        """Close its input, or send a signal; gives the exit code, what else it answered, and its complaints."""
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


def memories(path: str | Path) -> int:
    with fivefold.open(path) as mem:
        assert all(finding.ok for finding in mem.doctor())
        return mem.stats().memories


def test_the_greeting_loads_no_engine(tmp_path: Path) -> None:
    code = f"""
import io, json, sys
sys.argv = ["fivefold", "mcp", "--store", {str(tmp_path / "new.db")!r}]
sys.stdin = io.TextIOWrapper(io.BytesIO({json.dumps(HELLO)!r}.encode() + b"\\n"))
from fivefold.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
sys.stdout.flush()
"""
    assert loaded(code, tmp_path) == set()
    assert not (tmp_path / "new.db").exists()


def test_standard_streams_need_the_extra_of_mcp_alone(tmp_path: Path) -> None:
    """Without what only `fivefold serve` needs."""
    path = str(tmp_path / "new.db")
    talk = "\n".join(map(json.dumps, (HELLO, READY, call(1, "remember", content="The kettle is new"))))
    code = f"""
import io, sys
for name in ("fastapi", "jinja2", "prometheus_client", "multipart", "python_multipart"):
    sys.modules[name] = None
sys.argv = ["fivefold", "mcp", "--store", {path!r}, "--embedder", "wordllama"]
sys.stdin = io.TextIOWrapper(io.BytesIO({talk!r}.encode() + b"\\n"))
from fivefold.cli import main
main()
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert memories(path) == 1


def test_output_holds_the_protocol_alone_and_ends_with_the_input(tmp_path: Path) -> None:
    raw = Raw(str(tmp_path / "new.db"))
    raw.say(HELLO)
    assert raw.hear()["result"]["serverInfo"]["name"] == "fivefold"
    raw.say(READY, b"this is no JSON", b'{"jsonrpc": "2.0"', b"\xff\xfe", b"[]", b'"\\ud800"')
    raw.say(call(1, "remember", content="The kettle is new", id="kettle"))
    assert raw.hear()["id"] == 1
    raw.say(call(2, "recall", question="what is new?"), b"{}")
    assert raw.hear()["id"] == 2
    assert raw.end() == (0, [], "")
    assert memories(tmp_path / "new.db") == 1


def test_what_was_accepted_is_written_when_the_input_closes(tmp_path: Path) -> None:
    """The client is gone before the store is open."""
    raw = Raw(str(tmp_path / "new.db"), "--embedder", "wordllama")
    raw.say(
        HELLO, READY, *(call(n, "remember", content=f"Crate {n} holds {n} bolts", id=f"crate {n}") for n in range(9))
    )
    code, _, err = raw.end()
    assert (code, err) == (0, "")
    assert memories(tmp_path / "new.db") == 9


def test_a_signal_ends_it_when_what_was_accepted_is_written(tmp_path: Path) -> None:
    raw = Raw(str(tmp_path / "new.db"), "--embedder", "wordllama")
    raw.say(
        HELLO, READY, *(call(n, "remember", content=f"Crate {n} holds {n} bolts", id=f"crate {n}") for n in range(5))
    )
    assert raw.hear()["id"] == 0
    answers = [raw.hear()["id"]]
    code, rest, err = raw.end(signal.SIGTERM)
    assert (code, err) == (0, "")
    assert {*answers, *(answer["id"] for answer in rest)} <= set(range(5))
    assert memories(tmp_path / "new.db") == 5


def test_a_kill_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    raw = Raw(str(tmp_path / "new.db"), "--embedder", "wordllama")
    raw.say(HELLO, READY)
    assert raw.hear()["id"] == 0
    raw.say(*(call(n, "remember", content=f"Crate {n} holds {n} bolts", id=f"crate {n}") for n in range(1, 30)))
    said = [raw.hear()["result"]["content"][0]["text"] for _ in range(5)]
    answered = {text.removeprefix("Remembered as ").removesuffix(".") for text in said}
    raw.end(signal.SIGKILL)
    with fivefold.open(tmp_path / "new.db") as mem:
        assert all(finding.ok for finding in mem.doctor())
        assert answered <= {memory.id for memory in mem.memories()}
