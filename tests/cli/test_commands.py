"""Every command: documented, helpful, readable by programs, and plain about stores and namespaces."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

import fivefold
from fivefold.cli.app import command_tree
from tests.support.shell import ARGS, NEEDS_SERVER, READS_STORES, RUNS_ON, STORELESS, WHOLE, Command, Small

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text("utf-8")
DOCS = runpy.run_path(str(ROOT / "docs" / "make_cli_help.py"))
NAMES: list[str] = DOCS["names"]()
block: Callable[[str, str], str] = DOCS["block"]

ANSWERS = {"recall", "explain", "plan", "context", "understand"}
"""Commands that answer a question even where there is nothing to find."""


def options(name: str) -> dict[str, str | None]:
    """The options of a command with their help."""
    found: Any = command_tree()
    for part in name.split():
        found = found.commands[part]
    return {flag: param.help for param in found.params for flag in param.opts if flag.startswith("-")}


def section(name: str) -> str:
    """What docs/cli.md says about a command, its help left out."""
    found = PAGE.split(f"\n## fivefold {name}\n", 1)[1].split("\n## ", 1)[0]
    return re.sub(r"<!-- help.*?/help -->", "", found, flags=re.DOTALL)


def documented_keys(name: str) -> set[str]:
    told = section(name).split("JSON keys:", 1)[1].split("\n\n", 1)[0]
    same = re.search(r"those of `fivefold ([a-z ]+)`", told)
    return documented_keys(same[1]) if same else set(re.findall(r"`(\w+)`", told))


def test_the_cases_cover_every_command() -> None:
    groups = {name for name in NAMES if any(other.startswith(f"{name} ") for other in NAMES)}
    assert {f"fivefold {name}" for name in ARGS} == set(NAMES) - groups


@pytest.mark.parametrize("name", NAMES)
def test_help_is_in_the_docs_as_the_command_prints_it(
    name: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of commands comes from a process, since imports in this one may have put them in another order."""
    for variable, columns in DOCS["WIDTH"].items():
        monkeypatch.setenv(variable, columns)
    lists = any(other.startswith(f"{name} ") for other in NAMES)
    made = block(name, DOCS["help_of"](name) if lists else command(*name.split()[1:], "--help").out)
    assert made in PAGE, f"{name} has changed; run: python docs/make_cli_help.py"
    assert len(made.splitlines()) > 6


def test_the_docs_have_a_section_for_each_command_and_no_other() -> None:
    assert re.findall(r"<!-- help: (.+) -->", PAGE) == re.findall(r"^Usage: (fivefold[a-z ]*) ", PAGE, re.MULTILINE)
    assert sorted(re.findall(r"<!-- help: (.+) -->", PAGE)) == sorted(NAMES)
    assert sorted(re.findall(r"^## (fivefold .+)$", PAGE, re.MULTILINE)) == sorted(set(NAMES) - {"fivefold"})


@pytest.mark.parametrize("name", ARGS)
def test_every_command_says_what_it_and_its_options_do(name: str) -> None:
    found: Any = command_tree()
    for part in name.split():
        assert isinstance(found, TyperGroup)
        found = found.commands[part]
    assert found.help
    assert all(param.help for param in found.params), [param.name for param in found.params if not param.help]


@pytest.mark.parametrize("name", ARGS)
def test_shared_options_are_on_every_command(name: str) -> None:
    wanted = {"--json"} if name in STORELESS else {"--json", "--store", "--namespace", "-n"}
    assert wanted - ({"--namespace", "-n"} if name in WHOLE else set()) <= set(options(name))


@pytest.mark.parametrize("name", ARGS)
def test_the_docs_show_the_command_in_use(name: str) -> None:
    assert re.search(rf"```(?:sh|text)\n(.*\n)*?(.*(?:\| |=\S+ ))?fivefold {name}\b", section(name))


@pytest.mark.parametrize("name", sorted(set(ARGS) - NEEDS_SERVER - RUNS_ON))
def test_json_has_the_documented_keys(name: str, small: Small, command: Command) -> None:
    where = [] if name in STORELESS else ["--store", small.path]
    ran = command(*small.args(name), *where, "--json")
    assert ran.code == 0, ran.out
    assert ran.err == ""
    shown = ran.json
    objects = shown if isinstance(shown, list) else [shown]
    assert objects
    assert isinstance(shown, list) == ("JSON: a list of objects." in section(name))
    for item in objects:
        assert set(item) == documented_keys(name)


