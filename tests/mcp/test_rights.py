"""Who the caller on standard streams is: one namespace, all of them, or what a key may; and what is noted of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

import fivefold
from fivefold.service.audit import Audit
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from tests.support.mcp_client import RECORDS, text_of, within


def test_a_caller_who_gives_up_is_let_go_and_the_rest_goes_on(store: str) -> None:
    with within(store) as talk:
        given = {"question": "what is my badge ID?", "effort": "high"}

        async def impatient() -> bool:
            with anyio.move_on_after(0.0) as waiting:
                await talk.client.call_tool("recall", given)
            return waiting.cancelled_caught

        assert talk.ask(impatient)
        assert talk.done("recall", **given)["sources"]


def test_one_namespace_unless_all_are_allowed(store: str) -> None:
    with within(store, "other") as talk:
        assert talk.done("stats")["namespace"] == "other"
        assert "only the namespace this was started for" in text_of(talk.call("stats", namespace="default"))
    with within(store, "other", everywhere=True) as talk:
        assert talk.done("stats")["namespace"] == "other"
        assert talk.done("stats", namespace="default")["memories"] == len(RECORDS) + 1


@pytest.fixture(scope="module")
def keys(store: str) -> dict[str, str]:
    opened = open_store(store)
    try:
        ring = Keyring(opened)
        return {role: ring.create(role, role, ["default"])[1] for role in ("reader", "writer")}
    finally:
        opened.close()


def test_a_key_of_the_environment_has_its_own_rights(store: str, keys: dict[str, str]) -> None:
    with within(store, secret=keys["reader"]) as talk:
        assert talk.done("stats")["namespace"] == "default"
        assert "needs a writer's" in text_of(talk.call("remember", content="No"))
        assert "does not reach namespace 'other'" in text_of(talk.call("stats", namespace="other"))
        with pytest.raises(MCPError, match="does not reach namespace 'other'"):
            talk.ask(talk.client.read_resource, "fivefold://other/memories/vault")
    with within(store, secret=keys["writer"]) as talk:
        assert talk.done("remember", content="The writer was here", id="here")["stored"] == ["here"]
    with within(store, secret="ff_000000000000_" + "0" * 48) as talk:
        assert "this API key is not valid" in text_of(talk.call("stats"))


def test_calls_are_noted(store: str, keys: dict[str, str]) -> None:
    with within(store, secret=keys["writer"]) as talk:
        talk.done("remember", content="The audit is on Friday", id="audit")
        talk.call("forget", id="audit")
        talk.call("recall", question="when is the audit?")
        talk.call("stats", namespace="other")
        talk.call("forget", id="unknown")
        talk.done("remember", content="I live in Bergen now", supersedes="home", id="moved")
        talk.done("sessions", session_id="monday")
        talk.done("sessions")
    noted = [(entry.action, entry.namespace, entry.subject, entry.outcome) for entry in audit(store)]
    assert noted[:8] == [
        ("sessions", "default", None, "ok"),
        ("session", "default", "monday", "ok"),
        ("supersede", "default", "home", "ok"),
        ("forget", "default", "unknown", "failed"),
        ("stats", "other", None, "refused"),
        ("recall", "default", None, "ok"),
        ("forget", "default", "audit", "ok"),
        ("remember", "default", "audit", "ok"),
    ]


def test_a_write_that_fails_unforeseen_is_noted_too(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> Any:
        raise RuntimeError("not foreseen")

    monkeypatch.setattr(fivefold.Engine, "remember", fails)
    with within(store) as talk:
        assert talk.call("remember", content="Lost", id="lost").is_error
    noted = audit(store)[0]
    assert (noted.action, noted.subject, noted.outcome) == ("remember", "lost", "failed")


def audit(path: str) -> list[Any]:
    opened = open_store(path)
    try:
        return list(Audit(opened).entries())
    finally:
        opened.close()


def test_a_store_that_cannot_be_opened_is_said_by_each_tool(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is a letter, not a store\n" * 99)
    with within(str(tmp_path / "text.db")) as talk:
        for tool, given in (("stats", {}), ("remember", {"content": "x"})):
            answer = talk.call(tool, **given)
            assert answer.is_error
            assert str(tmp_path / "text.db") in text_of(answer)
    assert (tmp_path / "text.db").read_text().startswith("this is a letter")
