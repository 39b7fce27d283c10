"""Help and import cost nothing: no model, no database, no arrays until they are needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HEAVY = ["apsw", "httpx", "numpy", "onnxruntime", "rich", "snowballstemmer", "sqlite_vec", "tokenizers", "wordllama"]

HELP = """
import sys
from fivefold.cli import main
sys.argv = ["fivefold", *{args!r}]
try:
    main()
except SystemExit as ended:
    assert ended.code == {code}, ended.code
"""


def loaded(code: str, folder: Path) -> set[str]:
    """Which of the heavy packages a fresh interpreter has loaded after running `code`."""
    told = (
        f"{code}\nimport json, sys\nsys.stderr.write(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", told], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_import_loads_nothing_heavy(tmp_path: Path) -> None:
    assert loaded("import fivefold\ndir(fivefold)\nfivefold.__version__", tmp_path) == set()


def test_errors_and_record_load_nothing_heavy(tmp_path: Path) -> None:
    assert loaded("import fivefold\nfivefold.FivefoldError, fivefold.Record, fivefold.Report", tmp_path) == set()


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["recall", "--help"],
        ["recipes", "show", "--help"],
        ["bench", "speed", "--help"],
        ["train", "--help"],
    ],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(args: list[str], tmp_path: Path) -> None:
    assert loaded(HELP.format(args=args, code=0), tmp_path) == set()


def test_a_missing_store_is_said_without_loading_anything_heavy(tmp_path: Path) -> None:
    code = HELP.format(args=["stats", "--store", "nowhere.db", "--json"], code=3)
    assert loaded(code, tmp_path) == set()


def test_opening_loads_no_model(tmp_path: Path) -> None:
    found = loaded("import fivefold\nfivefold.open('me.db').close()", tmp_path)
    assert found <= {"apsw", "numpy", "sqlite_vec"}


def test_naming_the_embedder_loads_no_model(tmp_path: Path) -> None:
    found = loaded("import fivefold\nfivefold.open('me.db', embedder='minilm').close()", tmp_path)
    assert found.isdisjoint({"onnxruntime", "tokenizers"})


def test_reading_without_embedding_loads_no_model(tmp_path: Path) -> None:
    code = "import fivefold\nwith fivefold.open('me.db') as mem:\n    mem.stats(), mem.sessions(), mem.plan('tea')"
    assert loaded(code, tmp_path).isdisjoint({"onnxruntime", "tokenizers", "rich"})
