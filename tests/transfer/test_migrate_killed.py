"""A migration that is really killed, again and again, and goes on where it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from fivefold.transfer.migrate import migrate
from tests.support.migrating import exported
from tests.support.postgres import Server

pytestmark = pytest.mark.slow

ROWS = 25
"""Rows in a batch, so that there are many."""


CHILD = textwrap.dedent("""
    import sys
    from contextlib import contextmanager
    import fivefold.transfer.migrate
    fivefold.transfer.migrate.BATCH_ROWS = int(sys.argv[3])

    @contextmanager
    def told(title, total, *, show):
        def advance(done):
            print(title.split()[0], done, flush=True)
            sys.stdin.readline()

        yield advance

    fivefold.transfer.migrate.bar = told
    print("whole", fivefold.transfer.migrate.migrate(sys.argv[1], sys.argv[2])[0].checksum)
""")


def run(source: str, target: str, until: int | None = None) -> list[tuple[str, str]]:
    """What a copy in a process of its own says; after so many batches it is told to go on, and killed at once."""
    command = [sys.executable, "-c", CHILD, source, target, str(ROWS)]
    said: list[tuple[str, str]] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            word, _, number = line.strip().partition(" ")
            said.append((word, number))
            if len(said) > (until or len(said)):
                break
            with suppress(BrokenPipeError):
                process.stdin.write("\n")
            if len(said) == until:
                process.send_signal(signal.SIGKILL)
    return said


def copied(said: list[tuple[str, str]]) -> list[int]:
    """How many rows each batch had, the first being those a run before had copied."""
    return [int(rows) for word, rows in said if word == "Copying"]


@pytest.mark.parametrize("way", ["to PostgreSQL", "to SQLite", "between files", "between schemas"])
def test_a_killed_copy_goes_on_where_it_was(way: str, sample_path: str, postgres: Server, tmp_path: Path) -> None:
    source, target = sample_path, str(tmp_path / "target.db")
    if way in ("to SQLite", "between schemas"):
        source = postgres.new_location()
        migrate(sample_path, source)
    if way in ("to PostgreSQL", "between schemas"):
        target = postgres.new_location()
    whole = migrate(sample_path, str(tmp_path / "whole.db"))[0]
    batches = 0
    for kills in (1, 12, 20, 25):
        said = run(source, target, until=kills)
        assert said[-1][0] == "Copying"
        batches += len(copied(said)) - 1
    said = run(source, target)
    assert said[-1] == ("whole", whole.checksum)
    rows = sum(checked.rows for checked in whole.tables)
    assert copied(said)[0] > 0
    assert sum(copied(said)[1:]) <= rows - ROWS * batches // 2
    assert exported(target, "default", tmp_path) == exported(sample_path, "default", tmp_path)


def test_a_copy_killed_while_it_is_checked_is_checked_anew(sample_path: str, postgres: Server, tmp_path: Path) -> None:
    target = postgres.new_location()
    batches = len(copied(run(sample_path, str(tmp_path / "whole.db"))))
    assert run(sample_path, target, until=batches + 3)[-1][0] == "Checking"
    said = run(sample_path, target)
    assert said[-1][0] == "whole"
    assert copied(said)[1:] == []
    assert exported(target, "default", tmp_path) == exported(sample_path, "default", tmp_path)
