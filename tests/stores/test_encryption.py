"""Encrypted stores: nothing beside them is readable, no key is lost by a kill, and errors say what to do.

They need SQLite3 Multiple Ciphers in place of SQLite: `make test-encryption` runs them. The last runs everywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import fivefold
from fivefold.errors import InvalidInput, MissingExtra, StoreError
from fivefold.hooks.entry import SEALED
from fivefold.stores import open_store
from fivefold.stores.sqlite.encryption import KEY_VARIABLE, WrongKey, can_encrypt
from fivefold.stores.sqlite.schema import make_copy
from fivefold.transfer.backup import back_up, rekey, restore
from fivefold.transfer.salvage import salvage
from tests.support.backups import killed_at, left
from tests.support.hook_events import new_hooks, wait_for
from tests.support.toy_engine import Toy, toy

needs_library = pytest.mark.skipif(not can_encrypt(), reason="run by make test-encryption")
KEY, WORD = "correct horse battery", "quokka"
MARKS = (WORD.encode(), WORD.encode("utf-16-le"), b"SQLite format 3", b"CREATE TABLE")
ASKED = "what is the quokka called?"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "me.db")
    with fivefold.open(path, embedder=Toy(), key=KEY) as mem:
        mem.remember("My quokka is called Bertram", id="pet")
        mem.remember("The garage is behind the house", id="garage")
    return path


def contents(path: str, key: str | None) -> list[str]:
    with fivefold.open(path, embedder=Toy(), key=key) as mem:
        assert all(finding.ok for finding in mem.doctor())
        return sorted(memory.id for memory in mem.memories())


def readable(folder: Path) -> list[str]:
    """The files in a folder in which the text or a schema can be read."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    return [file.name for file in files if any(mark in file.read_bytes() for mark in MARKS)]


@needs_library
def test_no_file_beside_the_store_is_readable(path: str, tmp_path: Path) -> None:
    with fivefold.store(path, embedder=Toy(), key=KEY) as many:
        mem = many.namespace("default")
        mem.remember_messages([{"role": "user", "content": "Feed the quokka at noon"}], session_id="quokka day")
        answer = mem.recall(ASKED)
        mem.feedback(answer.id, used=[hit.memory.id for hit in answer])
        many.namespace("quokka friends").remember("Another quokka")
        assert Path(f"{path}-wal").stat().st_size > 0
        assert readable(tmp_path) == []
        make_copy(path, 3, KEY)
        back_up(path, tmp_path / "kept.db", key=KEY)
        assert readable(tmp_path) == []
        mem.forget("pet")
        assert mem.store.erasure().complete
    restore(tmp_path / "kept.db", str(tmp_path / "again.db"), key=KEY)
    salvage(path, str(tmp_path / "salvaged.db"), embedder=Toy(), key=KEY)
    assert readable(tmp_path) == []
    assert contents(str(tmp_path / "again.db"), KEY)[-2:] == ["garage", "pet"]
    assert "garage" in contents(str(tmp_path / "salvaged.db"), KEY)


@needs_library
def test_what_was_forgotten_is_not_in_the_decrypted_file(path: str) -> None:
    with fivefold.open(path, embedder=Toy(), key=KEY) as mem:
        report = mem.remember_many([f"The quokka saw tree {number} {'x' * (number % 90)}" for number in range(100)])
        for id in ("pet", *report.stored):
            mem.forget(id)
        assert mem.store.erasure().complete
    rekey(path, None, key=KEY)
    assert WORD.encode() not in Path(path).read_bytes()
    assert contents(path, None) == ["garage"]


@needs_library
def test_a_wrong_or_missing_key_says_what_to_do(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongKey, match=f"is encrypted; give its key as {KEY_VARIABLE}"):
        fivefold.open(path)
    with pytest.raises(WrongKey, match="cannot be read with this key"):
        fivefold.open(path, key="another")
    for key in ("", "two\nlines", "x" * 1_001):
        with pytest.raises(InvalidInput, match="must be a line of 1 to 1,000 characters"):
            fivefold.open(path, key=key)
    with pytest.raises(InvalidInput, match="key encrypts a file"):
        fivefold.open(":memory:", key=KEY)
    plain = str(tmp_path / "plain.db")
    toy(plain).close()
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with pytest.raises(WrongKey, match="is not encrypted, and a key is given; encrypt it with rekey"):
        fivefold.open(plain)
    with pytest.raises(WrongKey):
        back_up(plain, tmp_path / "kept.db")
    assert contents(path, None) == ["garage", "pet"], "the environment has the key"


