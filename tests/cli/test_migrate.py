"""Moving namespaces on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.postgres import Server
from tests.support.shell import Command, Small, process

pytestmark = pytest.mark.slow


def test_a_store_goes_to_a_server_and_back(small: Small, command: Command, postgres: Server) -> None:
    command("add", "Stand-up at ten", "--store", small.path, "-n", "work")
    there = postgres.new_location()
    said = command("migrate", small.path, there)
    assert (said.code, said.err) == (0, "")
    assert re.search(r"^namespace +memories +vectors +checksum +seconds$", said.out, re.MULTILINE)
    sums = re.findall(r"^(default|work) +(\d+) +(\d+) +([0-9a-f]{12}) +\d+\.\d$", said.out, re.MULTILINE)
    assert [(name, memories) for name, memories, *_ in sums] == [("default", "5"), ("work", "1")]
    back = command("migrate", there, "back.db", "--json")
    assert (back.code, back.err) == (0, "")
    assert [item["checksum"][:12] for item in back.json] == [checksum for *_, checksum in sums]
    assert {table["table"]: table["rows"] for table in back.json[0]["tables"]}["memories"] == 5
    for store in (small.path, "back.db"):
        command("export", f"{Path(store).name}.jsonl", "--store", store)
    assert Path("back.db.jsonl").read_bytes() == Path("small.db.jsonl").read_bytes()


def test_only_the_namespaces_that_are_named_go(small: Small, command: Command) -> None:
    for name in ("work", "home"):
        command("add", "Stand-up at ten", "--store", small.path, "-n", name)
    moved = command("migrate", small.path, "copy.db", "-n", "home", "--namespace", "work", "--json").json
    assert [item["namespace"] for item in moved] == ["home", "work"]
    assert command("stats", "--store", "copy.db", "-n", "work", "--json").json["namespaces"] == ["home", "work"]


def test_what_is_refused_is_said(small: Small, command: Command) -> None:
    same = command("migrate", small.path, small.path)
    assert (same.code, same.err) == (1, "fivefold: source and target are the same store; name another target\n")
    missing = command("migrate", "nowhere.db", "copy.db")
    assert (missing.code, missing.err) == (3, "fivefold: there is no store at 'nowhere.db' to copy from\n")
    unknown = command("migrate", small.path, "copy.db", "-n", "defualt", "--json")
    assert (unknown.code, unknown.json["error"]["type"]) == (3, "NotFound")
    assert not Path("copy.db").exists()
    assert not Path("nowhere.db").exists()
    command("add", "mine", "--store", "taken.db")
    taken = command("migrate", small.path, "taken.db", "--restart")
    assert taken.code == 1
    assert "already holds something else" in taken.err


def test_the_screen_is_left_alone_in_a_pipe(small: Small) -> None:
    told = process("migrate", small.path, "copy.db", folder=small.folder)
    assert (told.code, told.err) == (0, "")
