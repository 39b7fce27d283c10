"""Commands that show what is there."""

from __future__ import annotations

import re

import pytest

from tests.support.shell import Command, Small


def test_get_shows_the_fields_that_are_filled(small: Small, command: Command) -> None:
    ran = command("get", "badge", "--store", small.path)
    assert re.search(r"predicate +badge id is E-47821", ran.out)
    assert "superseded_by" not in ran.out


def test_get_joins_lists_by_commas(small: Small, command: Command) -> None:
    command("update", "key", "--tag", "house", "--tag", "door", "--store", small.path)
    assert re.search(r"tags +house, door *$", command("get", "key", "--store", small.path).out, re.MULTILINE)


def test_list_has_the_latest_first(small: Small, command: Command) -> None:
    command(
        "add", "The plumber came", "--id", "plumber", "--at", "2025-02-01", "--type", "event", "--store", small.path
    )
    command("add", "The roof leaked", "--id", "roof", "--at", "2024-02-01T10:00:00Z", "--store", small.path)
    found = command("list", "--store", small.path, "--json").json["items"]
    assert [memory["id"] for memory in found] == ["plumber", "home", "key", "nod", "badge", "roof"]
    said = command("list", "--limit", "2", "--store", small.path).out.splitlines()
    assert re.fullmatch(r"2025-02-01 00:00 +– +event +plumber +The plumber came *", said[1])
    assert re.fullmatch(r"2025-01-06 09:00 +user +fact +home +I live in Leeds *", said[2])
    assert said[3] == "2 memories"
    rest = command("list", "--limit", "9", *said[4].split()[2:], "--store", small.path)
    assert said[4].startswith("more with --cursor ")
    assert [line.split()[-1] for line in rest.out.splitlines()[:2]] == ["text", "Okafor"]
    assert rest.out.splitlines()[-1] == "4 memories"


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (["--session", "monday"], ["nod", "badge"]),
        (["--session", "monday", "--speaker", "user"], ["badge"]),
        (["--speaker", "assistant"], ["nod"]),
        (["--tag", "house"], ["key"]),
        (["--type", "procedure"], ["key"]),
        (["--tag", "none"], []),
        (["--text", "BADGE e-478"], ["nod", "badge"]),
        (["--text", "%"], []),
        (["--kind", "note", "--current"], ["home", "key"]),
        (["--kind", "turn", "--superseded"], []),
        (["--since", "2025-01-06T09:00:00Z", "--until", "2025-01-06T09:00:00Z"], []),
        (["--limit", "1"], ["home"]),
        (["--filter", "session:monday,tuesday speaker:user"], ["badge"]),
        (["--filter", "tag:house,none type:procedure", "--kind", "note"], ["key"]),
        (["--filter", "kind:note", "--tag", "none"], []),
    ],
)
def test_list_takes_filters(wanted: list[str], ids: list[str], small: Small, command: Command) -> None:
    command("update", "key", "--tag", "house", "--type", "procedure", "--store", small.path)
    found = command("list", *wanted, "--store", small.path, "--json").json["items"]
    assert [memory["id"] for memory in found] == ids


def test_sessions_lists_and_stats_counts(small: Small, command: Command) -> None:
    assert re.search(r"monday +2 +2025-01-06 09:00", command("sessions", "--store", small.path).out)
    assert len(command("sessions", "--limit", "1", "--store", small.path, "--json").json["items"]) == 1
    said = command("stats", "--store", small.path).out
    assert re.search(r"^memories +5 \(4 remembered \+ 1 session memory\) *$", said, re.MULTILINE)
    assert re.search(r"^by kind +note 2, session 1, turn 2 *$", said, re.MULTILINE)


def test_stats_begins_with_the_first_line_and_joins_names(small: Small, command: Command) -> None:
    command("add", "Stand-up at ten", "--store", small.path, "-n", "work")
    first, *rest = command("stats", "--store", small.path).out.splitlines()
    assert re.fullmatch(r"namespace +default *", first)
    assert re.fullmatch(r"namespaces +default, work *", rest[-1])


def test_list_says_what_is_wrong_with_a_filter(small: Small, command: Command) -> None:
    refused = command("list", "--filter", "colour:red", "--store", small.path)
    assert refused.code != 0
    assert "'colour' is not a field" in " ".join(refused.err.split())
    twice = command("list", "--filter", "speaker:user", "--speaker", "assistant", "--store", small.path)
    assert "--filter has speakers as well" in twice.err
