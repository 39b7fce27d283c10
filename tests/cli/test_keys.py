"""`fivefold keys` and `fivefold audit`, as people and programs read them."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from fivefold.service.audit import Audit
from fivefold.service.keys import Keyring
from fivefold.stores import open_store
from fivefold.values.access import HERE
from tests.support.shell import Command

pytestmark = pytest.mark.slow


def made(command: Command, *options: str) -> dict[str, str]:
    ran = command("keys", "create", "the bot", "--role", "writer", *options, "--store", "team.db", "--json")
    assert ran.code == 0
    return {**ran.json["key"], "secret": ran.json["secret"]}


def test_a_key_is_made_shown_once_and_holds(command: Command) -> None:
    first = command("keys", "create", "the bot", "--role", "writer", "-n", "a", "-n", "b", "--store", "team.db")
    secret, kept, alone = first.out.splitlines()
    match = re.fullmatch(r"ff_([0-9a-f]{12})_[0-9a-f]{48}", secret)
    assert match
    assert kept == f"Save it now, it cannot be shown again. Key {match[1]}: writer of a, b."
    assert alone.startswith("This is the first key: from now on every request needs a key, also from this machine.")
    second = command("keys", "create", "the page", "--role", "reader", "--all", "--store", "team.db")
    assert len(second.out.splitlines()) == 2
    assert second.out.endswith("reader of every namespace.\n")
    with closing(open_store("team.db")) as store:
        assert Keyring(store).caller(secret).namespaces == ("a", "b")
        assert Keyring(store).caller(second.out.splitlines()[0]).sees_all
    for shown in (command("keys", "list", "--store", "team.db"), command("audit", "--store", "team.db")):
        assert secret.rpartition("_")[2] not in shown.out


def test_the_list_tells_how_keys_stand(command: Command) -> None:
    later = made(command, "--all", "--expires", "2999-12-31")
    gone = made(command, "-n", "work")
    assert later["expires_at"] == "2999-12-31T00:00:00Z"
    told = command("keys", "revoke", gone["id"], "--store", "team.db")
    assert re.fullmatch(rf"Key {gone['id']} \(the bot\) is refused since 20\d\d-\d\d-\d\d \d\d:\d\d UTC\.\n", told.out)
    heading, first, second = command("keys", "list", "--store", "team.db").out.splitlines()
    assert heading.split() == ["id", "name", "role", "namespaces", "state", "made", "expires", "last", "used"]
    assert re.search(rf"^{later['id']} +the bot +writer +every namespace +active .* 2999-12-31 00:00 +–", first)
    assert re.search(rf"^{gone['id']} +the bot +writer +work +revoked ", second)


def test_an_empty_list_says_how_to_begin(command: Command) -> None:
    open_store("team.db").close()
    ran = command("keys", "list", "--store", "team.db")
    assert ran.out.startswith("There is no key yet; make one with: fivefold keys create")
    assert command("keys", "list", "--store", "team.db", "--json").json == []
    assert command("audit", "--store", "team.db").out == "Nothing is noted.\n"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 2, "say which namespaces the key reaches"),
        (["--all", "-n", "work"], 2, "say which namespaces the key reaches"),
        (["-n", "*"], 2, "--all gives every namespace"),
        (["-n", " "], 1, "namespace is empty"),
        (["--all", "--expires", "soon"], 1, "--expires 'soon' is not an ISO 8601 time"),
        (["--all", "--expires", "2020-01-01"], 1, "expires_at is in the past; use a future time"),
        (["--all", "--role", "owner"], 2, "'owner' is not one of"),
    ],
)
def test_a_wrong_wish_makes_no_key(options: list[str], code: int, said: str, command: Command) -> None:
    ran = command("keys", "create", "the bot", "--role", "writer", *options, "--store", "team.db")
    assert ran.code == code
    assert said in " ".join(ran.err.replace("│", " ").split())
    open_store("team.db").close()
    assert command("keys", "list", "--store", "team.db", "--json").json == []


def test_an_unknown_key_cannot_be_revoked(command: Command) -> None:
    open_store("team.db").close()
    ran = command("keys", "revoke", "nobody", "--store", "team.db")
    assert (ran.code, ran.err) == (3, "fivefold: there is no key 'nobody'; see them with fivefold keys list\n")


def test_the_audit_log_is_paged_and_narrowed(command: Command) -> None:
    key = made(command, "-n", "work")
    with closing(open_store("team.db")) as store:
        audit = Audit(store)
        caller = Keyring(store).caller(key["secret"])
        audit.note(caller, "remember", "work", "m1")
        audit.note(HERE, "forget", "home", "m2", "failed")
        audit.close()
    heading, *lines = command("audit", "--store", "team.db").out.splitlines()
    assert heading.split() == ["when", "key", "action", "namespace", "subject", "outcome"]
    assert [" ".join(line.split()[2:]) for line in lines] == [
        "– forget home m2 failed",
        f"{key['id']} remember work m1 ok",
        f"– create key – {key['id']} ok",
    ]
    page = command("audit", "--limit", "2", "--store", "team.db")
    *_, more = page.out.splitlines()
    assert more.startswith("more with --cursor ")
    rest = command("audit", *more.split()[2:], "--store", "team.db", "--json").json
    assert ([item["action"] for item in rest["items"]], rest["cursor"]) == (["create key"], None)
    narrowed = [["--namespace", "home"], ["--key", key["id"]]]
    shown = [command("audit", *options, "--store", "team.db", "--json").json["items"] for options in narrowed]
    assert [[item["action"] for item in items] for items in shown] == [["forget"], ["remember"]]
    wrong = command("audit", "--cursor", "x", "--store", "team.db")
    assert (wrong.code, wrong.err) == (
        1,
        "fivefold: the cursor is not one of this list; take it from the page before, or leave it out\n",
    )
