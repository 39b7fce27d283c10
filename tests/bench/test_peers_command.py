"""The table of all engines in the terminal."""

from __future__ import annotations

import json
import re

import pytest

from fivefold_bench.peers import contest as run
from fivefold_bench.peers.report import PeerReport, PeerRow, compare
from tests.support.shell import Command

pytestmark = pytest.mark.slow

ROWS = (
    PeerRow(
        "fivefold default", "hybrid", "1", "10,000", 10_000, 9, 900.0, 4.0, 6.0, 3.0, 0.8, 0.2, 120.0, 30.0, own=True
    ),
    PeerRow("Quick", "hybrid", "2", "10,000", 10_000, 9, 900.0, 8.0, 9.0, 6.0, 0.7, 0.1, 80.0, 20.0),
    PeerRow("Absent", "hybrid", "3", "10,000", 10_000, note="not installed: the package index cannot be reached"),
)


def test_the_command_prints_a_row_for_each_engine_and_the_comparison(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = PeerReport("locomo", "model@1", 2, 0.5, ROWS, tuple(compare(ROWS)))
    monkeypatch.setattr(run, "run_peers", lambda *_: report)
    ran = command("bench", "peers")
    assert ran.code == 0, ran.err
    assert re.search(
        r"^Quick 2 +hybrid +10,000 +900 +8\.0 +9\.0 +6\.0 +\.700 +0\.10 +80 +20\.0 *$", ran.out, re.MULTILINE
    )
    assert re.search(r"^Absent 3: not installed: the package index cannot be reached$", ran.out, re.MULTILINE)
    assert "✓ 10,000 memories: fivefold default is 2.0 times as fast as Quick, R@10 +0.100" in ran.out
    assert json.loads(command("bench", "peers", "--json").out)["rows"][1]["p50_ms"] == 8.0


def test_mistakes_are_said_before_anything_is_installed(command: Command) -> None:
    ran = command("bench", "peers", "--peers", "pinecone")
    assert ran.code != 0
    assert "pinecone is not among lancedb" in ran.err
    assert "whole numbers separated by commas" in command("bench", "peers", "--sizes", "many").err
    assert "nowhere.json" in command("bench", "peers", "--peers", "none", "--locomo", "nowhere.json").err
