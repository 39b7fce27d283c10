"""Commands that change memories."""

from __future__ import annotations

import re

import pytest

from tests.support.shell import Command, Small


def test_add_takes_every_field(small: Small, command: Command) -> None:
    report = command(
        "add",
        "Lunch with Ines",
        "--speaker",
        "Maya",
        "--session",
        "tuesday",
        "--at",
        "2025-01-07T12:00:00Z",
        "--type",
        "event",
        "--tag",
        "food",
        "--tag",
        "friends",
        "--id",
        "lunch",
        "--importance",
        "0.9",
        "--valid-from",
        "2025-01-07",
        "--valid-to",
        "2025-01-08",
        "--metadata",
        '{"place": "Rosa"}',
        "--turn",
        "4",
        "--store",
        small.path,
        "--json",
    ).json
    assert report["stored"] == ["lunch"]
    memory = command("get", "lunch", "--store", small.path, "--json").json
    assert (memory["speaker"], memory["session_id"], memory["kind"]) == ("Maya", "tuesday", "turn")
    assert (memory["event_at"], memory["type"]) == ("2025-01-07T12:00:00Z", "event")
    assert memory["tags"] == ["food", "friends"]
    assert (memory["importance"], memory["turn_index"], memory["metadata"]) == (0.9, 4, {"place": "Rosa"})
    assert (memory["valid_from"], memory["valid_to"]) == ("2025-01-07T00:00:00Z", "2025-01-08T00:00:00Z")


def test_add_shows_what_was_read(small: Small, command: Command) -> None:
    lines = command("add", "My office is room 214, says Priya Shah", "--speaker", "user", "--store", small.path).out
    memory = command("list", "--limit", "1", "--store", small.path, "--json").json["items"][0]
    head, id, *read = lines.splitlines()
    assert head == "1 stored, 0 merged, 0 superseded, 0 linked"
    assert id == f"  {memory['id']}"
    assert read[0] == f"  type       {memory['type']}"
    assert read[1] == f"  predicate  {memory['predicate'] or '–'}"
    assert read[2].startswith("  entities   ")
    assert "Priya Shah" in read[2]


def test_add_says_what_it_replaced(small: Small, command: Command) -> None:
    ran = command("add", "I moved from Leeds to Bristol", "--speaker", "user", "--store", small.path)
    assert "1 stored, 0 merged, 1 superseded" in ran.out
    assert "supersedes home: lives in: 'Bristol' replaces 'Leeds'" in ran.out


def test_add_merges_what_is_known(small: Small, command: Command) -> None:
    ran = command("add", "the spare KEY is with Mrs Okafor", "--store", small.path)
    assert "0 stored, 1 merged" in ran.out
    assert "merged key: the same note was remembered before" in ran.out


def test_update_changes_what_is_named(small: Small, command: Command) -> None:
    ran = command("update", "badge", "--content", "My badge ID is E-50112", "--tag", "work", "--store", small.path)
    assert re.search(r"content +My badge ID is E-50112", ran.out)
    memory = command("get", "badge", "--store", small.path, "--json").json
    assert (memory["predicate"], memory["tags"]) == ("badge id is E-50112", ["work"])
    assert (memory["speaker"], memory["event_at"]) == ("user", "2025-01-06T09:00:00Z")


def test_update_takes_importance_and_an_end(small: Small, command: Command) -> None:
    memory = command(
        "update", "key", "--importance", "0.1", "--valid-to", "2025-03-01", "--store", small.path, "--json"
    ).json
    assert (memory["importance"], memory["valid_to"]) == (0.1, "2025-03-01T00:00:00Z")
    assert memory["content"] == "The spare key is with Mrs Okafor"


def test_supersede_links_old_and_new(small: Small, command: Command) -> None:
    ran = command("supersede", "key", "The spare key is under the pot", "--store", small.path)
    new = ran.out.splitlines()[1].strip()
    assert f"{new} supersedes key: said so by the caller" in ran.out
    assert command("get", "key", "--store", small.path, "--json").json["superseded_by"] == new
    found = command("recall", "where is the spare key?", "-k", "1", "--store", small.path, "--json").json
    assert found["hits"][0]["memory"]["id"] == new


def test_supersede_takes_session_tags_and_type(small: Small, command: Command) -> None:
    report = command(
        "supersede",
        "key",
        "The spare key is under the pot",
        "--session",
        "tuesday",
        "--tag",
        "house",
        "--type",
        "procedure",
        "--store",
        small.path,
        "--json",
    ).json
    memory = command("get", report["stored"][0], "--store", small.path, "--json").json
    assert (memory["session_id"], memory["tags"], memory["type"]) == ("tuesday", ["house"], "procedure")


def test_forget_removes_one_memory(small: Small, command: Command) -> None:
    assert command("forget", "key", "--store", small.path).out == "forgotten: key\n"
    assert command("get", "key", "--store", small.path).code == 3
    result = command("forget", "home", "--store", small.path, "--json").json
    assert (result["forgotten"], result["erasure"]["complete"]) == (["home"], True)


def test_forget_removes_several_memories(small: Small, command: Command) -> None:
    assert command("forget", "key", "home", "key", "--store", small.path).out == "forgotten: key, home\n"
    assert [memory["id"] for memory in command("list", "--store", small.path, "--json").json["items"]] == [
        "nod",
        "badge",
    ]


@pytest.mark.parametrize("wrong", ["nowhere", "session"])
def test_forget_removes_all_or_nothing(wrong: str, small: Small, command: Command) -> None:
    whole = command("sessions", "--store", small.path, "--json").json["items"][0]["memory_id"]
    ran = command("forget", "key", whole if wrong == "session" else wrong, "--store", small.path)
    assert ran.code == (1 if wrong == "session" else 3)
    assert command("get", "key", "--store", small.path).code == 0


def test_forget_removes_a_session(small: Small, command: Command) -> None:
    assert command("forget", "--session", "monday", "--store", small.path).out == "forgotten: 2 turns\n"
    assert command("get", "badge", "--store", small.path).code == 3
    assert command("sessions", "--store", small.path, "--json").json["items"] == []


def test_used_counts_once(small: Small, command: Command) -> None:
    for _ in range(2):
        assert command("used", small.recall, "badge", "--store", small.path).out == "noted: 1 used\n"
    assert command("get", "badge", "--store", small.path, "--json").json["access_count"] == 1
    assert command("stats", "--store", small.path, "--json").json["feedback"] == 1
