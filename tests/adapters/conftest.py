"""The libraries are real and stay on this machine: whatever of theirs would leave it fails the test."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"

import pytest

import fivefold
from fivefold.engine import Engine
from tests.adapters import APART, is_here

collect_ignore = [f"test_{module}.py" for module in APART if not is_here(module)]
if find_spec("langchain_tests") is None:
    collect_ignore.append("test_suites.py")

FACTS = [
    {"id": "badge", "content": "My badge ID is E-47821", "speaker": "user", "event_at": "2025-01-06T09:00:00Z"},
    {"id": "key", "content": "The spare key is with Mrs Okafor", "event_at": "2025-01-07T09:00:00Z"},
    {"id": "tea", "content": "I take my tea without milk", "speaker": "user", "event_at": "2025-01-08T09:00:00Z"},
    {"id": "fern", "content": "Water the ferns on Fridays", "type": "procedure", "event_at": "2025-01-09T09:00:00Z"},
]


@pytest.fixture(autouse=True)
def _stays_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Addresses elsewhere are refused, and noted, since libraries tend to go on without saying so."""
    tried: list[object] = []
    connect = socket.socket.connect

    def local(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
            tried.append(address)
            raise OSError("no address but this machine's may be reached")
        connect(self, address)

    def unknown(host: object, *_: object, **__: object) -> Any:
        tried.append(host)
        raise OSError("no name may be looked up")

    monkeypatch.setattr(socket.socket, "connect", local)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    yield
    assert tried == []


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A few memories to retrieve."""
    with fivefold.open(tmp_path_factory.mktemp("facts") / "memory.db", embedder="wordllama") as opened:
        opened.remember_many(FACTS)
        yield opened


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engine]:
    """An empty store to talk into."""
    with fivefold.open(tmp_path / "memory.db", embedder="wordllama") as opened:
        yield opened
