"""Parts of other packages: real distributions in a folder on the path, found by their entry points."""

from __future__ import annotations

import logging
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

import fivefold
from fivefold.cli.app import command_tree
from fivefold.errors import InvalidInput, PluginError
from fivefold.models.embedders import embedder
from fivefold.models.rerankers import reranker
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.stores import open_store
from fivefold.values.vectors import Passage
from fivefold.writing.extract import extractor

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
Install = Callable[[str, Mapping[str, Mapping[str, str]], str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package with one module and its entry points where Python finds it, for one test."""
    modules = set(sys.modules)
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def put(name: str, groups: Mapping[str, Mapping[str, str]], code: str) -> None:
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [
            f"[fivefold.{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
            for group, entries in groups.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        (folder / f"{name.replace('-', '_')}.py").write_text(dedent(code))

    yield put
    for added in set(sys.modules) - modules:
        if str(folder) in str(getattr(sys.modules[added], "__file__", "")):
            del sys.modules[added]


def run(*words: str) -> int:
    """The exit status of a command."""
    command_tree.cache_clear()
    try:
        command_tree(words[0])(list(words), prog_name="fivefold")
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        command_tree.cache_clear()
    return 0


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_example_of_the_page_works(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, recipe = blocks("toml")
    module, use = blocks("python")
    declared = tomllib.loads(project)["project"]
    groups = {group.removeprefix("fivefold."): entries for group, entries in declared["entry-points"].items()}
    install(declared["name"], groups, module)
    monkeypatch.chdir(tmp_path)
    Path("last_said.toml").write_text(recipe)
    exec(compile(use, str(PAGE), "exec", dont_inherit=True), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# → (.+)", use)
    with fivefold.open("shed://harbour.db") as mem:
        assert mem.recall("what was that again?", recipe="dense"), "the pin alone finds the embedder again"
    assert run("count", "shed://harbour.db") == 0
    assert capsys.readouterr().out == "3\n"


def test_the_page_lists_every_group() -> None:
    from typing import get_args

    from fivefold.values.registry import Group

    assert re.findall(r"^\| `fivefold\.(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE) == list(get_args(Group))


def test_a_route(install: Install, tmp_path: Path) -> None:
    code = """
    from fivefold.plugins import BaseRoute, RouteHit

    class First(BaseRoute):
        def search(self, context, depth, keep, options):
            return [RouteHit(1, 1.0)]
    """
    install("route-plugin", {"routes": {"first": "route_plugin:First"}}, code)
    path = tmp_path / "first.toml"
    path.write_text('[[routes]]\nname = "oldest"\nsearch = "first"\n')
    with fivefold.open(tmp_path / "memory.db") as mem:
        mem.remember("The kettle is in the left cupboard.", id="kettle")
        answer = mem.recall("anything", recipe=path)
        assert [hit.memory.id for hit in answer] == ["kettle"]
        assert [part.route for part in mem.plan("anything", recipe=path).routes] == ["oldest"]
        assert mem.recall("anything", recipe=path, effort="low")


def test_a_stage(install: Install, tmp_path: Path) -> None:
    code = """
    from dataclasses import dataclass
    from fivefold.plugins import Stage

    @dataclass(frozen=True, slots=True)
    class By:
        factor: float = 2.0

    def doubled(pool, search, by):
        moved = [item.with_step("doubled", item.score * by.factor, f"times {by.factor:g}") for item in pool.candidates]
        return pool.with_candidates(moved)

    DOUBLED = Stage(doubled, By, "boosts")
    """
    install("stage-plugin", {"stages": {"doubled": "stage_plugin:DOUBLED"}}, code)
    path = tmp_path / "doubled.toml"
    path.write_text('[[routes]]\nname = "lexical"\n\n[[boosts]]\nname = "doubled"\nfactor = 3.0\n')
    with fivefold.open(tmp_path / "memory.db") as mem:
        mem.remember("The kettle is in the left cupboard.", id="kettle")
        step = mem.recall("where is the kettle?", recipe=path)[0].candidate.steps[0]
    assert (step.stage, step.why, step.after) == ("doubled", "times 3", 3 * step.before)
    path.write_text('[[routes]]\nname = "lexical"\n\n[[select]]\nname = "doubled"\n')
    with pytest.raises(InvalidInput, match="'doubled' is unknown; it is one of ended"):
        load_recipe(path)


EMBEDDER = """
import numpy as np

class Embeds:
    def __init__(self, model="small"):
        self.pin = f"lengths:{model}@1"
        self.dimension = 2

    def embed(self, texts, progress=None):
        return np.array([[1, len(text)] for text in texts], dtype=np.float32)
"""


def test_an_embedder(install: Install, tmp_path: Path) -> None:
    install("embedder-plugin", {"embedders": {"lengths": "embedder_plugin:Embeds"}}, EMBEDDER)
    assert embedder("lengths").pin == "lengths:small@1"
    with fivefold.open(tmp_path / "memory.db", embedder="lengths:large") as mem:
        mem.remember("The kettle is in the left cupboard.", id="kettle")
        assert mem.stats().embedder == "lengths:large@1"
    with fivefold.open(tmp_path / "memory.db") as mem:
        assert mem.recall("where is the kettle?")[0].memory.id == "kettle"
    with pytest.raises(InvalidInput, match=r"unknown embedder 'length'; known are fivefold-minilm, .*, lengths$"):
        embedder("length")


def test_an_extractor(install: Install, tmp_path: Path) -> None:
    code = """
    from dataclasses import replace
    from fivefold.plugins import extractor

    class Shouts:
        name = "shouts"

        def extract(self, record):
            return replace(extractor("rules").extract(record), predicate=record.content.upper())
    """
    install("extractor-plugin", {"extractors": {"shouts": "extractor_plugin:Shouts"}}, code)
    assert extractor("shouts").name == "shouts"
    with fivefold.open(tmp_path / "memory.db", extractor="shouts") as mem:
        mem.remember("tea at four", id="tea")
        assert mem.get("tea").predicate == "TEA AT FOUR"


def test_a_reranker(install: Install, tmp_path: Path) -> None:
    code = """
    class Longest:
        pin = "longest@1"

        def scores(self, question, passages, timeout_s):
            return [min(0.99, len(passage.joined) / 1000) for passage in passages]
    """
    install("reranker-plugin", {"rerankers": {"longest": "reranker_plugin:Longest"}}, code)
    assert reranker("longest").scores("how?", [Passage("x" * 100)], 1.0) == [0.1]
    recipe = load_recipe("five-stage", {"rerank.cross_encoder.model": "longest"})
    with fivefold.open(tmp_path / "memory.db") as mem:
        mem.remember_many([{"id": "long", "content": "tea " * 40}, {"id": "short", "content": "tea"}])
        answer = mem.recall("tea", recipe=recipe)
    assert answer[0].memory.id == "long"
    assert answer.notes[0].model == "longest@1"


def test_a_store(install: Install, tmp_path: Path) -> None:
    code = """
    from fivefold.plugins import open_store

    def opened(location):
        return open_store(location.removeprefix("vault://"))
    """
    install("store-plugin", {"stores": {"vault": "store_plugin:opened"}}, code)
    with fivefold.open(f"vault://{tmp_path}/memory.db") as mem:
        mem.remember("The kettle is in the left cupboard.", id="kettle")
        assert mem.get("kettle").content.startswith("The kettle")
    with pytest.raises(InvalidInput, match="'cellar' is not a store fivefold knows"):
        open_store("cellar://here")


def test_a_plugin_that_does_not_import_is_named_with_its_package(install: Install) -> None:
    install("broken-plugin", {"embedders": {"broken": "broken_plugin:Nothing"}}, "import no_such_module\n")
    with pytest.raises(PluginError) as caught:
        embedder("broken")
    error = caught.value
    assert (error.kind, error.name, error.package) == ("embedder", "broken", "broken-plugin 1.0")
    assert "no_such_module" in error.reason
    assert "uninstall" in str(error)


def test_a_plugin_that_lacks_an_attribute_says_which(install: Install) -> None:
    install("poor-plugin", {"rerankers": {"poor": "poor_plugin:Poor"}}, "class Poor:\n    pin = 'poor@1'\n")
    with pytest.raises(PluginError, match=r"reranker 'poor' of package poor-plugin 1.0 .*Poor has no scores"):
        reranker("poor")


def test_a_plugin_that_fails_when_it_is_made_says_why(install: Install) -> None:
    install("sad-plugin", {"stores": {"sad": "sad_plugin:opened"}}, "def opened(location):\n    return 1 / 0\n")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        open_store("sad://here")


def test_a_broken_route_fails_the_recipe_that_names_it_and_no_other(install: Install, tmp_path: Path) -> None:
    install("lost-plugin", {"routes": {"lost": "lost_plugin:Gone"}}, "")
    path = tmp_path / "lost.toml"
    path.write_text('[[routes]]\nname = "lost"\n')
    with pytest.raises(PluginError, match=r"route 'lost' of package lost-plugin 1.0"):
        load_recipe(path)
    path.write_text('[[routes]]\nname = "unheard"\n')
    with pytest.raises(InvalidInput, match=r"'unheard' is not a route; known are dense, .*lost"):
        load_recipe(path)


def test_a_name_of_two_packages_is_an_error_that_names_both(install: Install) -> None:
    for name in ("first-twin", "second-twin"):
        install(name, {"embedders": {"twin": f"{name.replace('-', '_')}:Embeds"}}, EMBEDDER)
    with pytest.raises(PluginError, match=r"first-twin 1\.0 and second-twin 1\.0"):
        embedder("twin")


def test_a_built_in_name_wins_and_the_log_says_so(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    groups = {"embedders": {"minilm": "grabbing_plugin:Embeds", "fair": "grabbing_plugin:Embeds"}}
    install("grabbing-plugin", groups, EMBEDDER)
    assert embedder("minilm").pin.startswith("minilm@")
    with caplog.at_level(logging.WARNING, "fivefold"):
        embedder("fair")
    assert "grabbing-plugin 1.0 registers the embedder 'minilm', which is built in" in caplog.text


def test_built_in_names_never_look_for_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(**_: object) -> None:
        raise AssertionError("the installed packages were searched")

    monkeypatch.setattr("importlib.metadata.entry_points", asked)
    with fivefold.open(tmp_path / "memory.db", extractor="rules") as mem:
        mem.remember("The kettle is in the left cupboard.")
        for recipe in ("default", "ditto", "engram", "memsense", "recall"):
            assert mem.recall("where is the kettle?", recipe=recipe)


COMMANDS = """
import typer

tides = typer.Typer(help="Look at the tides.")

@tides.command()
def low(times: int = 1) -> None:
    print("low " * times)

@tides.command()
def high() -> None:
    print("high")

def greet(name: str) -> None:
    "Greet someone."
    print(f"hello, {name}")

NEITHER = 3
"""


def test_commands(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    entries = {"tides": "tide_plugin:tides", "greet": "tide_plugin:greet", "recipes.greet": "tide_plugin:greet"}
    install("tide-plugin", {"commands": entries}, COMMANDS)
    assert [run("tides", "low", "--times", "2"), run("greet", "Mia"), run("recipes", "greet", "Tom")] == [0, 0, 0]
    assert capsys.readouterr().out == "low low \nhello, Mia\nhello, Tom\n"
    assert run("recipes", "list") == 0, "the commands that were there stay"
    capsys.readouterr()
    assert run("-h") == 0
    shown = capsys.readouterr().out
    assert re.search(r"^  greet ", shown, re.MULTILINE)
    assert re.search(r"^  tides +Look at the tides\.", shown, re.MULTILINE)
    assert run("greeting", "Mia") == 2


def test_a_command_that_cannot_be_used_spoils_no_other(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    entries = {
        "gone": "grey_plugin:gone",
        "odd": "grey_plugin:NEITHER",
        "no.group": "grey_plugin:greet",
        "recall": "grey_plugin:greet",
    }
    install("grey-plugin", {"commands": entries}, COMMANDS)
    for name, reason in (
        ("gone", "AttributeError"),
        ("odd", "neither a function"),
        ("no", "no group of commands 'no'"),
    ):
        with pytest.raises(PluginError, match=f"the command '{name}.*' of package grey-plugin 1.0 .*{reason}"):
            run(name)
    assert run("-h") == 0
    shown = capsys.readouterr()
    assert re.search(r"^  recall +Find", shown.out, re.MULTILINE), "a built-in name wins"
    said = [line.split()[3] for line in shown.err.splitlines() if line.startswith("fivefold: ")]
    assert said == ["'gone'", "'no.group'", "'odd'"]


@pytest.mark.parametrize("words", ["bench", "bench speed --rounds 3", "recipes verify --json", "bench locomo -h"])
def test_commands_of_packages_of_our_own_say_what_to_install(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    assert run(*words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert shown.err.endswith(": pip install fivefold-bench\n")
