"""The command that agents run: quick, silent when something fails, and one namespace for all worktrees."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fivefold.hooks import entry
from fivefold.hooks.state import HookSettings
from tests.support.hook_events import Hooks, new_hooks, wait_for

pytestmark = pytest.mark.slow

SLOW = ["json", "re", "socket", "subprocess", "pathlib", "typing", "enum", "contextlib", "fivefold"]
"""Modules that take long to load, and fivefold itself."""


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    return new_hooks(tmp_path)


@pytest.fixture
def listener(hooks: Hooks) -> Iterator[list[bytes]]:
    """A process that listens and never answers; what it got is in the list."""
    got: list[bytes] = []
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(hooks.state.folder)
        server.bind(hooks.state.socket.name)
        os.chdir(here)
        server.listen(8)

        connections: list[socket.socket] = []
        thread = threading.Thread(target=_take, args=(server, connections, got), daemon=True)
        thread.start()
        yield got
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in connections:
            connection.close()


def _take(server: socket.socket, connections: list[socket.socket], got: list[bytes]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        connections.append(connection)
        data = b""
        while part := connection.recv(65_536):
            data += part
        got.append(data)


def git(*arguments: object) -> None:
    settings = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *settings, *map(str, arguments)], check=True, capture_output=True)


def test_worktrees_of_a_repository_share_a_namespace(tmp_path: Path) -> None:
    main, tree, other = tmp_path / "shop", tmp_path / "trees" / "fix", tmp_path / "other" / "shop"
    for path in (main, other):
        git("init", path)
    git("-C", main, "commit", "--allow-empty", "-m", "first")
    git("-C", main, "worktree", "add", tree)
    (tree / "deep" / "er").mkdir(parents=True)
    name = entry.namespace_of(str(main))
    assert name.startswith("shop-")
    assert entry.namespace_of(str(tree)) == name
    assert entry.namespace_of(str(tree / "deep" / "er")) == name
    assert entry.namespace_of(str(other)) != name, "another repository of the same name"
    (tmp_path / "link").symlink_to(main)
    assert entry.namespace_of(str(tmp_path / "link")) == name


def test_worktrees_of_a_bare_repository_share_a_namespace(tmp_path: Path) -> None:
    source, bare = tmp_path / "source", tmp_path / "shop.git"
    git("init", source)
    git("-C", source, "commit", "--allow-empty", "-m", "first")
    git("clone", "--bare", source, bare)
    for name in ("one", "two"):
        git("-C", bare, "worktree", "add", "-b", name, tmp_path / name)
    first, second = (entry.namespace_of(str(tmp_path / name)) for name in ("one", "two"))
    assert first == second
    assert first.startswith("shop-")


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    part, whole = tmp_path / "part", tmp_path / "whole"
    for path in (part, whole):
        git("init", path)
        git("-C", path, "commit", "--allow-empty", "-m", "first")
    git("-C", whole, "submodule", "add", part, "part")
    assert entry.namespace_of(str(whole / "part")) != entry.namespace_of(str(whole))


def fake_worktree(folder: Path, to: Path) -> Path:
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {os.path.relpath(to, folder)}\n", "utf-8")
    return folder


def test_a_git_file_that_the_repository_does_not_name_back_takes_no_memories(tmp_path: Path) -> None:
    bank, tree = tmp_path / "bank", tmp_path / "fix"
    git("init", bank)
    git("-C", bank, "commit", "--allow-empty", "-m", "first")
    git("-C", bank, "worktree", "add", tree)
    own = bank / ".git" / "worktrees" / "fix"
    name = entry.namespace_of(str(bank))
    assert entry.namespace_of(str(tree)) == name
    plain, stolen = fake_worktree(tmp_path / "plain", bank / ".git"), fake_worktree(tmp_path / "stolen", own)
    forged = fake_worktree(tmp_path / "forged", tmp_path / "forged" / "worktrees" / "x")
    inner = forged / "worktrees" / "x"
    inner.mkdir(parents=True)
    (inner / "commondir").write_text(str(bank / ".git"), "utf-8")
    (inner / "gitdir").write_text(str(forged / ".git"), "utf-8")
    module = fake_worktree(tmp_path / "module", tmp_path / "module" / "link")
    (module / "link").symlink_to(bank / ".git")
    for folder in (plain, stolen, forged, module):
        assert entry.namespace_of(str(folder)) != name
        (folder / "deep").mkdir()
        assert entry.namespace_of(str(folder / "deep")) == entry.namespace_of(str(folder))


def test_a_folder_without_a_repository_has_a_namespace_too(tmp_path: Path) -> None:
    (tmp_path / "my notes\n").mkdir()
    name = entry.namespace_of(str(tmp_path / "my notes\n"))
    assert name.startswith("my-notes--")
    assert name.isprintable()


@pytest.mark.parametrize(
    ("agent", "event"), [("claude-code", "SessionStart"), ("codex", "UserPromptSubmit"), ("claude-code", "Stop")]
)
def test_nothing_that_takes_time_is_loaded(hooks: Hooks, listener: list[bytes], agent: str, event: str) -> None:
    folder = str(Path(entry.__file__).parent)
    code = (
        f"import sys; sys.path.insert(0, {folder!r}); import entry\n"
        f"try: entry.main({[agent, event, str(hooks.state.folder)]!r})\n"
        "except TimeoutError: pass\n"
        f"sys.stderr.write(' '.join(name for name in {SLOW!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        input=hooks.payload(agent, event),
        capture_output=True,
        cwd=hooks.project,
        env={"FIVEFOLD_HOOK_WAIT_MS": "200"},
        check=False,
    )
    assert (done.stderr.decode(), done.returncode) == ("", 0)
    wait_for(lambda: bool(listener))


def test_an_answer_that_does_not_come_in_time_is_none(hooks: Hooks, listener: list[bytes]) -> None:
    done = hooks.run("claude-code", "UserPromptSubmit", wait="20")
    assert (done.status, done.output, done.errors) == (0, "", "")
    wait_for(lambda: bool(listener))
    assert listener[0].startswith(b"ask\n")


def test_what_is_to_be_stored_waits_in_the_spool(hooks: Hooks, listener: list[bytes]) -> None:
    for agent, event in (("claude-code", "Stop"), ("codex", "PreCompact"), ("cursor", "sessionEnd")):
        assert hooks.run(agent, event).output == ""
    waiting = [path.read_bytes().split(b"\n", 4) for path in hooks.state.events()]
    assert [(agent, event) for agent, event, *_ in waiting] == [
        (b"claude-code", b"Stop"),
        (b"codex", b"PreCompact"),
        (b"cursor", b"sessionEnd"),
    ]
    assert len({namespace for _, _, namespace, *_ in waiting}) == 1
    assert json.loads(waiting[0][4])["hook_event_name"] == "Stop"
    wait_for(lambda: len(listener) == 3)
    assert [message.split(b"\n")[0] for message in listener] == [b"drain"] * 3
    assert hooks.state.events()[0].stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"\xff\xfe", b'{"workspace_roots": 7}', b"null"])
@pytest.mark.parametrize(
    ("agent", "event"),
    [("cursor", "sessionStart"), ("cursor", "postToolUse"), ("codex", "Stop"), ("codex", "nonsense")],
)
def test_a_bad_payload_breaks_nothing(
    hooks: Hooks, listener: list[bytes], agent: str, event: str, payload: bytes
) -> None:
    done = hooks.run_raw(agent, event, payload)
    assert (done.status, done.output) == (0, "")


def test_a_missing_state_folder_breaks_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", entry.__file__, "codex", "Stop", str(tmp_path / "nowhere")]
    done = subprocess.run(command, input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_prompt_is_kept_only_if_no_transcript_has_it(hooks: Hooks, listener: list[bytes]) -> None:
    hooks.run("codex", "UserPromptSubmit", wait="20")
    assert hooks.state.events() == []
    said = 'a "transcript_path": "/x" in a prompt'
    hooks.run("codex", "UserPromptSubmit", wait="20", transcript_path=None, prompt=said)
    (path,) = hooks.state.events()
    assert json.loads(path.read_bytes().split(b"\n", 4)[4])["prompt"] == said


def test_late_answers_are_counted_and_the_wait_is_a_setting(hooks: Hooks, listener: list[bytes]) -> None:
    hooks.state.save_settings(HookSettings(store="memory.db", wait_ms=77, start_wait_ms=55))
    for event, limit in (("UserPromptSubmit", 0.077), ("SessionStart", 0.055)):
        before = time.time()
        hooks.run("claude-code", event, wait="")
        wait_for(lambda: bool(listener))
        assert float(listener.pop().split(b"\n")[1]) <= before + limit + 0.2
    assert hooks.state.late == 2


def test_an_event_is_on_the_disk_before_the_hook_ends(hooks: Hooks, listener: list[bytes]) -> None:
    code = (
        f"import os, sys; sys.path.insert(0, {str(Path(entry.__file__).parent)!r}); import entry\n"
        "real = os.fsync, os.rename; done = []\n"
        "os.fsync = lambda file: (done.append('sync'), real[0](file))[1]\n"
        "os.rename = lambda *names: (done.append('name'), real[1](*names))[1]\n"
        f"entry.main({['codex', 'Stop', str(hooks.state.folder)]!r}); print(done)"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, input=hooks.payload("codex", "Stop"), capture_output=True, check=True)
    assert done.stdout.decode().strip() == "['sync', 'name', 'sync']"
