"""The documentation is true: its examples run, its links lead somewhere, and it leaves nothing public out."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import pytest

import fivefold
from fivefold.cli.recipes import overrides_of
from fivefold.retrieval.recipe import RACED, FusionSpec, RouteSpec
from fivefold.retrieval.recipe_file import parse_recipe
from fivefold.retrieval.routes import ROUTES
from fivefold.retrieval.stages import STAGES
from fivefold.stores.postgres.dsn import Options
from tests.support.postgres import Server

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
    "fivefold train weights",
    "python -m training.",
    "fivefold db distribute",
    "fivefold db rebalance",
)
"""Lines that prepare an environment, which is ready here, or need PyTorch or a server, as tests of their own do."""

PROMISED = re.compile(r"^\s*print\(.*\)  # → (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its text, and the line of the page it starts on."""

    text: str
    line: int


def blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text("utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(match[1], text.count("\n", 0, match.start(1))) for match in found]


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
    for block in found:
        exec(compile("\n" * block.line + block.text, page, "exec", dont_inherit=True), names)
        printed = capsys.readouterr().out
        for promise in PROMISED.findall(block.text):
            assert promise in printed


def test_the_readme_example_ends_the_old_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(ROOT / "README.md", "python"):
        exec(compile(block.text, "README.md", "exec"), {"__name__": "page"})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "lives in: 'Bristol' replaces 'Leeds'"
    assert printed[1].endswith("I moved from Leeds to Bristol")


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/cli.md",
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
def test_shell_blocks_run(page: str, tmp_path: Path, postgres: Server) -> None:
    """All lines of a page in one folder and one shell, which stops at the first that fails.

    Servers that a page starts get a port of their own, and none outlives its page.
    """
    lines = [line for block in blocks(ROOT / page, "sh") for line in block.text.splitlines()]
    script = "\n".join(line for line in lines if not (line.startswith(SETTING_UP) or stays(line)))
    script = script.replace("8484", str(free_port()))
    assert "fivefold " in script
    inherited = {name: value for name, value in os.environ.items() if name != "FIVEFOLD_STORE"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    served = {"DATABASE_URL": postgres.new_location()}
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
        _, told = shell.communicate(script, timeout=240)
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


def test_the_extras_of_the_readme_exist() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"pip install '\.\[([a-z-]+)\]'", text)) == set(extras) - {"dev", "testing"}
    assert ". .venv/bin/activate" in text


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
        ("### The fields of a record", {field.name for field in dataclasses.fields(fivefold.Record)} - {"notes"}),
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


@pytest.mark.parametrize("value", ["Recall", "Hit", "Candidate", "Evidence", "Step"])
def test_the_trace_table_names_every_field(value: str) -> None:
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| `{value}` |"))
    fields = {field.name for field in dataclasses.fields(getattr(fivefold, value))}
    assert fields <= set(re.findall(r"`(\w+)`", row))


RECIPES = ROOT / "docs" / "recipes.md"


def rows(heading: str) -> list[list[str]]:
    """The cells of every table row under a heading of the recipes page."""
    section = RECIPES.read_text("utf-8").split(f"\n### {heading}\n", 1)[1].split("\n#", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:3] == "| `"]


def fields(kind: type[Any], *before: str) -> dict[tuple[str, ...], tuple[str, str]]:
    """What a table has to say of each field: its default, and its range where a dataclass knows one."""
    return {
        (*before, f"`{field.name}`"): (_default(field), _range(field, get_type_hints(kind)[field.name]))
        for field in dataclasses.fields(kind)
        if field.name != "options"
    }


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "needed" if field.default_factory is dataclasses.MISSING else "empty"
    value = field.default
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value) or "empty"
    return f"{value:g}" if isinstance(value, int | float) else f"`{value}`" if value else "the name"


def _range(field: dataclasses.Field[Any], hint: Any) -> str:
    if "low" in field.metadata:
        return f"{field.metadata['low']:g}..{field.metadata['high']:g}"
    if get_origin(hint) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(hint))
    return "true, false" if hint is bool else ""


def stage_fields(group: str) -> dict[tuple[str, ...], tuple[str, str]]:
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for name, stage in STAGES.items():
        if stage.group == group:
            found |= fields(stage.constants, f"`{name}`") or {(f"`{name}`", "–"): ("", "")}
    return found


@pytest.mark.parametrize(
    ("heading", "wanted"),
    [
        (
            "A route",
            fields(RouteSpec)
            | {
                key: value
                for name, route in ROUTES.items()
                for key, value in fields(route.options, f"`{name}`").items()
            },
        ),
        ("Fusion", fields(FusionSpec)),
        ("Boosts", stage_fields("boosts")),
        ("Reranking", stage_fields("rerank")),
        ("Selection", stage_fields("select")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_tables_of_the_recipes_page_are_those_of_the_code(
    heading: str, wanted: dict[tuple[str, ...], tuple[str, str]]
) -> None:
    """Every field with its default and range, and no field that is not there."""
    told = {tuple(row[:-3]): (row[-2], row[-1]) for row in rows(heading) if len(row) > 2}
    assert set(told) == set(wanted)
    for key, (default, range_) in wanted.items():
        if default != "empty":
            assert told[key][0] == default, key
        if range_:
            assert told[key][1] == range_, key


def test_the_recipes_page_tells_of_every_recipe_and_its_file_is_one() -> None:
    text = RECIPES.read_text("utf-8")
    assert set(RACED) <= set(re.findall(r"^## (.+)$", text, re.MULTILINE))
    (file,) = blocks(RECIPES, "toml")
    assert parse_recipe("page", tomllib.loads(file.text)).unit == "turn"
    told = {row.split("|")[1].strip() for row in text.split("### A route")[0].splitlines() if row.startswith("| `")}
    known = {"summary", "unit", "optimize", "routes", "fusion", "boosts", "rerank", "select"}
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
        ("five-stage", "fusion.k", "is {:g}, as where"),
        ("five-stage", "fusion.pool", "{:g} kept"),
        ("engram", "routes.associative.depth", "we take {:g}"),
        ("engram", "routes.associative.weight", "({:g}: it looks"),
        ("engram", "boosts.episodic.half_life_days", "({:g} days)"),
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


def test_the_settings_table_names_every_setting() -> None:
    text = (ROOT / "docs" / "questions.md").read_text("utf-8").split("\n## Settings\n", 1)[1]
    told = {name for line in text.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line)}
    assert {field.name for field in dataclasses.fields(fivefold.Settings)} <= told


def test_the_options_of_an_address_are_those_of_the_code() -> None:
    text = (ROOT / "docs/scale.md").read_text("utf-8")
    table = dict(re.findall(r"^\| `([a-z_]+)` \| `?([a-z_0-9]+)`? \|", text, re.MULTILINE))
    assert table == {option.name: str(option.default) for option in dataclasses.fields(Options)}
