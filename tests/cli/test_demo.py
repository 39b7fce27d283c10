"""The demo: its answers, a second run, and commands to copy."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shell import clean, process

pytestmark = pytest.mark.slow


def test_a_second_demo_adds_nothing_and_says_so(sample_path: str, tmp_path: Path) -> None:
    """The sample is there already, as a first demo leaves it."""
    shutil.copy(sample_path, tmp_path / "my year.db")
    ran = process("demo", "-k", "1", "--store", "my year.db", "--namespace", "default", folder=str(tmp_path))
    assert ran.code == 0, ran.err
    first, second, *rest = ran.out.splitlines()
    assert first == "A year of Maya's conversations: 39 sessions."
    assert second == "All 315 memories were in my year.db already; nothing was added."
    assert "" in rest
    tried = rest[rest.index("Next, try:") + 1 :]
    assert [shlex.split(line)[:4] for line in tried] == [
        [sys.executable, "-m", "fivefold", name] for name in ("recall", "explain", "serve", "add")
    ]
    again = subprocess.run(
        ["sh", "-c", tried[0]], cwd=tmp_path, env=clean({}), capture_output=True, encoding="utf-8", check=False
    )
    assert again.returncode == 0, again.stderr
    assert "penicillin" in again.stdout


def test_the_command_is_named_as_it_was_called(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("fivefold")
    told = "import sys; from fivefold.cli.demo import called; sys.argv = [sys.argv[1]]; print(called())"
    for path, expected in (("/usr/bin:/bin", str(script)), (str(script.parent), "fivefold")):
        done = subprocess.run(
            [sys.executable, "-c", told, str(script)],
            env=clean({"PATH": path}),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == f"{expected}\n"
