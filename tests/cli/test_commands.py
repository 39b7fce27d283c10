"""Every command: documented, helpful, readable by people and by programs, and plain about what went wrong."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.core import TyperGroup
from typer.main import get_command

import fivefold
from fivefold.cli.app import app, run

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text("utf-8")
DOCS = runpy.run_path(str(ROOT / "docs" / "make_cli_help.py"))
NAMES: list[str] = DOCS["names"]()
block: Callable[[str], str] = DOCS["block"]

RECORDS = [
    {"id": "badge", "content": "My badge ID is E-47821", "speaker": "user", "session_id": "monday"},
    {"id": "nod", "content": "Noted, the badge is E-47821.", "speaker": "assistant", "session_id": "monday"},
    {"id": "key", "content": "The spare key is with Mrs Okafor"},
    {"id": "home", "content": "I live in Leeds", "speaker": "user"},
]

ARGS: dict[str, list[str]] = {
    "demo": ["-k", "1"],
    "add": ["The plumber comes on Tuesday"],
    "import": ["{lines}"],
    "update": ["key", "--content", "The spare key is with Mr Okafor"],
    "supersede": ["key", "The spare key is under the pot"],
    "forget": ["--session", "monday"],
    "used": ["{recall}", "badge"],
    "recall": ["what is my badge ID?"],
    "explain": ["what is my badge ID?"],
    "plan": ["what is my badge ID?"],
    "get": ["key"],
    "sessions": [],
    "stats": [],
    "export": ["{folder}/out.jsonl"],
    "doctor": [],
    "reembed": ["wordllama"],
    "bench speed": ["--sizes", "50", "--rounds", "5"],
}
"""Every command with arguments that work on the small store."""

STORELESS = {"bench speed"}
MAKES_STORES = {"demo", "add", "import"}
READS_STORES = sorted(set(ARGS) - STORELESS - MAKES_STORES)


class Small(NamedTuple):
    """A store with a few memories, the id of a recall that returned only `badge`, and a file to import."""

    path: str
    recall: str
    lines: str
    folder: str

    def args(self, command: str) -> list[str]:
        given = [arg.format(**self._asdict()) for arg in ARGS[command]]
        return [*command.split(), *given]


class Ran(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ran]


@pytest.fixture(scope="session")
def small_made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("small") / "small.db"
    with fivefold.open(path) as mem:
        mem.remember_many({**record, "event_at": "2025-01-06T09:00:00Z"} for record in RECORDS)
        answer = mem.recall("what is my badge ID?", k=1)
        assert [hit.memory.id for hit in answer] == ["badge"]
        return path, answer.id


@pytest.fixture
def small(small_made: tuple[Path, str], tmp_path: Path) -> Small:
    """A copy of its own for every test."""
    made, recall = small_made
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"content": "Mia likes the corner table"}\n', "utf-8")
    return Small(str(shutil.copy(made, tmp_path / "small.db")), recall, str(lines), str(tmp_path))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ran]:
    """Runs `fivefold` as the shell would, in an empty folder, without a process of its own."""
    monkeypatch.delenv("FIVEFOLD_STORE", raising=False)
    monkeypatch.chdir(tmp_path)

    def ran(*args: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["fivefold", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        code = ended.value.code
        said = capsys.readouterr()
        return Ran(code if isinstance(code, int) else int(code is not None), said.out, said.err)

    return ran


def process(*args: str, folder: str, said: str | None = None, store: str | None = None) -> Ran:
    """Runs `fivefold` in a process of its own."""
    env = {name: value for name, value in os.environ.items() if name != "FIVEFOLD_STORE"}
    done = subprocess.run(
        [sys.executable, "-m", "fivefold", *args], cwd=folder, input=said, capture_output=True, encoding="utf-8",
        env={**env, "FIVEFOLD_STORE": store} if store else env, check=False,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr)


def options(name: str) -> dict[str, str | None]:
    """The options of a command with their help."""
    found: Any = get_command(app)
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


# help and documentation


def test_the_cases_cover_every_command() -> None:
    groups = {name for name in NAMES if any(other.startswith(f"{name} ") for other in NAMES)}
    assert {f"fivefold {name}" for name in ARGS} == set(NAMES) - groups


@pytest.mark.parametrize("name", NAMES)
def test_help_is_in_the_docs_as_the_command_prints_it(name: str) -> None:
    made = block(name)
    assert made in PAGE, f"{name} has changed; run: python docs/make_cli_help.py"
    assert len(made.splitlines()) > 6


def test_the_docs_have_a_section_for_each_command_and_no_other() -> None:
    assert re.findall(r"<!-- help: (.+) -->", PAGE) == re.findall(r"^Usage: (fivefold[a-z ]*) ", PAGE, re.MULTILINE)
    assert sorted(re.findall(r"<!-- help: (.+) -->", PAGE)) == sorted(NAMES)
    assert sorted(re.findall(r"^## (fivefold .+)$", PAGE, re.MULTILINE)) == sorted(set(NAMES) - {"fivefold"})


@pytest.mark.parametrize("name", ARGS)
def test_every_command_says_what_it_and_its_options_do(name: str) -> None:
    found: Any = get_command(app)
    for part in name.split():
        assert isinstance(found, TyperGroup)
        found = found.commands[part]
    assert found.help
    assert all(param.help for param in found.params), [param.name for param in found.params if not param.help]


@pytest.mark.parametrize("name", ARGS)
def test_shared_options_are_on_every_command(name: str) -> None:
    wanted = {"--json"} if name in STORELESS else {"--json", "--store", "--namespace", "-n"}
    assert wanted <= set(options(name))


@pytest.mark.parametrize("name", ARGS)
def test_the_docs_show_the_command_in_use(name: str) -> None:
    assert re.search(rf"```sh\n(.*\n)*?(.*\| )?fivefold {name}\b", section(name))


# JSON


@pytest.mark.parametrize("name", ARGS)
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
    if name == "bench speed":
        assert {"recall default", "baseline: vec0 alone", "room on disk"} <= {item["what"] for item in shown}
        assert all(item["p50"] > 0 for item in shown)


# store and namespace


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


OTHER: dict[str, tuple[int, str]] = {
    "update": (3, "namespace 'other' has no memory 'key'"),
    "supersede": (3, "namespace 'other' has no memory 'key'"),
    "forget": (3, "namespace 'other' has no session 'monday'"),
    "used": (3, "namespace 'other' has no recall"),
    "recall": (0, '"hits": []'),
    "explain": (0, '"hits": []'),
    "plan": (0, '"recipe": "default"'),
    "get": (3, "namespace 'other' has no memory 'key'"),
    "sessions": (0, "[]"),
    "stats": (0, '"memories": 0'),
    "export": (0, '"memories": 0'),
    "doctor": (0, "nothing stored yet"),
    "reembed": (3, "namespace 'other' holds no vectors yet"),
}


@pytest.mark.parametrize("name", READS_STORES)
def test_another_namespace_sees_nothing(name: str, small: Small, command: Command) -> None:
    code, said = OTHER[name]
    ran = command(*small.args(name), "--store", small.path, "--namespace", "other", "--json")
    assert ran.code == code
    assert said in ran.out
    assert command("stats", "--store", small.path, "--json").json["memories"] == 5


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


# what each command does


def test_add_takes_every_field(small: Small, command: Command) -> None:
    report = command(
        "add", "Lunch with Ines", "--speaker", "Maya", "--session", "tuesday", "--at", "2025-01-07T12:00:00Z",
        "--type", "event", "--tag", "food", "--tag", "friends", "--store", small.path, "--json",
    ).json  # fmt: skip
    memory = command("get", report["stored"][0], "--store", small.path, "--json").json
    assert (memory["speaker"], memory["session_id"], memory["kind"]) == ("Maya", "tuesday", "turn")
    assert (memory["event_at"], memory["type"]) == ("2025-01-07T12:00:00Z", "event")
    assert memory["tags"] == ["food", "friends"]


def test_add_says_what_it_replaced(small: Small, command: Command) -> None:
    ran = command("add", "I moved from Leeds to Bristol", "--speaker", "user", "--store", small.path)
    assert "1 stored, 0 merged, 1 superseded" in ran.out
    assert "supersedes home: lives in: 'Bristol' replaces 'Leeds'" in ran.out


def test_add_merges_what_is_known(small: Small, command: Command) -> None:
    ran = command("add", "the spare KEY is with Mrs Okafor", "--store", small.path)
    assert "0 stored, 1 merged" in ran.out
    assert "merged key: the same note was remembered before" in ran.out


def test_recall_shows_the_memory_and_its_routes(small: Small, command: Command) -> None:
    ran = command("recall", "what is my badge ID?", "-k", "1", "--store", small.path)
    first, second, bars, last = ran.out.splitlines()
    assert first == " 1. My badge ID is E-47821"
    assert second == "    06 Jan 2025 user · fact · badge"
    assert "dense #1" in bars
    assert "lexical #1" in bars
    assert last.startswith("1 of default in ")


def test_recall_takes_time_context_and_recipe(small: Small, command: Command) -> None:
    answer = command(
        "recall", "badge", "--now", "2025-02-01", "--context", "hello", "--context", "again", "--recipe", "lexical",
        "--store", small.path, "--json",
    ).json  # fmt: skip
    assert answer["query"]["now"] == "2025-02-01T00:00:00Z"
    assert answer["query"]["context"] == ["hello", "again"]
    assert [run["route"] for run in answer["routes"]] == ["lexical"]


def test_recall_that_finds_nothing_says_so(small: Small, command: Command) -> None:
    ran = command("recall", "zebra", "--recipe", "lexical", "--store", small.path)
    assert ran.code == 0
    assert ran.out.startswith("Nothing found.")


def test_explain_shows_the_arithmetic(small: Small, command: Command) -> None:
    ran = command("explain", "what is my badge ID?", "-k", "1", "--store", small.path)
    assert "route dense      hits" in ran.out
    assert "#1  1.0000  My badge ID is E-47821" in ran.out
    assert "fused      0.5000 + 0.5000 = 1.0000" in ran.out
    assert "dropped nod at select: rank 2 of" in ran.out


def test_plan_shows_each_route(small: Small, command: Command) -> None:
    ran = command("plan", "the", "-k", "7", "--store", small.path)
    assert "recipe default · k 7" in ran.out
    assert re.search(r"dense +yes", ran.out)
    assert re.search(r"lexical +no .*only stop words", ran.out)


def test_get_shows_the_fields_that_are_filled(small: Small, command: Command) -> None:
    ran = command("get", "badge", "--store", small.path)
    assert re.search(r"predicate +badge id is E-47821", ran.out)
    assert "superseded_by" not in ran.out


def test_update_changes_what_is_named(small: Small, command: Command) -> None:
    ran = command("update", "badge", "--content", "My badge ID is E-50112", "--tag", "work", "--store", small.path)
    assert re.search(r"content +My badge ID is E-50112", ran.out)
    memory = command("get", "badge", "--store", small.path, "--json").json
    assert (memory["predicate"], memory["tags"]) == ("badge id is E-50112", ["work"])
    assert (memory["speaker"], memory["event_at"]) == ("user", "2025-01-06T09:00:00Z")


def test_supersede_links_old_and_new(small: Small, command: Command) -> None:
    ran = command("supersede", "key", "The spare key is under the pot", "--store", small.path)
    new = ran.out.splitlines()[1].strip()
    assert f"{new} supersedes key: said so by the caller" in ran.out
    assert command("get", "key", "--store", small.path, "--json").json["superseded_by"] == new
    found = command("recall", "where is the spare key?", "-k", "1", "--store", small.path, "--json").json
    assert found["hits"][0]["memory"]["id"] == new


def test_forget_removes_one_memory(small: Small, command: Command) -> None:
    assert command("forget", "key", "--store", small.path).out == "forgotten: key\n"
    assert command("get", "key", "--store", small.path).code == 3
    assert command("forget", "home", "--store", small.path, "--json").json == {"forgotten": "home"}


def test_forget_removes_a_session(small: Small, command: Command) -> None:
    assert command("forget", "--session", "monday", "--store", small.path).out == "forgotten: 2 turns\n"
    assert command("get", "badge", "--store", small.path).code == 3
    assert command("sessions", "--store", small.path, "--json").json == []


def test_used_counts_once(small: Small, command: Command) -> None:
    for _ in range(2):
        assert command("used", small.recall, "badge", "--store", small.path).out == "noted: 1 used\n"
    assert command("get", "badge", "--store", small.path, "--json").json["access_count"] == 1
    assert command("stats", "--store", small.path, "--json").json["feedback"] == 1


def test_sessions_lists_and_stats_counts(small: Small, command: Command) -> None:
    assert re.search(r"monday +2 +2025-01-06 09:00", command("sessions", "--store", small.path).out)
    assert len(command("sessions", "--limit", "1", "--store", small.path, "--json").json) == 1
    said = command("stats", "--store", small.path).out
    assert re.search(r"memories +5\b", said)
    assert re.search(r"by_kind +note 2, session 1, turn 2\b", said)


def test_export_and_import_carry_everything_over_once(small: Small, command: Command) -> None:
    assert command("export", "out.jsonl", "--store", small.path).out == "5 memories written to out.jsonl\n"
    said = command("import", "out.jsonl", "--store", "copy.db", "--embedder", "wordllama").out
    assert said.startswith("5 stored, 0 merged")
    assert command("import", "out.jsonl", "--store", "copy.db").out.startswith("0 stored, 5 merged")
    there, back = (command("get", "badge", "--store", store, "--json").json for store in (small.path, "copy.db"))
    assert there == back


def test_doctor_finds_damage_and_repairs_it(small: Small, command: Command) -> None:
    with sqlite3.connect(small.path) as damaged:
        damaged.execute("UPDATE entities SET links = links + 1")
    damaged.close()
    ran = command("doctor", "--store", small.path)
    assert ran.code == 1
    assert re.search(r"✗ +entity links", ran.out)
    assert ran.err == "Something is amiss; `fivefold doctor --repair` rebuilds what can be derived.\n"
    found = command("doctor", "--store", small.path, "--json")
    assert found.code == 1
    assert [item["check"] for item in found.json if not item["ok"]] == ["entity links"]
    assert command("doctor", "--repair", "--store", small.path).code == 0


def test_reembed_moves_the_namespace(small: Small, command: Command) -> None:
    said = command("reembed", "wordllama", "--store", small.path).out
    assert re.fullmatch(r"namespace 'default' now has \d+ vectors of wordllama@[\d.]+\n", said)
    answer = command("recall", "what is my badge ID?", "-k", "1", "--store", small.path, "--json").json
    assert answer["embedder"].startswith("wordllama@")
    assert answer["hits"][0]["memory"]["id"] == "badge"


# errors

BAD: list[tuple[list[str], str, str]] = [
    (["add", " "], "InvalidInput", "content is empty"),
    (["add", "x", "--type", "rumour"], "InvalidInput", "it is one of fact, preference, event, entity, procedure"),
    (["add", "x", "--at", "soon"], "InvalidInput", "event_at 'soon' is not an ISO 8601 time"),
    (["add", "x", "--embedder", "best"], "InvalidInput", "unknown embedder 'best'; known are minilm"),
    (["add", "x", "--embedder", "wordllama"], "EmbedderMismatch", "fivefold reembed wordllama"),
    (["add", "x", "--extractor", "best"], "InvalidInput", "unknown extractor 'best'; known are rules"),
    (["add", "x", "--namespace", "a\nb"], "InvalidInput", "holds a line break"),
    (["recall", "x", "--recipe", "best"], "UnknownRecipe", "unknown recipe 'best'; known are default, dense, lexical"),
    (["plan", "x", "--recipe", "best"], "UnknownRecipe", "known are default, dense, lexical"),
    (["explain", "x", "--recipe", "best"], "UnknownRecipe", "known are default, dense, lexical"),
    (["recall", "x", "-k", "0"], "InvalidInput", "k must be between 1 and 1000, not 0"),
    (["recall", "x", "-k", "1001"], "InvalidInput", "k must be between 1 and 1000, not 1001"),
    (["recall", "x", "--now", "soon"], "InvalidInput", "now 'soon' is not an ISO 8601 time"),
    (["recall", ""], "InvalidInput", "the question is empty"),
    (["update", "key"], "InvalidInput", "nothing to change; name a field"),
    (["supersede", "home", "The spare key is with Mrs Okafor"], "InvalidInput", "nothing was changed"),
    (["forget"], "InvalidInput", "name either a memory's id or --session"),
    (["forget", "key", "--session", "monday"], "InvalidInput", "name either a memory's id or --session"),
    (["used", "{recall}", "key"], "InvalidInput", "'key' was not returned by recall"),
    (["import", "nowhere.jsonl"], "InvalidInput", "there is no file 'nowhere.jsonl' to import"),
    (["import", "{path}"], "InvalidInput", "is not UTF-8 text"),
    (["export", "nowhere/out.jsonl"], "StoreError", "could not be written"),
    (["reembed", "best"], "InvalidInput", "unknown embedder 'best'"),
    (["get", "x", "--store", "{lines}"], "StoreError", "is not a fivefold store"),
    (["get", "x", "--store", "{folder}"], "StoreError", "is a folder"),
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


@pytest.mark.parametrize("args", [["fly"], ["get"], ["recall", "x", "-k", "many"], ["stats", "--loud"], []])
def test_wrong_usage_exits_with_2(args: list[str], command: Command) -> None:
    ran = command(*args)
    assert ran.code == 2
    assert "Usage: fivefold" in ran.out + ran.err


# the real process


def test_a_process_reads_standard_input_and_the_environment(small: Small) -> None:
    told = process("add", "-", "--json", folder=small.folder, said="  Ärger mit dem Drucker 🖨\n", store="new.db")
    assert told.code == 0, told.err
    assert told.err == ""
    memory = process("get", told.json["stored"][0], "--json", folder=small.folder, store="new.db")
    assert memory.json["content"] == "Ärger mit dem Drucker 🖨"


def test_a_process_exits_with_the_code_of_its_error(small: Small) -> None:
    missing = process("stats", folder=small.folder)
    assert (missing.code, missing.out) == (3, "")
    assert (
        missing.err == "fivefold: there is no store at './fivefold.db'; add a memory first, or name one with --store\n"
    )
    empty = process("add", "-", folder=small.folder, said="", store=small.path)
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


def test_output_can_be_piped_into_head(sample_path: str) -> None:
    """The answer is far larger than a pipe holds, so the command is still writing when head has gone."""
    line = '"$1" -m fivefold recall "what did I say?" -k 200 --json --store "$2" | head -n 1'
    done = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, sample_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")
