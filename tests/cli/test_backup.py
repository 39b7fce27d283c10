"""Backup and restore on the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from tests.support.shell import Command, Small, process

pytestmark = pytest.mark.slow


def test_a_store_goes_and_comes_back(small: Small, command: Command) -> None:
    said = command("backup", "kept.db", "--store", small.path)
    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(r".*small\.db → kept\.db: 5 memories of 1 namespace, checked, in \d+\.\d s\n", said.out)
    back = command("restore", "kept.db", "--store", "again.db", "--json")
    assert (back.code, back.err) == (0, "")
    assert (back.json["memories"], back.json["amiss"]) == (5, [])
    for store in (small.path, "again.db"):
        command("export", f"{Path(store).stem}.jsonl", "--store", store)
    assert Path("again.jsonl").read_bytes() == Path("small.jsonl").read_bytes()


def test_a_folder_collects_backups(small: Small, command: Command) -> None:
    Path("backups").mkdir()
    made = command("backup", "backups", "--store", small.path, "--json").json
    assert re.fullmatch(r"backups/small-\d{8}T\d{6}Z\.db", made["file"])
    assert Path(made["file"]).stat().st_size == made["size"]


def test_what_is_there_stays_unless_replaced(small: Small, command: Command) -> None:
    command("backup", "kept.db", "--store", small.path)
    told = "replace it with --replace\n"
    for args in (("backup", "kept.db", "--store", small.path), ("restore", "kept.db", "--store", small.path)):
        refused = command(*args)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.endswith(told)
        assert command(*args, "--replace").code == 0


def test_what_cannot_be_used_is_said(small: Small, command: Command) -> None:
    missing = command("restore", "nowhere.db", "--store", "new.db")
    assert (missing.code, missing.err) == (3, "fivefold: there is no backup at 'nowhere.db'\n")
    Path("notes.txt").write_text("dear diary, " * 100)
    refused = command("restore", "notes.txt", "--store", "new.db", "--json")
    assert (refused.code, refused.json["error"]["type"]) == (1, "StoreError")
    assert not Path("new.db").exists()


def test_an_index_that_is_amiss_is_told_by_the_code(small: Small, command: Command) -> None:
    connection = apsw.Connection(small.path)
    connection.execute("UPDATE sessions SET turns = turns + 1")
    connection.close()
    said = command("backup", "kept.db", "--store", small.path)
    assert said.code == 1
    assert "✗ default: session log: 1 sessions count wrongly\n" in said.err
    assert "`fivefold doctor --repair` rebuilds" in said.err
    assert Path("kept.db").exists()


def test_the_screen_is_left_alone_in_a_pipe(small: Small) -> None:
    told = process("backup", "kept.db", "--store", small.path, folder=small.folder)
    assert (told.code, told.err) == (0, "")


def test_backups_are_repeated_until_a_signal(small: Small) -> None:
    Path(small.folder, "backups").mkdir()
    command = [sys.executable, "-m", "fivefold", "backup", "backups", "--every", "2", "--store", small.path]
    with subprocess.Popen(command, cwd=small.folder, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert re.match(r".*small\.db → backups/small-\d{8}T\d{6}Z\.db: 5 memories", running.stdout.readline())
        running.terminate()
        assert running.wait(20) == 0
