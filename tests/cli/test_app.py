"""What all commands share: errors in plain words, usage, exit codes, pipes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import fivefold
from fivefold.cli.app import COMMAND_GROUPS, command_tree
from tests.support.shell import Command, Small, clean, process

pytestmark = pytest.mark.slow

BAD: list[tuple[list[str], str, str]] = [
    (["add", " "], "InvalidInput", "content is empty"),
    (["add", "x", "--type", "rumour"], "InvalidInput", "it is one of fact, preference, event, entity, procedure"),
    (["add", "x", "--at", "soon"], "InvalidInput", "--at 'soon' is not an ISO 8601 time"),
    (["add", "x", "--valid-from", "soon"], "InvalidInput", "--valid-from 'soon' is not an ISO 8601 time"),
    (["add", "x", "--valid-to", "soon"], "InvalidInput", "--valid-to 'soon' is not an ISO 8601 time"),
    (
        ["add", "x", "--valid-from", "2025-02-02", "--valid-to", "2025-02-01"],
        "InvalidInput",
        "fivefold: --valid-to lies before --valid-from",
    ),
    (["add", "x", "--importance", "2"], "InvalidInput", "--importance must be a number from 0 to 1"),
    (["add", "x", "--turn", "-1", "--session", "s"], "InvalidInput", "--turn must be a whole number"),
    (["add", "x", "--metadata", "nonsense"], "InvalidInput", "--metadata is not JSON"),
    (["add", "x", "--metadata", "[1]"], "InvalidInput", "--metadata must be a mapping"),
    (["update", "key", "--at", "tomorrow"], "InvalidInput", "--at 'tomorrow' is not an ISO 8601 time"),
    (["supersede", "key", "x", "--at", "tomorrow"], "InvalidInput", "--at 'tomorrow' is not an ISO 8601 time"),
    (["list", "--type", "rumour"], "InvalidInput", "--type 'rumour' is unknown; it is one of fact"),
    (["list", "--limit", "0"], "InvalidInput", "--limit must be a whole number from 1 to 2147483647, not 0"),
    (["add", "x", "--embedder", "best"], "InvalidInput", "unknown embedder 'best'; known are fivefold-minilm, minilm"),
    (["add", "x", "--embedder", "wordllama"], "EmbedderMismatch", "fivefold reembed wordllama"),
    (["add", "x", "--extractor", "best"], "InvalidInput", "unknown extractor 'best'; known are rules"),
    (["add", "x", "--namespace", "a\nb"], "InvalidInput", "holds a line break"),
    (["recall", "x", "--recipe", "best"], "UnknownRecipe", "unknown recipe 'best'; known are default, dense, ditto"),
    (["plan", "x", "--recipe", "best"], "UnknownRecipe", "known are default, dense, ditto"),
    (["explain", "x", "--recipe", "best"], "UnknownRecipe", "known are default, dense, ditto"),
    (
        ["recall", "x", "--recipe", "nowhere.toml"],
        "UnknownRecipe",
        "recipe 'nowhere.toml' cannot be read: No such file",
    ),
    (["recall", "x", "--recipe", "{lines}"], "InvalidInput", "is not valid TOML"),
    (
        ["recall", "x", "--set", "fusion.k"],
        "InvalidInput",
        "--set takes KEY=VALUE, such as fusion.k=30, not 'fusion.k'",
    ),
    (["plan", "x", "--set", "fusion.k="], "InvalidInput", "--set takes KEY=VALUE"),
    (
        ["explain", "x", "--set", "fusion.k=-1"],
        "InvalidInput",
        "--set fusion.k: recipe 'default': fusion.k must be a number from 0 to 10000",
    ),
    (
        ["plan", "x", "--set", "fusion.k=many"],
        "InvalidInput",
        "--set fusion.k: recipe 'default': fusion.k must be a number",
    ),
    (["recall", "x", "--set", "routes.psychic.weight=1"], "InvalidInput", "--set routes.psychic.weight: "),
    (
        ["recall", "x", "--set", "unit=turn", "--set", "fusion.pool=0"],
        "InvalidInput",
        "fivefold: --set: recipe 'default': fusion.pool",
    ),
    (["recipes", "show", "best"], "UnknownRecipe", "unknown recipe 'best'; known are default, dense"),
    (["recipes", "show", "{folder}"], "UnknownRecipe", "cannot be read: Is a directory"),
    (["recipes", "show", "ditto", "--set", "fusion.store=false"], "InvalidInput", "a composite is scored in the store"),
    (["recall", "x", "-k", "0"], "InvalidInput", "k must be a whole number from 1 to 1000, not 0"),
    (["recall", "x", "-k", "1001"], "InvalidInput", "k must be a whole number from 1 to 1000, not 1001"),
    (["recall", "x", "--now", "soon"], "InvalidInput", "now 'soon' is not an ISO 8601 time"),
    (["recall", ""], "InvalidInput", "the question is empty"),
    (["supersede", "home", "The spare key is with Mrs Okafor"], "InvalidInput", "nothing was changed"),
    (["used", "{recall}", "key"], "InvalidInput", "'key' was not returned by recall"),
    (["import", "nowhere.jsonl"], "InvalidInput", "'nowhere.jsonl' does not exist; name the file to import"),
    (["import", "{folder}"], "InvalidInput", "is a folder; name a file of JSON lines"),
    (
        ["import", "{path}"],
        "InvalidInput",
        "is a file of a store that is open in this process; copy a store with fivefold migrate",
    ),
    (["export", "nowhere/out.jsonl"], "StoreError", "could not be written"),
    (["reembed", "best"], "InvalidInput", "unknown embedder 'best'"),
    (["get", "x", "--store", "{lines}"], "StoreError", "is not a fivefold store"),
    (["get", "x", "--store", "{folder}"], "StoreError", "is a folder"),
    (["weights", " "], "InvalidInput", "the question is empty"),
    (["bench", "speed", "--sizes", "many"], "InvalidInput", "sizes must be whole numbers"),
    (["bench", "speed", "--rounds", "0"], "InvalidInput", "sizes and rounds must be at least 1"),
    (["get", "x"], "NotFound", "namespace 'default' has no memory 'x'"),
    (["update", "x", "--content", "y"], "NotFound", "has no memory 'x'"),
    (["supersede", "x", "y"], "NotFound", "has no memory 'x'"),
    (["forget", "x"], "NotFound", "has no memory 'x'"),
    (["forget", "--session", "x"], "NotFound", "has no session 'x'"),
    (["used", "x", "key"], "NotFound", "has no recall 'x'"),
]


@pytest.mark.parametrize(("args", "kind", "said"), BAD, ids=[" ".join(args) for args, _, _ in BAD])
def test_errors_are_one_sentence_or_one_object(
    args: list[str], kind: str, said: str, small: Small, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIVEFOLD_STORE", small.path)
    filled = [arg.format(**small._asdict()) if arg.startswith("{") else arg for arg in args]
    ran = command(*filled)
    assert ran.code == (3 if kind == "NotFound" else 1)
    assert ran.out == ""
    assert ran.err.startswith("fivefold: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    shown = command(*filled, "--json")
    assert shown.code == ran.code
    assert shown.err == ""
    assert shown.json == {"error": {"type": kind, "message": ran.err.removeprefix("fivefold: ").rstrip("\n")}}
    assert command("stats", "--json").json["memories"] == 5


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["fly"], "No such command 'fly'"),
        (["get"], "Missing argument"),
        (["recall", "x", "-k", "many"], "Invalid value for '-k'"),
        (["stats", "--loud"], "No such option: --loud"),
        (["forget"], "Name either ids of memories or --session."),
        (["forget", "key", "--session", "monday"], "Name either ids of memories or --session."),
        (["update", "key"], "Nothing to change; name a field, such as --content."),
    ],
)
def test_wrong_usage_exits_with_2(args: list[str], said: str, command: Command) -> None:
    ran = command(*args)
    assert ran.code == 2
    assert "Usage: fivefold" in ran.out + ran.err
    assert said in ran.out + ran.err
    assert "goes after --" not in ran.err


@pytest.mark.parametrize("text", ["-5 degrees", "- buy milk", "-5"])
def test_a_text_that_looks_like_an_option_gets_a_hint_that_works(text: str, small: Small, command: Command) -> None:
    ran = command("add", text, "--store", small.path)
    assert ran.code == 2
    hint = ran.err.splitlines()[-1]
    assert hint.startswith("A text that begins with - goes after --, as in: fivefold add --store ")
    fixed = shlex.split(hint.partition("fivefold ")[2])
    assert command(*fixed).code == 0
    assert text in command("list", "--limit", "1", "--store", small.path).out


def test_alone_it_shows_where_to_begin_with_commands_that_there_are(command: Command) -> None:
    ran = command()
    assert (ran.code, ran.err) == (0, "")
    named = re.findall(r"^  fivefold (\w+)", ran.out, re.MULTILINE)
    assert named[:3] == ["demo", "add", "recall"]
    for name in named:
        assert command(name, "-h").out == command(name, "--help").out
    assert not list(Path().iterdir()), "showing it makes nothing"


def test_one_command_completes_in_the_shell(tmp_path: Path) -> None:
    """In bash, as after a restart of the terminal."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = clean({"HOME": str(tmp_path), "PATH": path})
    completed = (
        "fivefold --install-completion; source ~/.bashrc; "
        'COMP_WORDS=(fivefold rec); COMP_CWORD=1; _fivefold_completion fivefold; echo "got ${COMPREPLY[*]}"; '
        'COMP_WORDS=(fivefold recall --eff); COMP_CWORD=2; _fivefold_completion fivefold; echo "got ${COMPREPLY[*]}"'
    )
    done = subprocess.run(["bash", "-c", completed], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^got (.*)$", done.stdout.replace("\nrec", " rec"), re.MULTILINE) == [
        "recall recap recipes",
        "--effort",
    ]