@pytest.mark.parametrize("name", READS_STORES)
def test_a_missing_store_is_said_and_not_made(name: str, small: Small, command: Command) -> None:
    ran = command(*small.args(name), "--store", "nowhere.db")
    assert ran.code == 3
    assert ran.err == "fivefold: there is no store at 'nowhere.db'; add a memory first, or name one with --store\n"
    assert ran.out == ""
    assert not Path("nowhere.db").exists()


@pytest.mark.parametrize("name", ["add", "import"])
def test_writing_makes_the_store_that_was_named(name: str, small: Small, command: Command) -> None:
    assert command(*small.args(name), "--store", "new.db").code == 0
    assert command("stats", "--store", "new.db", "--json").json["memories"] == 1


@pytest.mark.parametrize("name", sorted(set(READS_STORES) - ANSWERS - WHOLE))
def test_a_missing_namespace_is_said_and_changes_nothing(name: str, small: Small, command: Command) -> None:
    command("add", "Stand-up at ten", "--store", small.path, "-n", "work")
    before = command("export", "before.jsonl", "--store", small.path, "--json").json
    ran = command(*small.args(name), "--store", small.path, "--namespace", "defualt")
    assert ran.code == 3
    assert ran.out == ""
    assert ran.err == f"fivefold: there is no namespace 'defualt' in {small.path!r}; there are: default, work\n"
    shown = command(*small.args(name), "--store", small.path, "--namespace", "defualt", "--json")
    assert (shown.code, shown.err, shown.json["error"]["type"]) == (3, "", "NotFound")
    assert command("export", "after.jsonl", "--store", small.path, "--json").json["memories"] == before["memories"]
    assert Path("before.jsonl").read_bytes() == Path("after.jsonl").read_bytes()
    assert command("stats", "--store", small.path, "--json").json["namespaces"] == ["default", "work"]


def test_a_missing_namespace_leaves_an_earlier_export_alone(small: Small, command: Command) -> None:
    command("export", "out.jsonl", "--store", small.path)
    kept = Path("out.jsonl").read_bytes()
    assert command("export", "out.jsonl", "--store", small.path, "-n", "defualt").code == 3
    assert Path("out.jsonl").read_bytes() == kept


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_question_to_a_missing_namespace_is_answered_with_a_note(name: str, small: Small, command: Command) -> None:
    ran = command(*small.args(name), "--store", small.path, "-n", "defualt", "--json")
    assert ran.code == 0
    assert ran.err == f"fivefold: there is no namespace 'defualt' in {small.path!r}; there are: default\n"
    assert ran.json.get("hits", []) == []
    assert command("stats", "--store", small.path, "--json").json["namespaces"] == ["default"]


def test_namespaces_alone_lists_them_and_options_stand_after_a_command(small: Small, command: Command) -> None:
    listed = command("namespaces", "--store", small.path, "--json").json
    assert [row["namespace"] for row in listed] == ["default"]
    refused = command("namespaces", "--store", small.path, "delete", "default", "--yes")
    assert refused.code == 2
    assert "options stand after 'delete'" in refused.err
    assert command("namespaces", "--store", small.path, "--json").json == listed


def test_an_empty_store_holds_no_namespace(command: Command) -> None:
    fivefold.open("empty.db").close()
    ran = command("stats", "--store", "empty.db")
    assert ran.code == 3
    assert ran.err == "fivefold: there is no namespace 'default' in 'empty.db'; it holds nothing yet\n"


@pytest.mark.parametrize("name", sorted(set(ARGS) - STORELESS))
def test_an_empty_store_name_is_refused(name: str, small: Small, command: Command) -> None:
    ran = command(*small.args(name), "--store", "")
    assert ran.code == 2
    assert "Invalid value for '--store': it is empty; name a file, or leave --store out" in ran.err
    assert not Path("fivefold.db").exists()


def test_an_empty_environment_counts_as_unset(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIVEFOLD_STORE", "")
    assert "'./fivefold.db'" in command("stats").err


@pytest.mark.parametrize("name", ["add", "import"])
def test_writing_goes_to_the_namespace_that_was_named(name: str, small: Small, command: Command) -> None:
    report = command(*small.args(name), "--store", small.path, "-n", "other", "--json").json
    assert command("get", report["stored"][0], "--store", small.path, "-n", "other", "--json").code == 0
    assert command("get", report["stored"][0], "--store", small.path).code == 3


def test_the_environment_names_the_store(small: Small, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIVEFOLD_STORE", small.path)
    assert command("get", "key", "--json").json["content"] == "The spare key is with Mrs Okafor"
    assert command("get", "key", "--store", "nowhere.db").code == 3


def test_without_a_name_the_store_is_in_the_folder(command: Command) -> None:
    assert command("add", "I take my tea without milk").code == 0
    assert Path("fivefold.db").exists()
    assert "I take my tea without milk" in command("recall", "tea").out
