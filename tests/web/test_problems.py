"""Problem details: every error of the library and of the web has a kind, a status and plain words."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from fivefold import errors
from fivefold.models.remote import RemoteError
from fivefold.service.problems import INSIDE, KINDS
from fivefold.service.service import Service
from fivefold.values.access import Refused, Unauthorized
from fivefold.web.problems import problem_and_headers
from tests.web.conftest import asking

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (errors.InvalidInput("x"), 422, "invalid-input"),
        (errors.UnknownRecipe("x"), 422, "unknown-recipe"),
        (errors.NotFound("x"), 404, "not-found"),
        (errors.EmbedderMismatch("a", "b@1", "c@2"), 409, "embedder-mismatch"),
        (errors.MissingExtra("x", "y"), 501, "missing-extra"),
        (errors.EmbedderError("x"), 503, "model-failed"),
        (errors.RerankerError("x"), 503, "model-failed"),
        (RemoteError("x"), 503, "model-failed"),
        (errors.StoreError("/var/lib/x.db"), 503, "store-away"),
        (errors.NewerSchema("x"), 503, "store-away"),
        (errors.ServerAway("x"), 503, "store-away"),
        (errors.OwnerOnly("x"), 503, "store-away"),
        (errors.ReadOnly("'/var/lib/x.db' is read-only"), 403, "read-only"),
        (errors.DiskFull("x"), 507, "disk-full"),
        (errors.StoreClosed("x"), 503, "stopping"),
        (Unauthorized("x"), 401, "unauthorized"),
        (Refused("x"), 403, "refused"),
    ],
)
def test_every_error_of_the_library_has_a_kind(error: Exception, status: int, kind: str) -> None:
    found, headers = problem_and_headers(error)
    assert (found.status, found.type) == (status, f"urn:fivefold:problem:{kind}")
    assert (found.detail == str(error)) == (kind not in INSIDE)
    assert ("Retry-After" in headers) == (status == 503)
    assert ("WWW-Authenticate" in headers) == (status == 401)


def test_no_error_of_the_library_is_without_one() -> None:
    made: dict[type, tuple[Any, ...]] = {
        errors.EmbedderMismatch: ("a", "b@1", "c@2"),
        errors.RetiredEmbedder: ("a", "b@1", "b@2"),
        errors.DamagedStore: ("x", "y"),
        errors.InvalidFile: ("x", "y"),
        errors.MissingExtra: ("x", "y"),
        errors.QueueFull: (1, 2),
        errors.PluginError: ("route", "x", "y", "z"),
    }
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.FivefoldError) and kind is not errors.FivefoldError:
            assert problem_and_headers(kind(*made.get(kind, ("x",))))[0].kind != "internal", kind


def test_what_was_not_foreseen_tells_nothing_of_the_inside_but_an_id_that_is_logged(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the store that no one has thought of."""

    def broken() -> tuple[str, ...]:
        raise RuntimeError("secret inside")

    monkeypatch.setattr(service.engines.store, "namespaces", broken)
    with asking(service) as client, caplog.at_level(logging.ERROR, "fivefold"):
        answer = client.get("/v1/namespaces")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    id = answer.json()["error_id"]
    (line,) = [record for record in caplog.records if getattr(record, "error_id", None) == id]
    assert line.exc_info is not None
    assert isinstance(line.exc_info[1], RuntimeError)


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/v1", 404, "no-such-path"),
        ("GET", "/v1/nothing", 404, "no-such-path"),
        ("GET", "/v1/namespaces/default/memories/", 404, "no-such-path"),
        ("PUT", "/v1/namespaces/default/memories", 405, "wrong-method"),
        ("BREW", "/v1/key", 405, "wrong-method"),
        ("GET", "/v1/namespaces/default/memories/none", 404, "not-found"),
        ("GET", "/v1/namespaces/default/entities/x", 422, "invalid-input"),
        ("GET", "/v1/namespaces/default/entities/99999999999999999999", 422, "invalid-input"),
    ],
)
def test_the_webs_own_errors_are_problems_too(
    client: TestClient, method: str, path: str, status: int, kind: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    told = answer.json()
    assert (told["type"], told["status"], told["instance"]) == (f"urn:fivefold:problem:{kind}", status, path)
    assert told["title"]
    assert told["detail"]


def test_a_wrong_method_is_told_the_right_ones(client: TestClient) -> None:
    assert client.put("/v1/namespaces/default/memories").headers["allow"] == "GET, POST"
    assert client.post("/v1/namespaces/default/memories/x").headers["allow"] == "DELETE, GET, PATCH"


def test_each_value_that_cannot_be_used_is_named(client: TestClient) -> None:
    told = client.post("/v1/namespaces/default/memories", json={"content": 1, "importance": 2, "unheard": 3}).json()
    assert {fault["field"] for fault in told["errors"]} == {"body.content", "body.importance", "body.unheard"}


def test_the_page_tells_of_every_kind() -> None:
    text = (ROOT / "docs/serve.md").read_text("utf-8")
    told = dict(re.findall(r"^\| `([a-z][a-z-]+)` \| (\d{3}) \|", text, re.MULTILINE))
    assert {kind: int(status) for kind, status in told.items()} == {kind: status for kind, (status, _) in KINDS.items()}
