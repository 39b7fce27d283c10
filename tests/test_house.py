"""The laws of the house: how large things are, what they are called, and who may import whom."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "fivefold"
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "architecture.md"

MAX_ROOT_MODULES = 9
MAX_FILES = 270
MAX_LINES = 63_328
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES_P90 = 30
MAX_FILES_ENTERED = 61
"""By a recall or a write, in all threads."""


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imports() -> dict[str, set[str]]:
    """Each module with those it imports, at the top, inside a function or for types only."""
    graph = grimp.build_graph("fivefold", cache_dir=None)
    return {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def functions() -> Iterator[tuple[int, str]]:
    """The length of every function, with its name."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{named(path)}: {node.name}"


def test_the_root_is_small() -> None:
    found = [path.stem for path in SRC.glob("*.py")]
    assert len(found) <= MAX_ROOT_MODULES, found


def test_files_are_few_and_of_a_length_one_can_read() -> None:
    lengths = {named(path): len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}
    assert len(lengths) <= MAX_FILES
    assert sum(lengths.values()) <= MAX_LINES


def test_nine_of_ten_functions_are_short() -> None:
    lengths = sorted(functions())
    length, name = lengths[int(0.9 * len(lengths))]
    assert length <= MAX_FUNCTION_LINES_P90, name


ENTERED = """
import sys, threading, fivefold

root, files = fivefold.__path__[0], set()

def note(frame, event, _):
    if event == "call" and frame.f_code.co_filename.startswith(root):
        files.add(frame.f_code.co_filename)

threading.setprofile(note)
sys.setprofile(note)
with fivefold.open(sys.argv[1]) as memory:
    for text in ("Caroline moved to Berlin in May 2023.", "Caroline likes climbing.", "I live in Leeds."):
        memory.remember(text)
    memory.recall("Where does Caroline live?")
    for act in (lambda: memory.recall("Where does Caroline live now?"), lambda: memory.remember("I moved to Bristol.")):
        files.clear()
        act()
        print(len(files))
"""


@pytest.mark.slow
def test_a_recall_and_a_write_enter_few_files(tmp_path: Path) -> None:
    call = [sys.executable, "-c", ENTERED, str(tmp_path / "m.db")]
    counts = subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()
    assert len(counts) == 2
    assert max(map(int, counts)) <= MAX_FILES_ENTERED


def test_no_module_hides_one_of_the_standard_library() -> None:
    names = [(path, path.parent.name if path.stem == "__init__" else path.stem) for path in modules()]
    assert [named(path) for path, name in names if name in sys.stdlib_module_names] == []


@pytest.mark.parametrize("folder", ["src", "bench", "tests", "training", "docs"])
def test_the_formatter_decides_every_layout(folder: str) -> None:
    exception = re.compile(r"# fmt: " + "(?:skip|off)")
    found = [named(path) for path in (ROOT / folder).rglob("*.py") if exception.search(path.read_text("utf-8"))]
    assert found == []


def test_no_circle_of_modules() -> None:
    """Imports inside a function and for types count as well."""
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' → '.join(reversed(error.args[1]))}")


def test_no_two_folders_import_each_other() -> None:
    """Two folders side by side, at any depth. A folder and its own parts are one house."""
    folders = {".".join(path.parent.relative_to(SRC.parent).parts) for path in modules()} - {"fivefold"}
    pairs = []
    for one, other in combinations(sorted(folders), 2):
        if one.rpartition(".")[0] == other.rpartition(".")[0] and leads(one, other) and leads(other, one):
            pairs.append((one, other))
    assert pairs == []


def leads(one: str, other: str) -> bool:
    """Whether a module inside `one` imports one inside `other`."""
    return any(
        inside(target, other) for module, targets in imports().items() if inside(module, one) for target in targets
    )


def inside(module: str, folder: str) -> bool:
    return module == folder or module.startswith(f"{folder}.")


def test_only_faces_import_the_root() -> None:
    """The root re-exports what lies below; a module below that imports it would close a circle."""
    faces = {"__main__", "adapters", "cli", "mcp", "web"}
    found = [module for module, targets in imports().items() if "fivefold" in targets]
    assert [module for module in found if module.split(".")[1] not in faces] == []


