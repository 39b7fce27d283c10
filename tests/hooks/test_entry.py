"""The command that agents run: quick, silent when something fails, and one namespace for all worktrees."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fivefold.hooks import entry
from tests.support.hook_events import Hooks, new_hooks, wait_for

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


def test_a_block_that_is_ready_is_printed_as_the_agent_takes_it(hooks: Hooks, listener: list[bytes]) -> None:
    block = 'Memories:\n"quoted" – ünicode'
    hooks.state.block(entry.namespace_of(str(hooks.project))).write_text(json.dumps(block), "utf-8")
    for agent in ("claude-code", "codex"):
        said = json.loads(hooks.run(agent, "SessionStart").output)
        assert said == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": block}}
    assert json.loads(hooks.run("cursor", "sessionStart").output) == {"additional_context": block}


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
