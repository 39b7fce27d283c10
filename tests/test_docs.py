"""The documentation is true: its examples run, its links lead somewhere, and it leaves nothing public out."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fivefold
from fivefold.cli.recipes import overrides_of
from fivefold.retrieval.recipe import RACED, WHOLE, FusionSpec, RouteSpec
from fivefold.retrieval.recipe_file import parse_recipe
from fivefold.retrieval.stages import STAGES
from fivefold.values.validate import MAX_CONTENT, MAX_EXTRACTED, MAX_K, MAX_NAME, MAX_TAGS, MAX_TEXT
from tests.adapters import APART, is_here
from tests.support.field_tables import TABLES, Table
from tests.support.postgres import Server
from tests.support.shell import ARGS
from tests.support.warm_commands import warm_commands

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    page
    for page in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
    )
    if page.exists()
]
SETTING_UP = (
    "make ",
    "pip install ",
    ". .venv/",
    "python -m training.",
    "fivefold db distribute",
    "fivefold db rebalance",
)
"""Lines that prepare an environment, which is ready here, or need PyTorch or a server, as tests of their own do."""

RUN_BY_OTHERS = {
    shlex.join(["fivefold", *command.split(), *ARGS[command]])
    for command in ("bench async", "bench faults", "bench hooks", "bench load", "bench peers", "bench speed")
}
"""Measurements of many seconds. Those with just these arguments are run where the keys of their JSON are tested."""

PATIENCE_S = 480
"""After this long a page's shell counts as stuck. The command line's page has a hundred commands, each a process."""

PROMISED = re.compile(r"^\s*print\(.*\)  # → (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its text, and the line of the page it starts on."""

    text: str
    line: int


def blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text("utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(match[1], text.count("\n", 0, match.start(1))) for match in found]


def is_runnable(block: Block) -> bool:
    """False for an adapter whose framework is not here; `make test-adapters` has those, and runs the block."""
    modules = re.findall(r"^from fivefold\.adapters\.(\w+) import", block.text, re.MULTILINE)
    return all(is_here(module) for module in modules if module in APART)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> set[str]:
    """The headings as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/adapters.md",
        "docs/importing.md",
        "docs/learning.md",
        "docs/life.md",
        "docs/operations.md",
        "docs/python.md",
        "docs/questions.md",
        "docs/recipes.md",
        "docs/scale.md",
        "docs/statements.md",
    ],
)
def test_python_blocks_run_and_print_what_they_promise(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], postgres: Server
) -> None:
    """A page's blocks share their names. A comment after → is what the line before it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", postgres.new_location())
    found = blocks(ROOT / page, "python")
    assert found
    names = {"__name__": "page"}
    for block in filter(is_runnable, found):
        exec(compile("\n" * block.line + block.text, page, "exec", dont_inherit=True), names)
        printed = capsys.readouterr().out
        for promise in PROMISED.findall(block.text):
            assert promise in printed


def test_the_readme_example_ends_the_old_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first time it runs; the second time there is nothing left to end, and the answer is the same."""
    monkeypatch.chdir(tmp_path)
    example = blocks(ROOT / "README.md", "python")[1]
    for replaced in (["lives in: 'Bristol' replaces 'Leeds'"], []):
        exec(compile(example.text, "README.md", "exec"), {"__name__": "page"})
        printed = capsys.readouterr().out.splitlines()
        assert printed[: len(replaced)] == replaced
        assert re.match(r"\d+% I moved from Leeds to Bristol · ", printed[len(replaced)])


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A `fivefold` that starts sooner, for pages with many commands. `test_first_screen` starts it as users do."""
    with warm_commands(tmp_path_factory.mktemp("programs")) as folder:
        yield folder


@pytest.mark.parametrize(
    "page",
    [
        "docs/cli.md",
        "docs/coding-agents.md",
        "docs/importing.md",
        "docs/inspector.md",
        "docs/learning.md",
        "docs/mcp.md",
        "docs/operations.md",
        "docs/recipes.md",
        "docs/scale.md",
        "docs/serve.md",
    ],
)
@pytest.mark.timeout(2 * PATIENCE_S)
def test_shell_blocks_run(page: str, tmp_path: Path, postgres: Server, programs: Path, sample_path: str) -> None:
    """All lines of a page in one folder and one shell, which stops at the first that fails.

    Servers that a page starts get a port of their own, and none outlives its page. The sample year is in the file
    already, and the command that writes it finds it there.
    """
    lines = [line for block in blocks(ROOT / page, "sh") for line in block.text.splitlines()]
    script = "\n".join(
        line for line in lines if not (line.startswith(SETTING_UP) or stays(line) or line in RUN_BY_OTHERS)
    )
    script = script.replace("8484", str(free_port()))
    assert "fivefold " in script
    inherited = {name: value for name, value in os.environ.items() if name != "FIVEFOLD_STORE"}
    if "fivefold demo --store me.db " in script:
        shutil.copy(sample_path, tmp_path / "me.db")
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    served = {"DATABASE_URL": postgres.new_location()}
    if page == "docs/coding-agents.md":  # it writes to the home folder, where others find their models
        served["HOME"] = str(tmp_path / "home")
    shell = subprocess.Popen(
        ["sh", "-eux"],
        cwd=tmp_path,
        env={**inherited, **served, "PATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, told = shell.communicate(script, timeout=PATIENCE_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, told
    assert "Traceback" not in told


def stays(line: str) -> bool:
    """A server in the foreground, which has a test of its own."""
    return line.startswith("fivefold serve ") and not re.search(r"&( |$)", line)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
        return port


def test_make_targets_of_the_readme_have_a_recipe() -> None:
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.text.splitlines()]
    targets = [line.split()[1] for line in lines if line.startswith("make ")]
    assert targets
    for target in targets:
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert [line for line in done.stdout.splitlines() if line and not line.startswith("make")], target


def test_the_page_on_installing_names_every_extra() -> None:
    text = (ROOT / "docs" / "install.md").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    rows = "".join(re.findall(r"^\| (`.*?) \|", text.split("## ")[0], re.MULTILINE))
    assert set(re.findall(r"`([a-z-]+)`", rows)) == set(extras) - {"all", "dev", "docs"}
    for page in (ROOT / "README.md", ROOT / "docs" / "install.md"):
        assert "pip install '.[all]'" in page.read_text("utf-8")


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = set(re.findall(r"(\S+\.md)$", menu, re.MULTILINE))
    trained = {f"trained-{page.parent.name}.md" for page in (ROOT / "training").glob("*/README.md")}
    assert named == {page.name for page in (ROOT / "docs").glob("*.md")} | trained | {
        "index.md",
        "api.md",
        "contributing.md",
        "changelog.md",
    }


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = (page.parent / file).resolve() if file else page
        assert linked.exists(), f"{named(page)} links to {target}, which is not there"
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), f"{named(page)} links to {target}, which has no such heading"


def test_the_library_page_names_everything_public() -> None:
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    spoken = set(re.findall(r"\w+", text))
    methods = {name for name in dir(fivefold.Engine) if not name.startswith("_")}
    assert set(fivefold.__all__) | methods <= spoken


@pytest.mark.parametrize(
    ("heading", "documented"),
    [
        (
            "### The fields of a record",
            {field.name for field in dataclasses.fields(fivefold.Record)} - {"notes", "utc_offset"},
        ),
        ("### The report", {field.name for field in dataclasses.fields(fivefold.Report)} | {"id"}),
        (
            "## Errors",
            {
                name
                for name in fivefold.__all__
                if isinstance(value := getattr(fivefold, name), type) and issubclass(value, Exception)
            },
        ),
    ],
)
def test_tables_of_the_library_page_are_complete(heading: str, documented: set[str]) -> None:
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    section = text.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == documented


@pytest.mark.parametrize("value", ["Recall", "Hit", "Candidate", "Evidence", "Step", "PassageMatch", "WordMatch"])
def test_the_trace_table_names_every_field(value: str) -> None:
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| `{value}` |"))
    declared = dataclasses.fields(getattr(fivefold, value))
    fields = {field.name for field in declared if field.metadata.get("json", True)}
    assert fields <= set(re.findall(r"`(\w+)`", row))


RECIPES = ROOT / "docs" / "recipes.md"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.page} {table.heading} {table.columns[0]}")
def test_tables_of_fields_are_those_of_the_declarations(table: Table) -> None:
    """Every field with its meaning, range and default; `python -m tests.support.field_tables` writes them."""
    assert table.find((ROOT / "docs" / table.page).read_text("utf-8"))[0] == table.written()


