"""Hooks in the configuration of agents: added once, removed again, and nothing else is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidFile
from fivefold.hooks.agents import AGENTS, Agent, agent_named
from fivefold.hooks.manage import FileChange, command, installation, installed_events, removal

STATE = Path("/home/ana/.fivefold")
FOREIGN: dict[str, Any] = {
    "model": "opus",
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}],
        "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "ruff format"}]}],
    },
    "permissions": {"allow": ["Bash(ls:*)"]},
}


CONFIGURED = [name for name, agent in AGENTS.items() if agent.plugin is None]


@pytest.fixture(params=CONFIGURED)
def agent(request: pytest.FixtureRequest) -> Agent:
    return agent_named(request.param)


def installed(agent: Agent, file: Path) -> FileChange:
    change = installation(agent, file, STATE)
    change.apply()
    return change


def test_a_new_file_has_every_hook(agent: Agent, tmp_path: Path) -> None:
    file = tmp_path / "new" / "hooks.json"
    installed(agent, file)
    config = json.loads(file.read_text("utf-8"))
    assert list(config["hooks"]) == list(agent.events)
    assert installed_events(file, agent, STATE) == dict.fromkeys(agent.events, True)
    if agent.name == "cursor":
        assert config["version"] == 1
        assert config["hooks"]["stop"][0]["command"] == command(agent, "stop", STATE)
    else:
        event, timeout = ("AfterAgent", 5_000) if agent.name == "gemini-cli" else ("Stop", 5)
        (group,) = config["hooks"][event]
        assert group == {"hooks": [{"type": "command", "command": command(agent, event, STATE), "timeout": timeout}]}


def test_installing_again_changes_nothing(agent: Agent, tmp_path: Path) -> None:
    file = tmp_path / "hooks.json"
    installed(agent, file)
    assert not installation(agent, file, STATE).changes


def test_hooks_and_settings_of_others_stay(tmp_path: Path) -> None:
    file, agent = tmp_path / "settings.json", AGENTS["claude-code"]
    file.write_text(json.dumps(FOREIGN, indent=4), "utf-8")
    before = file.read_text("utf-8")
    installed(agent, file)
    config = json.loads(file.read_text("utf-8"))
    assert config["hooks"]["Stop"][0] == FOREIGN["hooks"]["Stop"][0]
    assert config["hooks"]["PostToolUse"] == FOREIGN["hooks"]["PostToolUse"]
    assert {name: config[name] for name in ("model", "permissions")} == {
        name: FOREIGN[name] for name in ("model", "permissions")
    }
    removal(agent, file).apply()
    assert file.read_text("utf-8") == before


def test_a_hook_of_an_earlier_installation_is_replaced_in_its_place(tmp_path: Path) -> None:
    file, agent = tmp_path / "settings.json", AGENTS["claude-code"]
    old = {"type": "command", "command": "/old/python -I -S /old/fivefold/hooks/entry.py claude-code Stop /old"}
    other = {"type": "command", "command": "say done"}
    config = {"hooks": {"Stop": [{"hooks": [old, other]}, {"hooks": [old]}], "Gone": [{"hooks": [old]}]}}
    file.write_text(json.dumps(config), "utf-8")
    assert installed_events(file, agent, STATE) == {"Stop": False, "Gone": False}
    installed(agent, file)
    hooks = json.loads(file.read_text("utf-8"))["hooks"]
    assert hooks["Stop"] == [agent.entry(command(agent, "Stop", STATE)), {"hooks": [other]}]
    assert "Gone" not in hooks


def test_a_file_with_nothing_else_goes(agent: Agent, tmp_path: Path) -> None:
    file = tmp_path / "hooks.json"
    installed(agent, file)
    removal(agent, file).apply()
    assert not file.exists()
    assert not removal(agent, file).changes


def test_a_link_stays_a_link_and_keeps_its_rights(agent: Agent, tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles" / "hooks.json", tmp_path / "hooks.json"
    target.parent.mkdir()
    target.write_text("{}\n", "utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    installed(agent, link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert installed_events(link, agent, STATE)
    removal(agent, link).apply()
    assert target.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ('{"a": 1, // why\n}', "is not JSON"),
        ('{"a": 1, "a": 2}', "'a' is there twice"),
        ("[]", "should hold an object"),
        ('{"hooks": []}', "has hooks that are not an object"),
        ('{"hooks": {"Stop": {}}}', "has hooks that are not lists of objects"),
        ('{"hooks": {"Stop": ["x"]}}', "has hooks that are not lists of objects"),
    ],
)
def test_a_file_that_cannot_be_understood_is_left_alone(agent: Agent, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "hooks.json"
    file.write_text(text, "utf-8")
    with pytest.raises(InvalidFile) as installing:
        installation(agent, file, STATE)
    with pytest.raises(InvalidFile) as removing:
        removal(agent, file)
    for error in (installing, removing):
        assert said in str(error.value)
        assert "nothing was changed" in str(error.value)
    assert file.read_text("utf-8") == text


def test_the_diff_shows_only_what_changes(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(FOREIGN, indent=2) + "\n", "utf-8")
    change = installation(AGENTS["codex"], file, STATE)
    gone = [line for line in change.diff().splitlines() if line.startswith("-") and not line.startswith("---")]
    assert len(gone) <= 2, "only brackets move"
    assert "codex UserPromptSubmit" in change.diff()


def test_paths_with_spaces_are_quoted(tmp_path: Path) -> None:
    assert command(AGENTS["codex"], "Stop", Path("/home/an a/.f'f")).endswith("""Stop '/home/an a/.f'"'"'f'""")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
HOOK = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=12)})
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(HOOK, max_size=2)}, optional={"matcher": st.text()}), max_size=3
)
CONFIGS = st.builds(
    lambda rest, hooks: {**rest, "hooks": hooks},
    st.dictionaries(st.text(max_size=6), VALUES, max_size=3),
    st.dictionaries(st.sampled_from(["Stop", "SessionStart", "PostToolUse", "stop"]), GROUPS, min_size=1, max_size=3),
)


@given(
    CONFIGS,
    st.sampled_from([None, 2, 4, "\t"]),
    st.sampled_from([name for name, agent in AGENTS.items() if not agent.plugin]),
)
def test_installing_and_removing_gives_back_what_was_there(
    tmp_path_factory: pytest.TempPathFactory, config: dict[str, Any], indent: Any, name: str
) -> None:
    agent = AGENTS[name]
    file = tmp_path_factory.mktemp("config") / "hooks.json"
    start = {} if agent.grouped else {"version": 1}
    before = json.dumps({**start, **config}, indent=indent, ensure_ascii=False) + "\n"
    file.write_text(before, "utf-8")
    installed(agent, file)
    assert not installation(agent, file, STATE).changes
    assert installed_events(file, agent, STATE) == dict.fromkeys(agent.events, True)
    removal(agent, file).apply()
    kept = {event: groups for event, groups in config["hooks"].items() if groups or event not in agent.events}
    after = json.loads(file.read_text("utf-8")) if file.exists() else start
    assert after.get("hooks", {}) == kept
    assert {name: value for name, value in after.items() if name != "hooks"} == {
        **start,
        **{name: value for name, value in config.items() if name != "hooks"},
    }


def test_a_system_without_unix_sockets_is_told_what_to_do() -> None:
    """As on Windows, nothing may be imported that only Unix has."""
    program = """
import os, socket, sys
sys.modules["fcntl"] = None
del os.fork, socket.AF_UNIX
sys.argv = ["fivefold", "hook", "codex", "install"]
from fivefold.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "WSL" in done.stderr
    assert "Traceback" not in done.stderr
