"""Servers under test: real processes, and the same application within this one where no process is needed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from fivefold.service.limits import Limits
from fivefold.service.service import Service, open_service
from fivefold.web.app import create_app
from tests.support.web_server import Served

UNLIMITED = Limits(per_minute=0)
_APPS: dict[int, tuple[Service, FastAPI]] = {}
"""Made once for each service, since that takes longer than most of what is asked."""


@pytest.fixture(scope="module")
def sample_copy(sample_path: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample year, to write to."""
    folder: Path = tmp_path_factory.mktemp("served")
    shutil.copy(sample_path, folder / "sample.db")
    return str(folder / "sample.db")


@pytest.fixture(scope="module")
def served(sample_copy: str) -> Iterator[Served]:
    """A server without keys on a copy of the sample."""
    with Served(sample_copy) as server:
        yield server


@pytest.fixture(scope="module")
def service(sample_copy: str) -> Iterator[Service]:
    """A copy of the sample, opened as the server opens it."""
    opened = open_service(sample_copy, limits=UNLIMITED)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[TestClient]:
    """Asks the REST interface on that service, from this machine and without a key."""
    with asking(service) as asks:
        yield asks


def asking(service: Service, key: str | None = None, address: str = "127.0.0.1") -> TestClient:
    """A client of the REST interface within this process."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    if id(service) not in _APPS:
        _APPS[id(service)] = service, create_app(service, pages=False, mcp=False)
    return TestClient(_APPS[id(service)][1], base_url="http://localhost", client=(address, 50_000), headers=headers)
