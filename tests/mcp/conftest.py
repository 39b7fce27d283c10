"""Servers under test: a small store, talked to in every way there is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import fivefold
from tests.support.mcp_client import HIDDEN, MODERN, RECORDS, Talk, command, over_http, over_stdio, within

AT = "2025-01-06T09:00:00Z"


def filled(path: Path) -> str:
    """A store with two namespaces."""
    for namespace, records in (("default", RECORDS), ("other", HIDDEN)):
        with fivefold.open(path, namespace=namespace, embedder="wordllama") as mem:
            mem.remember_many({"event_at": AT, **record} for record in records)
    return str(path)


@contextmanager
def listening(path: str, *options: str) -> Iterator[str]:
    """The address of `fivefold mcp --http`, which is stopped as a service is."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("FIVEFOLD_")}
    args = [sys.executable, *command(path, "--http", "--port", "0", "--json", *options)]
    with subprocess.Popen(args, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            assert process.wait(60) == 0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled(tmp_path_factory.mktemp("mcp") / "small.db")


@pytest.fixture(scope="module", params=["stdio", "http, no handshake"])
def talk(store: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Talk]:
    """Both ways in and both forms of the protocol, each on a copy of its own; other tests choose what they need."""
    way, _, form = request.param.partition(", ")
    mode = MODERN if form else "legacy"
    path = str(shutil.copy(store, tmp_path_factory.mktemp("talk") / "small.db"))
    if way == "within":
        with within(path, mode=mode) as opened:
            yield opened
    elif way == "stdio":
        with over_stdio(path, mode=mode) as opened:
            yield opened
    else:
        with listening(path) as url, over_http(url, mode=mode) as opened:
            yield opened
