"""Commands that look after a store."""

from __future__ import annotations

import re
import sqlite3

from tests.support.shell import Command, Small


def test_doctor_finds_damage_and_repairs_it(small: Small, command: Command) -> None:
    with sqlite3.connect(small.path) as damaged:
        damaged.execute("UPDATE entities SET links = links + 1")
    damaged.close()
    ran = command("doctor", "--store", small.path)
    assert ran.code == 1
    assert re.search(r"✗ +entity links", ran.out)
    assert ran.err == "Something is amiss; `fivefold doctor --repair` rebuilds what can be derived.\n"
    found = command("doctor", "--store", small.path, "--json")
    assert found.code == 1
    assert [item["check"] for item in found.json if not item["ok"]] == ["entity links"]
    assert command("doctor", "--repair", "--store", small.path).code == 0


def test_reembed_moves_the_namespace(small: Small, command: Command) -> None:
    said = command("reembed", "wordllama", "--store", small.path).out
    assert re.fullmatch(r"namespace 'default' now has \d+ vectors of wordllama@[\d.]+\n", said)
    answer = command("recall", "what is my badge ID?", "-k", "1", "--store", small.path, "--json").json
    assert answer["embedder"].startswith("wordllama@")
    assert answer["hits"][0]["memory"]["id"] == "badge"
