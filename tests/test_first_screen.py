"""The first screen of the README: short, and every line of it works, from the clone to an agent that remembers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shell import clean
from tests.test_docs import ROOT, Block, blocks, free_port

pytestmark = pytest.mark.slow

README = ROOT / "README.md"
MOST_LINES = 60
READY = re.compile(r"http://127\.0\.0\.1:\d+")


def first_screen() -> int:
    """The line of the heading behind it."""
    lines = README.read_text("utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.startswith("## ")][1]


def shown(language: str) -> list[Block]:
    return [block for block in blocks(README, language) if block.line < first_screen()]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone has that `make` needs, with an environment that is installed already."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / ".venv" / ".core").touch()
    return tmp_path


def shell_in(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["sh", "-eu"],
        cwd=folder,
        env=clean({"PYTHONUNBUFFERED": "1", "HOME": str(folder / "home")}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_it_is_one_screen() -> None:
    assert first_screen() < MOST_LINES
    assert len(shown("sh")) == 2
    assert len(shown("python")) == 1


def test_its_first_commands_run_as_they_stand(clone: Path) -> None:
    script = shown("sh")[0].text
    with shell_in(clone) as shell:
        said, err = shell.communicate(script, timeout=240)
    assert shell.returncode == 0, err
    assert "A year of Maya's conversations" in said
    assert re.search(r"^ 1\. +\d+ %  I take my tea without milk$", said, re.MULTILINE)
    assert "e^(" not in said, "no arithmetic"


def test_its_page_opens_and_answers(clone: Path, sample_path: str) -> None:
    """The server stays in the foreground, as a reader has it, until it is stopped. The sample is there already."""
    *before, serve = shown("sh")[1].text.splitlines()
    (store,) = re.findall(r"fivefold demo --store (\S+)", "\n".join(before))
    shutil.copy(sample_path, clone / store)
    assert serve.startswith("fivefold serve ")
    command = serve.partition("#")[0].strip()
    script = "\n".join((". .venv/bin/activate", *before, f"exec {command} --port {free_port()}"))
    with shell_in(clone) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(script)
        shell.stdin.close()
        try:
            url = next(found[0] for line in shell.stdout if (found := READY.search(line)))
            ask = f"import httpx; print(httpx.get('{url}/ask?q=medicine+allergic', timeout=120).text)"
            page = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout
        finally:
            os.killpg(shell.pid, signal.SIGTERM)
    assert "penicillin" in page
    assert "fivefold" in (clone / "home" / ".claude" / "settings.json").read_text("utf-8")


def test_its_agent_remembers_and_runs_twice(tmp_path: Path) -> None:
    """As a file that is run as it stands, and again: the second time it finds its own memories."""
    (tmp_path / "agent.py").write_text(shown("python")[0].text, "utf-8")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", "agent.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert re.search(
            r"^\[\d\] .*user: My badge ID is E-47821, and I moved to Bristol\.$", done.stdout, re.MULTILINE
        )
