"""Measurements as a table."""

from __future__ import annotations

import re

from tests.cli.shell import Command


def test_small_sizes_are_measured_but_not_held_against_a_bar(command: Command) -> None:
    ran = command("bench", "speed", "--sizes", "50", "--rounds", "5")
    assert ran.code == 0
    assert not set("✓✗≤≥") & set(ran.out)
    values, times = ran.out.split("\n\n")
    assert re.match(r"measure +memories +value +bar *\n", values)
    assert re.search(r"^write, no embedding +50 +[\d.,]+ +/s *$", values, re.MULTILINE)
    assert re.match(r"measure +memories +p50 +p95 +bar *\n", times)
    assert re.search(r"^recall default +50 +[\d.]+ +[\d.]+ +ms *$", times, re.MULTILINE)


def test_sizes_from_a_thousand_are_held_against_their_bars(command: Command) -> None:
    found = command("bench", "speed", "--sizes", "50,1000", "--rounds", "5", "--json").json
    assert all(item["ok"] is None and item["bar"] == "" for item in found if item["memories"] < 1000)
    assert {item["what"] for item in found if item["bar"]} == {"write, no embedding", "room on disk", "recall default"}
