"""`fivefold maintain`: one round, or round after round until a signal."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fivefold
from tests.conformance.vectors import WordVectors
from tests.support.shell import Command, Small, clean

pytestmark = pytest.mark.slow


def test_a_round_is_a_table(small: Small, command: Command) -> None:
    ran = command("maintain", "--store", small.path)
    assert ran.code == 0
    heading, first, last = ran.out.splitlines()
    assert heading.split() == ["namespace", "looked", "at", "outcome"]
    assert first.split()[:3] == ["–", "default", "vocabulary"]
    assert "looked at for the first time" in first
    assert last.split()[:2] == ["✓", "statistics"]


def test_stats_show_the_drift(small: Small, command: Command) -> None:
    assert "drift" not in command("stats", "--store", small.path).out
    assert command("stats", "--store", small.path, "--json").json["drift"] is None
    command("maintain", "--store", small.path)
    assert "lexemes, nothing to compare with; looked at 20" in command("stats", "--store", small.path).out
    for text in ("Saturn stands high tonight", "Clouds ruined the lunar eclipse", "A comet passes Cassiopeia soon"):
        command("add", text, "--store", small.path)
    shown = command("maintain", "--store", small.path, "--json").json
    assert [(item["namespace"], item["changed"]) for item in shown] == [("default", True), (None, True)]
    drift = command("stats", "--store", small.path, "--json").json["drift"]
    assert drift["reindexed"] is True
    assert 0 < drift["jaccard"] < 0.7
    told = f"{drift['jaccard']:.0%} as the time before, indexed again"
    assert told in command("stats", "--store", small.path).out


def test_what_fails_is_shown_and_told_by_the_code(small: Small, command: Command) -> None:
    path = Path(small.path)
    path.chmod(0o400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.access", lambda *given: False)
        ran = command("maintain", "--store", small.path)
    assert ran.code == 1
    assert ran.out.count("✗") == 2
    assert "cannot be written" in ran.out


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_schedule_runs_until_a_signal(tmp_path: Path, ending: signal.Signals) -> None:
    path = tmp_path / "memory.db"
    with fivefold.open(path, embedder=WordVectors()) as mem:
        mem.remember("I take my tea without milk")
    running = subprocess.Popen(
        [sys.executable, "-m", "fivefold", "maintain", "--every", "1", "--json", "--store", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean({}),
        text=True,
    )
    assert running.stdout is not None
    seen = ""
    until = time.monotonic() + 60
    while seen.count("]") < 2 and time.monotonic() < until:
        seen += running.stdout.readline()
    running.send_signal(ending)
    rest, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (0, "")
    rounds = [json.loads(part) for part in (seen + rest).replace("]\n[", "]\0[").split("\0")]
    assert len(rounds) >= 2
    assert [item["part"] for item in rounds[1]] == ["vocabulary", "statistics"]


def test_doctor_finds_damage_and_repairs_it(small: Small, command: Command) -> None:
    with sqlite3.connect(small.path) as damaged:
        damaged.execute("UPDATE entities SET links = links + 1")
    damaged.close()
    ran = command("doctor", "--store", small.path)
    assert ran.code == 1
    assert re.search(r"✗ +entity links", ran.out)
    assert ran.err.startswith("Something is wrong; `fivefold doctor --repair` rebuilds derived data.\n")
    found = command("doctor", "--store", small.path, "--json")
    assert found.code == 1
    assert [item["check"] for item in found.json if not item["ok"]] == ["checksums", "entity links"]
    assert command("doctor", "--repair", "--store", small.path).code == 0


def test_reembed_moves_the_namespace(small: Small, command: Command) -> None:
    said = command("reembed", "wordllama", "--store", small.path).out
    assert re.fullmatch(r"namespace 'default' now has \d+ vectors of wordllama@[\d.]+\n", said)
    answer = command("recall", "what is my badge ID?", "-k", "1", "--store", small.path, "--json", "--trace").json
    assert answer["embedder"].startswith("wordllama@")
    assert answer["hits"][0]["memory"]["id"] == "badge"


def test_a_salvage_says_what_came_along_and_what_was_lost(small: Small, command: Command, tmp_path: Path) -> None:
    with sqlite3.connect(small.path) as connection:
        connection.execute("UPDATE memories SET content = 'The spare key is with the mayor' WHERE id = 'key'")
    connection.close()
    ran = command("doctor", "--store", small.path)
    assert ran.code == 1
    assert "stored: key" in ran.out
    assert "fivefold doctor --salvage NEW" in ran.err
    new = str(tmp_path / "new.db")
    ran = command("doctor", "--store", small.path, "--salvage", new)
    assert ran.code == 1
    assert "lost: key of default: its row is damaged: its text is not the one that was stored" in ran.out
    assert command("doctor", "--store", new).code == 0
    again = command("doctor", "--store", new, "--salvage", str(tmp_path / "again.db"), "--json")
    assert (again.code, again.json["lost"]) == (0, [])