@needs_library
@pytest.mark.parametrize("step", ["Copying", "Checking", "before _exchange", "after move_into_place"])
def test_a_kill_while_the_key_changes_loses_nothing(
    step: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    killed_at(step, "rekey", path, Path("the new key"))
    assert contents(path, "the new key" if step.startswith("after") else KEY) == ["garage", "pet"]
    assert readable(tmp_path) == []


@needs_library
def test_a_store_in_use_keeps_its_key(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fivefold.transfer.backup.PATIENCE_MS", 50)
    with fivefold.open(path, key=KEY), pytest.raises(StoreError, match="is in use"):
        rekey(path, "new", key=KEY)
    child = f"import fivefold\nmem = fivefold.open({path!r}, key={KEY!r})\nprint('open', flush=True)\ninput()"
    command, pipe = [sys.executable, "-c", child], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match="is in use"):
            rekey(path, "new", key=KEY)
        held.communicate("\n")
    rekey(path, "new", key=KEY)
    assert contents(path, "new") == ["garage", "pet"]
    assert left(tmp_path) == []


@needs_library
def test_the_command_line_has_the_key_from_the_environment_or_the_keyring(path: str, tmp_path: Path) -> None:
    """The keyring is one of the package's own, in a file, since a test has no desktop."""
    (tmp_path / "rings.py").write_text(RING)
    rings = {"PYTHONPATH": str(tmp_path), "PYTHON_KEYRING_BACKEND": "rings.File", "RING": str(tmp_path / "ring")}

    def run(*arguments: str, **variables: str) -> str:
        command = [sys.executable, "-m", "fivefold", *arguments, "--store", path]
        environment = {**os.environ, **rings, **variables}
        done = subprocess.run(command, env=environment, text=True, capture_output=True, check=False, input="")
        return done.stdout + done.stderr

    assert "Bertram" in run("recall", ASKED, FIVEFOLD_STORE_KEY=KEY)
    assert f"is encrypted; give its key as {KEY_VARIABLE}" in run("recall", ASKED)
    assert "give the new key as FIVEFOLD_NEW_STORE_KEY" in run("rekey", FIVEFOLD_STORE_KEY=KEY)
    assert "is encrypted" in run("rekey", FIVEFOLD_STORE_KEY=KEY, FIVEFOLD_NEW_STORE_KEY="second")
    assert "cannot be read with this key" in run("recall", ASKED, FIVEFOLD_STORE_KEY=KEY)
    assert "is encrypted" in run("rekey", "--keyring", FIVEFOLD_STORE_KEY="second")
    assert "Bertram" in run("recall", ASKED)
    assert "every page is encrypted; the library is SQLite3 Multiple Ciphers" in run("doctor")
    assert "is plain" in run("rekey", "--decrypt")
    assert contents(path, None) == ["garage", "pet"]
    assert "is encrypted" in run("rekey", FIVEFOLD_STORE_KEY=KEY)
    assert contents(path, KEY) == ["garage", "pet"]


RING = """
import json, os, pathlib
from keyring.backend import KeyringBackend
class File(KeyringBackend):
    priority = 1
    file = pathlib.Path(os.environ["RING"])
    def get_password(self, service, username):
        return json.loads(self.file.read_text()).get(service + username) if self.file.exists() else None
    def set_password(self, service, username, password):
        self.file.write_text(json.dumps({service + username: password}))
"""


@needs_library
def test_hooks_leave_no_event_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    hooks = new_hooks(tmp_path)
    hooks.run("claude-code", "SessionStart")
    wait_for((hooks.state.folder / SEALED).exists)
    hooks.run("cursor", "beforeSubmitPrompt", prompt="Where does the quokka sleep?", transcript_path=None)

    def stored() -> bool:
        with fivefold.store(hooks.state.settings().store) as many:
            engines = [many.namespace(name) for name in many.namespaces()]
            return any(WORD in memory.content for engine in engines for memory in engine.memories())

    wait_for(stored)
    assert readable(tmp_path / "state") == []
    hooks.end()


@needs_library
def test_two_processes_that_make_a_store_at_once_share_it(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    child = f"import sys, fivefold\nsys.stdin.readline()\nfivefold.open({str(path)!r}, key={KEY!r}).close()"
    held = [subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, text=True) for _ in range(4)]
    for process in held:
        process.communicate("\n")
    assert [process.returncode for process in held] == [0] * 4
    assert contents(str(path), KEY) == []


def test_without_the_library_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(apsw, "mc_version", raising=False)
    path = tmp_path / "me.db"
    with pytest.raises(MissingExtra, match="--force-reinstall --no-deps apsw-sqlite3mc"):
        fivefold.open(path, key=KEY)
    assert not path.exists()
    path.write_bytes(os.urandom(16) + b"\x10\x00\x02\x02\x20\x40\x20\x20" + os.urandom(8_168))
    with pytest.raises(MissingExtra):
        open_store(path)
    with pytest.raises(MissingExtra):
        rekey(str(path), "new", key=KEY)