def test_the_architecture_page_draws_the_layers_that_are_checked() -> None:
    """In the order of the contract, every module and folder of the root once."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"\w+", line) for line in contracts[0]["layers"]]
    section = PAGE.read_text("utf-8").split("\n## The layers\n")[1].split("\n## ")[0]
    drawn = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in section.splitlines() if line.startswith("| `")]
    assert drawn == layers
    there = {path.stem for path in SRC.glob("*.py")} | {path.parent.name for path in SRC.glob("*/__init__.py")}
    assert {name for line in layers for name in line} == there - {"__init__", "__main__"}


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    names = set(re.findall(r"(?<![\w/])((?:[\w-]+/)*(?:\w+\.(?:py|sql)|\w+/))(?=[\s`,;)\]])", text))
    paths = [*paths_here()]
    assert sorted(name for name in names if not any(path.endswith(f"/{name}") for path in paths)) == []


def paths_here() -> Iterator[str]:
    """Every file, and every folder with a slash at its end, but for environments, which may be in the making."""
    for root, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        yield from (f"{root}/{name}" for name in (*files, *(f"{folder}/" for folder in folders)))


def test_every_dependency_has_its_reason() -> None:
    """One line in CONTRIBUTING for each package, and none for a package that is not used."""
    core, bench = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"] for folder in (".", "bench")
    )
    assert bench["version"] == core["version"]
    assert f"fivefold[openai]=={core['version']}" in bench["dependencies"]
    lists = [core["dependencies"], bench["dependencies"], *core["optional-dependencies"].values()]
    used = {re.split(r"[\[<>=]", item)[0] for items in lists for item in items} - {"fivefold"}
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n## Dependencies\n")[1]
    cells = re.findall(r"^\| ([a-z][^|(]+?) *(?:\([^)]*\) )?\|", table, re.MULTILINE)
    assert {name.strip() for cell in cells for name in cell.split(",")} - {"package"} == used


DOCSTRING_OPENING = re.compile(r"(What|Which|Whether|How|Who|Whose|The same|Both|Also|As for)\b")
IS_NO = re.compile(r"(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|other\b)", re.IGNORECASE)
CLAUSE_AS_SUBJECT = re.compile(r"(?:^|(?<=[.!?] ))(?:What|Whatever|Which|Whose|Whether|Who|Whoever)\b[^?.!]*\.(?=\s|$)")
WHERE_AS_IF = re.compile(r"(?:^|(?<=[.!?] ))Where (?:it|that|this|there|no|nothing|none|both|somebody|nobody|they|a)\b")
PARTICLE = re.compile(
    r"\b(?:bring|brings|brought|come|comes|came) along\b|\bwords (?:that|which) met\b|\bgoes on where\b"
)
LIMIT = re.compile(r"\b_?(?:MOST|LEAST)_[A-Z]|\b[A-Z_]+_(?:MOST|LEAST)\b")
PARTICIPLE_CLASS = re.compile(
    r"_?(?:Begun|Fused|Weighed|Asked|Mended|Filled|Kept|Checked|Declared|Prepared|Said|Lost|Restored|Skipped|Spoken|Failed|Decided)"
)
"""Names of classes that a participle alone makes; a class is called by a noun."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Each string of a module with its line, and True if it stands alone, as a docstring does."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, " ".join(node.value.split()), id(node) in alone


def is_plain(text: str, is_prose: bool) -> bool:
    patterns = (IS_NO, PARTICLE, *((CLAUSE_AS_SUBJECT, WHERE_AS_IF) if is_prose else ()))
    return not any(pattern.search(text) for pattern in patterns)


def test_sentences_are_plain() -> None:
    """Docstrings name the thing, no clause is a subject, nothing "is no X", classes are nouns, limits MAX_ and MIN_."""
    found = []
    for path in [*modules(), *sorted((ROOT / "bench" / "src").rglob("*.py"))]:
        source = path.read_text("utf-8")
        tree = ast.parse(source)
        for line, text, is_docstring in texts(tree):
            if not is_plain(text, is_docstring) or (is_docstring and DOCSTRING_OPENING.match(text)):
                found.append(f"{named(path)}:{line}: {text[:80]}")
        classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        found += [f"{named(path)}: class {name}" for name in classes if PARTICIPLE_CLASS.fullmatch(name)]
        found += [f"{named(path)}: {match[0]}" for match in LIMIT.finditer(source)]
    assert found == []


def prose_of(page: Path) -> Iterator[str]:
    """The paragraphs, items and cells of a page, without its blocks of code and its headings."""
    text = re.sub(r"^```.*?^```$|^#.*$|^<!--.*?-->$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)| \| ", text):
        yield " ".join(part.split()).lstrip("-*| ")


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]), ids=named)
def test_pages_are_plain(page: Path) -> None:
    assert [text[:120] for text in prose_of(page) if not is_plain(text, is_prose=True)] == []
