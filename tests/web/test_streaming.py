"""All of a namespace out and in, as lines that no one holds at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fivefold.service.service import Service, open_service
from tests.web.conftest import UNLIMITED, asking

pytestmark = pytest.mark.slow

LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def both(sample_copy: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, TestClient]]:
    """The sample, and a store with nothing in it."""
    empty = str(tmp_path_factory.mktemp("empty") / "memory.db")
    services = [open_service(path, limits=UNLIMITED) for path in (sample_copy, empty)]
    with asking(services[0]) as full, asking(services[1]) as new:
        yield full, new
    for service in services:
        service.close()


def test_what_was_exported_comes_back_as_it_was(both: tuple[TestClient, TestClient], service: Service) -> None:
    full, new = both
    with full.stream("GET", "/v1/namespaces/default/export") as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines = [line for line in answer.iter_lines() if line]
    assert len(lines) == service.engines.namespace("default").stats().memories
    kept = [line for line in lines if json.loads(line)["session_id"] == "s01"]

    def body() -> Iterator[bytes]:
        for line in kept:
            yield line.encode() + b"\n"

    report = new.post("/v1/namespaces/copy/import", content=body(), headers=LINES)
    assert report.status_code == 200, report.text
    assert len(report.json()["stored"]) == len(kept)
    again = new.post("/v1/namespaces/copy/import", content=body(), headers={"Content-Type": "application/octet-stream"})
    assert (again.json()["stored"], len(again.json()["merged"])) == ([], len(kept))
    exported = new.get("/v1/namespaces/copy/export").text.splitlines()
    assert {json.loads(line)["id"]: json.loads(line)["content"] for line in exported} == {
        json.loads(line)["id"]: json.loads(line)["content"] for line in kept
    }


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"content": "Fine"}\n{"content": 5}\n', "line 2: content must be text"),
        (b'{"content": "Fine"}\nnonsense\n', "line 2: not JSON"),
        (b"[1]\n", "line 1"),
        (b'{"content": "\xff"}\n', "the body is not UTF-8 text"),
    ],
)
def test_a_line_that_cannot_be_read_stops_all(both: tuple[TestClient, TestClient], body: bytes, told: str) -> None:
    """And the sentence speaks of the line, not of a file of ours."""
    _, new = both
    answer = new.post("/v1/namespaces/wrong/import", content=body, headers=LINES)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert "/" not in answer.json()["detail"]
    assert new.get("/v1/namespaces/wrong/memories").json()["items"] == []


def test_nothing_exported_is_nothing(both: tuple[TestClient, TestClient]) -> None:
    _, new = both
    assert new.get("/v1/namespaces/none/export").text == ""
    assert new.post("/v1/namespaces/none/import", content=b"", headers=LINES).json()["stored"] == []


def test_no_file_is_left_behind(
    both: tuple[TestClient, TestClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    full, new = both
    full.get("/v1/namespaces/default/export")
    new.post("/v1/namespaces/one/import", content=b'{"content": "A line"}\n', headers=LINES)
    new.post("/v1/namespaces/one/import", content=b"nonsense", headers=LINES)
    assert list(tmp_path.iterdir()) == []
