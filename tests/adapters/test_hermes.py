"""Hermes' own loader and manager over the provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent.memory_manager import MemoryManager
from plugins.memory import load_memory_provider

import fivefold
from fivefold.adapters.hermes import FivefoldMemoryProvider
from fivefold.errors import InvalidInput
from tests.support.hostile import HOSTILE, quotes_of

pytestmark = pytest.mark.slow

DINNER = "Remember that I never eat shellfish."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of Hermes with the plugin as the documentation has it."""
    plugin = tmp_path / "plugins" / "fivefold"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text("from fivefold.adapters.hermes import FivefoldMemoryProvider, register\n")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def manager(home: Path) -> Iterator[MemoryManager]:
    made = MemoryManager()
    made.add_provider(load_memory_provider("fivefold"))
    made.initialize_all("monday", hermes_home=str(home), platform="cli", agent_identity="coder")
    yield made
    made.shutdown_all()


def test_hermes_loads_it_stores_turns_and_recalls_them_in_other_sessions(manager: MemoryManager, home: Path) -> None:
    assert "fivefold_recall" in manager.build_system_prompt()
    manager.sync_all(DINNER, "Noted, no shellfish.", session_id="monday")
    assert manager.flush_pending(60)
    manager.sync_all("   ", "", session_id="monday")
    assert "shellfish" not in manager.prefetch_all("What do I never eat?", session_id="monday"), "it is in the context"
    assert DINNER in manager.prefetch_all("What do I never eat?", session_id="tuesday")
    with fivefold.open(home / "fivefold.db", namespace="coder") as mem:
        assert [turn.content for turn in mem.turns("monday")] == [DINNER, "Noted, no shellfish."]
        mem.forget_session("monday")
    assert manager.prefetch_all("What do I never eat?", session_id="tuesday") == ""
    manager.on_session_switch("wednesday")
    manager.sync_all("We sail on Sundays.", "Fair winds.")
    assert manager.flush_pending(60)
    with fivefold.open(home / "fivefold.db", namespace="coder") as mem:
        assert mem.turns("wednesday")[0].content == "We sail on Sundays."


def test_its_tools_store_recall_and_refuse(manager: MemoryManager) -> None:
    assert manager.has_tool("fivefold_remember")
    stored = json.loads(manager.handle_tool_call("fivefold_remember", {"content": "The spare key is with Mrs Okafor"}))
    found = json.loads(manager.handle_tool_call("fivefold_recall", {"question": "Who has the spare key?"}))
    assert (found["memories"][0]["id"], found["memories"][0]["rank"]) == (stored["id"], 1)
    refused = (("fivefold_recall", {"question": "key", "filtre": "x"}), ("fivefold_remember", {"content": ""}))
    for tool, arguments in refused:
        assert "error" in json.loads(manager.handle_tool_call(tool, arguments))
    with pytest.raises(InvalidInput):
        FivefoldMemoryProvider(filtre="speaker:ana")  # type: ignore[call-arg]


def test_users_are_apart_helpers_do_not_write_and_hostile_text_stays_quoted(tmp_path: Path) -> None:
    with fivefold.store(tmp_path / "many.db") as many:
        provider = FivefoldMemoryProvider(many, k=20)
        for user in ("ana", "ben"):
            provider.initialize("s", hermes_home=str(tmp_path), platform="telegram", user_id=user)
            provider.sync_turn(f"{user} takes tea without milk", "", session_id="s")
        provider.initialize("s2", hermes_home=str(tmp_path), platform="cron", agent_context="cron")
        provider.sync_turn("The cron job says hello", "")
        assert many.namespaces() == ("default telegram:ana", "default telegram:ben")
        provider.initialize("s2", hermes_home=str(tmp_path), platform="telegram", user_id="ana")
        assert "ben" not in provider.prefetch("Who takes tea without milk?")
        provider.engine.remember_many([*HOSTILE])
        quotes_of(provider.prefetch("Who takes tea without milk?"))
        provider.shutdown()
        assert len(many.namespaces()) == 2, "a given store stays open"
