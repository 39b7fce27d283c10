"""The table of the kills, and its end with an error."""

from __future__ import annotations

import json
import re

import pytest

from fivefold_bench.faults import run
from fivefold_bench.faults.run import FaultReport, OperationFaults
from tests.support.shell import Command

pytestmark = pytest.mark.slow


def test_the_command_prints_a_row_for_each_operation_and_their_sum(command: Command) -> None:
    ran = command("bench", "faults", "--kills", "1", "--failures", "1")
    assert ran.code == 0, ran.err
    assert re.match(r"operation +kills +failures +acknowledged +cut off +lost +half-written +doctor clean *\n", ran.out)
    assert re.search(r"^add +1 +1 +\d+ +[012] +0 +0 +2 +✓$", ran.out, re.MULTILINE)
    assert re.search(r"^all +1 +1 +\d+ +[012] +0 +0 +2 +✓$", ran.out, re.MULTILINE)
    assert re.search(r"^1 kills and 1 failures in \d+ s, seed 0$", ran.out, re.MULTILINE)


def test_a_loss_ends_the_command_with_an_error(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    row = OperationFaults("add", 1, 0, 3, 0, 1, 0, 1, ("kill 1: labels: 2 memories differ",))
    monkeypatch.setattr(run, "run_faults", lambda *_, **__: FaultReport(1, 0, 0, 0.1, (row,)))
    ran = command("bench", "faults", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["operations"][0]["lost"] == 1
    assert json.loads(ran.out)["ok"] is False
    assert "✗ add: kill 1: labels: 2 memories differ" in command("bench", "faults").err
