"""The documentation is true: its examples run, its links lead somewhere, and it leaves nothing public out."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import fivefold

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
SETTING_UP = ("make ", "pip install ", ". .venv/")
"""Lines that prepare an environment; the tests run in one that is ready."""

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


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/questions.md", "docs/statements.md"])
def test_python_blocks_run_and_print_what_they_promise(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page's blocks share their names. A comment after → is what the line before it prints."""
    monkeypatch.chdir(tmp_path)
    found = blocks(ROOT / page, "python")
    assert found
    names = {"__name__": "page"}
    for block in found:
        exec(compile("\n" * block.line + block.text, page, "exec"), names)
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


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_shell_blocks_run(page: str, tmp_path: Path) -> None:
    """All lines of a page in one folder and one shell, which stops at the first that fails."""
    lines = [line for block in blocks(ROOT / page, "sh") for line in block.text.splitlines()]
    script = "\n".join(line for line in lines if not line.startswith(SETTING_UP))
    assert "fivefold " in script
    inherited = {name: value for name, value in os.environ.items() if name != "FIVEFOLD_STORE"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-eux"], input=script, cwd=tmp_path, env={**inherited, "PATH": path}, capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


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
    assert set(re.findall(r"pip install '\.\[([a-z-]+)\]'", text)) == set(extras) - {"dev"}
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
    methods = {name for name in vars(fivefold.Engine) if not name.startswith("_")}
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