def test_the_version_is_told(command: Command) -> None:
    assert command("--version") == (0, f"fivefold {fivefold.__version__}\n", "")


def test_a_process_reads_standard_input_and_the_environment(small: Small) -> None:
    told = process(
        "add", "-", "--json", folder=small.folder, said="  Ärger mit dem Drucker 🖨\n", FIVEFOLD_STORE="new.db"
    )
    assert told.code == 0, told.err
    assert told.err == ""
    memory = process("get", told.json["stored"][0], "--json", folder=small.folder, FIVEFOLD_STORE="new.db")
    assert memory.json["content"] == "Ärger mit dem Drucker 🖨"


def test_a_process_exits_with_the_code_of_its_error(small: Small) -> None:
    missing = process("stats", folder=small.folder)
    assert (missing.code, missing.out) == (3, "")
    assert (
        missing.err == "fivefold: there is no store at './fivefold.db'; add a memory first, or name one with --store\n"
    )
    empty = process("add", "-", folder=small.folder, said="", FIVEFOLD_STORE=small.path)
    assert (empty.code, empty.out) == (1, "")
    assert empty.err == "fivefold: content is empty; say something to remember or to ask\n"


@pytest.mark.parametrize("args", [["explain", "badge", "-k", "2"], ["stats", "--json"], ["sessions"], ["--help"]])
def test_a_closed_pipe_is_no_drama(args: list[str], small: Small) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "fivefold", *args]
    env = {**os.environ, "FIVEFOLD_STORE": small.path}
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, env=env, check=False)
    os.close(writing)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "args", [["recall", "badge"], ["stats", "--json"], ["export", "-"], ["get", "x", "--json"], ["--help"]]
)
def test_a_full_device_is_said_in_one_sentence(args: list[str], small: Small) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fivefold", *args],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=clean({"FIVEFOLD_STORE": small.path}),
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "fivefold: the output could not be written: No space left on device\n"


def test_output_can_be_piped_into_head(sample_path: str) -> None:
    """The answer is far larger than a pipe holds, so the command is still writing when head has gone."""
    line = '"$1" -m fivefold recall "what did I say?" -k 200 --json --trace --store "$2" | head -n 1'
    done = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, sample_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


def test_every_command_is_in_one_group_of_the_help() -> None:
    listed = [name for names in COMMAND_GROUPS.values() for name in names]
    assert sorted(listed) == sorted(command_tree().commands)  # type: ignore[attr-defined]
