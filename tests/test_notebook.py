"""The notebook of the docs, run by a real kernel: recalls, plans and blocks show themselves with bars."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "notebook.ipynb"
EXECUTE = "import sys; from nbclient.cli import main; sys.argv[0] = 'jupyter-execute'; main()"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each cell of code shows, in order."""
    folder = tmp_path_factory.mktemp("notebook")
    done = folder / "done.ipynb"
    command = [sys.executable, "-c", EXECUTE, str(NOTEBOOK), f"--output={done}"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    cells = json.loads(done.read_text("utf-8"))["cells"]
    return [output["data"] for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]


def test_every_cell_runs_and_values_show_themselves(outputs: list[dict[str, Any]]) -> None:
    loaded, answer, plan, block = ("".join(data.get("text/html") or data["text/plain"]) for data in outputs)
    assert loaded == "'315 memories'"
    assert "penicillin" in re.sub(r"<[^>]+>", "", answer)
    for shown, named in ((answer, "late #1"), (plan, "weight 0.6"), (block, " tokens")):
        assert re.search(rf'<span title="[^"]*{named}[^"]*" style="[^"]*width:[1-9]', shown), named


def test_the_notebook_is_committed_without_what_it_showed() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]
