"""`fivefold hook` as a user runs it, in a home folder of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fivefold.hooks.entry import namespace_of
from tests.support.shell import Ran

VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "FIVEFOLD_HOME", "FIVEFOLD_STORE")
FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("agent", FILES)
def test_install_status_and_uninstall(agent: str, home: Path, command: Callable[..., Ran], tmp_path: Path) -> None:
    file = home / FILES[agent]
    planned = command("hook", agent, "install", "--dry-run")
    assert "+++ " in planned.out
    assert not home.exists(), "a dry run writes nothing"
    done = command("hook", agent, "install")
    assert (done.code, str(file) in done.out, str(home / ".fivefold" / "memory.db") in done.out) == (0, True, True)
    assert agent in file.read_text("utf-8")
    written = file.read_bytes()
    assert "nothing was changed" in command("hook", agent, "install").out
    assert file.read_bytes() == written
    found = json.loads(command("hook", agent, "status", "--json").out)
    assert (found["missing"], found["outdated"], found["running"], found["waiting"]) == ([], [], False, 0)
    assert found["namespace"] == namespace_of(str(tmp_path))
    assert "the memories in" in command("hook", agent, "uninstall").out
    assert not file.exists()
    assert json.loads(command("hook", agent, "status", "--json").out)["installed"] == []
    assert "nothing was changed" in command("hook", agent, "uninstall").out


@pytest.mark.parametrize(
    ("agent", "file"),
    [("claude-code", ".claude/settings.local.json"), ("codex", ".codex/hooks.json"), ("cursor", ".cursor/hooks.json")],
)
def test_a_project_has_hooks_of_its_own(
    agent: str, file: str, home: Path, command: Callable[..., Ran], tmp_path: Path
) -> None:
    assert command("hook", agent, "install", "--project").code == 0
    assert (tmp_path / file).exists()
    assert not (home / FILES[agent]).exists()


def test_the_store_is_named_in_full_and_shared(home: Path, command: Callable[..., Ran], tmp_path: Path) -> None:
    command("hook", "claude-code", "install", "--store", "mine.db")
    command("hook", "codex", "install")
    status = json.loads(command("hook", "codex", "status", "--json").out)
    assert status["settings"]["store"] == str(tmp_path / "mine.db")
    command("hook", "codex", "install", "--store", "postgresql://ana@db/memory")
    status = json.loads(command("hook", "claude-code", "status", "--json").out)
    assert status["settings"]["store"] == "postgresql://ana@db/memory"


def test_variables_name_other_folders(
    home: Path, command: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("FIVEFOLD_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FIVEFOLD_STORE", str(tmp_path / "usual.db"))
    command("hook", "codex", "install")
    assert str(tmp_path / "state") in (tmp_path / "codex" / "hooks.json").read_text("utf-8")
    assert json.loads((tmp_path / "state" / "hooks.json").read_text("utf-8"))["store"] == str(tmp_path / "usual.db")
    assert not home.exists()


def test_status_is_readable(home: Path, command: Callable[..., Ran]) -> None:
    command("hook", "cursor", "install")
    told = command("hook", "cursor", "status").out
    assert "beforeSubmitPrompt" in told
    assert "not running; the next event starts it" in told


def test_a_file_that_is_not_json_is_an_error_and_stays(home: Path, command: Callable[..., Ran]) -> None:
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text("{", "utf-8")
    done = command("hook", "claude-code", "install")
    assert done.code == 1
    assert "is not JSON" in done.err
    assert (home / ".claude" / "settings.json").read_text("utf-8") == "{"


@pytest.mark.parametrize(
    ("words", "said"),
    [(("vim", "install"), "'vim' is unknown; it is one of claude-code"), (("codex", "sing"), "'sing' is unknown")],
)
def test_unknown_words_are_refused(home: Path, command: Callable[..., Ran], words: tuple[str, str], said: str) -> None:
    done = command("hook", *words)
    assert done.code == 1
    assert said in done.err


def test_retry_stores_what_waits_and_status_says_what_that_is(
    home: Path, command: Callable[..., Ran], tmp_path: Path
) -> None:
    assert "nothing waits" in command("hook", "retry").out
    spool = home / ".fivefold" / "spool"
    payload = json.dumps({"session_id": "s", "transcript_path": None, "prompt": "We deploy the shop on Fridays"})
    event = spool / "01795031530645912915-1641.event"
    event.write_text(f"codex\nUserPromptSubmit\nshop-1\n1.0\n{payload}", "utf-8")
    (spool / "notes.txt").write_text("mine", "utf-8")
    (home / ".fivefold" / "late").write_bytes(b"...")
    found = json.loads(command("hook", "codex", "status", "--json").out)
    assert (found["waiting"], found["foreign"], found["late"]) == (1, ["notes.txt"], 3)
    assert "the oldest since" in command("hook", "codex", "status").out
    done = json.loads(command("hook", "retry", "--json").out)
    assert (done["stored"], done["new"], done["waiting"]) == (1, 1, 0)
    assert not event.exists()
    assert "'' is unknown; it is one of install" in command("hook", "codex").err