def test_every_field_of_a_table_says_what_it_means() -> None:
    for table in TABLES:
        for row in table.rows():
            assert all(row[:-2]), row


def test_the_recipes_page_tells_of_every_recipe_and_its_file_is_one() -> None:
    text = RECIPES.read_text("utf-8")
    assert set(RACED) <= set(re.findall(r"^## (.+)$", text, re.MULTILINE))
    (file,) = blocks(RECIPES, "toml")
    assert parse_recipe("page", tomllib.loads(file.text)).unit == "turn"
    told = {row.split("|")[1].strip() for row in text.split("### A route")[0].splitlines() if row.startswith("| `")}
    known = {*WHOLE, "routes", "fusion", "boosts", "rerank", "select"}
    assert (
        told == {f"`{name}`" for name in known} <= {f"`{field.name}`" for field in dataclasses.fields(fivefold.Recipe)}
    )


@pytest.mark.parametrize(
    ("name", "path", "told"),
    [
        ("ditto", "routes.similarity.depth", "{:g} candidates"),
        ("ditto", "routes.recency.weight", "weights .6, {:.2f}, .15"),
        ("memsense", "fusion.k", "k {:g},"),
        ("memsense", "select.mmr.lam", "λ {:g},"),
        ("memsense", "boosts.session_first.most", "min({:g}, 0.6"),
        ("five-stage", "fusion.k", "is {:g}, as in"),
        ("five-stage", "fusion.pool", "{:g} kept"),
        ("engram", "routes.associative.depth", "we take {:g}"),
        ("engram", "routes.associative.weight", "({:g}: it looks"),
        ("engram", "rerank.episodic.half_life_days", "half-life of {:g} days"),
        ("engram", "select.noise.sigma", "σ {:g}"),
        ("recall", "routes.graph.depth", "we take {:g}"),
    ],
)
def test_the_constants_the_recipes_page_speaks_of_are_those_of_the_recipes(name: str, path: str, told: str) -> None:
    group, *rest = path.split(".")
    place: Any = fivefold.load_recipe(name).to_dict()[group]
    if group != "fusion":
        place = next(part for part in place if part["name"] == rest[0])
    spec = FusionSpec() if group == "fusion" else RouteSpec("") if group == "routes" else STAGES[rest[0]].constants()
    value = place.get(rest[-1], getattr(spec, rest[-1]))
    section = RECIPES.read_text("utf-8").split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
    assert told.format(value).replace(" 0.25", " .25") in " ".join(section.split())


LEARNING = ROOT / "docs" / "learning.md"


def test_every_switch_of_the_learning_page_is_one() -> None:
    """Where it names no recipe it speaks of `default`."""
    section = LEARNING.read_text("utf-8").split("\n## Switching parts off\n", 1)[1].split("\n## ", 1)[0]
    switches = re.findall(r"`(?:--recipe ([\w-]+) )?--set ([\w.-]+=\w+)`", section)
    assert len(switches) >= 4
    for recipe, change in switches:
        assert fivefold.load_recipe(recipe or "default", overrides_of([change]))


def test_the_learning_page_has_all_its_figures_and_names_what_is_shipped() -> None:
    text = LEARNING.read_text("utf-8")
    assert "FIGURE_" not in text
    shipped = {path.name for path in (ROOT / "src/fivefold/models/data").iterdir() if path.suffix in {".onnx", ".bin"}}
    assert shipped <= set(re.findall(r"`data/([\w.-]+)`", text))
    (most,) = re.findall(r"no file over (\d+) MB", text)
    assert all((ROOT / "src/fivefold/models/data" / name).stat().st_size <= int(most) * 1_000_000 for name in shipped)


def test_the_table_of_limits_has_the_limits() -> None:
    text = (ROOT / "docs" / "python.md").read_text("utf-8").split("\n## Limits\n", 1)[1].split("\n## ", 1)[0]
    for limit in (MAX_CONTENT, MAX_EXTRACTED, MAX_TEXT, MAX_NAME, MAX_TAGS, MAX_K):
        assert re.search(rf"\| {limit:,}\b", text), limit
