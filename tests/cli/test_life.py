"""Commands for the life of memories."""

from __future__ import annotations

import re

from tests.support.shell import Command, Small


def test_health_is_a_table_with_examples_below(small: Small, command: Command) -> None:
    command("add", "The spare key is really with Mrs Okafor", "--id", "again", "--store", small.path)
    command("add", "The parcel is here", "--id", "gone", "--expires", "2025-01-01", "--store", small.path)
    command("add", "Card 4111 1111 1111 1111", "--id", "card", "--store", small.path)
    ran = command("health", "--store", small.path)
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"near-duplicates +1 +say nearly the same", ran.out)
    assert re.search(r"contradictions +0 .* –\s*$", ran.out, re.MULTILINE)
    assert (
        "  again · repeats (1.00): The spare key is really with Mrs Okafor\n    key: The spare key is with" in ran.out
    )
    assert "gone · expired 2025-01-01 00:00: The parcel is here" in ran.out
    assert "4111" not in ran.out
    assert "`fivefold sweep --dry-run` lists what a sweep would forget." in ran.out
    assert "7 memories looked at" in ran.out
    assert command("sweep", "--dry-run", "--store", small.path, "--json").json["swept"] == ["gone"]
    found = command("health", "--store", small.path, "--examples", "0", "--json").json["findings"]
    assert {item["check"]: item["count"] for item in found if item["count"]}.keys() >= {"expired", "secrets"}
    assert all(item["examples"] == [] for item in found)


def test_get_shows_what_a_memory_repeats(small: Small, command: Command) -> None:
    command("add", "The spare key is really with Mrs Okafor", "--id", "again", "--store", small.path)
    wanted = "again repeats (1.00) key: says nearly the same as an earlier memory"
    assert wanted in command("get", "key", "--store", small.path).out
    assert wanted in command("get", "again", "--store", small.path).out


def test_near_duplicates_that_were_not_compared_are_linked_when_asked_for(small: Small, command: Command) -> None:
    at = ("--store", small.path)
    command("settings", "find_repeats=false", *at)
    command("add", "The spare key is really with Mrs Okafor", "--id", "again", *at)
    assert re.search(r"near-duplicates +0 ", command("health", *at).out)
    assert re.search(r"near-duplicates +1 ", command("health", "--link-repeats", *at).out)


def test_a_recall_says_what_is_pinned_and_by_which_way_it_came(small: Small, command: Command) -> None:
    at = ("--store", small.path)
    command("add", "The gate code is 4711", "--id", "gate", "--origin", "tool", "--pin", *at)
    ran = command("recall", "what is the gate code?", "--filter", "pinned:yes", *at)
    assert ran.out.splitlines()[1].endswith(" · says “gate”, “code” · by a tool · pinned")
    assert re.search(r"pinned +yes", command("get", "gate", *at).out)


def test_what_waits_for_approval_is_listed_and_decided(small: Small, command: Command) -> None:
    at = ("--store", small.path)
    command("settings", "quarantine=origin:tool", *at)
    assert "1 in quarantine" in command("add", "The user banks at Acme", "--origin", "tool", "--id", "page", *at).out
    command("add", "The user banks at Initech", "--origin", "tool", "--id", "ad", *at)
    assert [item["id"] for item in command("quarantine", "--json", *at).json["items"]] == ["page", "ad"]
    assert command("quarantine", "page", *at).code == command("quarantine", "--approve", *at).code == 2
    assert command("quarantine", "page", "--approve", "--json", *at).json["stored"] == ["page"]
    assert command("quarantine", "--reject", "--all", "--json", *at).json == {"rejected": ["ad"]}
    assert command("quarantine", "ad", "--approve", *at).code == 3
