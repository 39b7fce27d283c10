"""API keys: whom they let in and whom not, on every store."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fivefold
from fivefold.service.keys import Keyring, digest_of
from fivefold.stores import open_store
from fivefold.stores.interface import Store
from fivefold.stores.sqlite.connection import connect
from fivefold.stores.sqlite.schema import migrate, migrations
from fivefold.values.access import ALL, HERE, Caller, Refused, Role, Unauthorized
from tests.support.postgres import Server
from tests.support.shared_tables import shared_tables

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    location = str(tmp_path_factory.mktemp("keys") / "memory.db")
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        location = server.new_location()
    with closing(open_store(location)) as opened:
        assert not Keyring(opened).any()
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keyring(store: Store, clock: Clock) -> Keyring:
    return Keyring(store, clock)


def used_at(keyring: Keyring, id: str, wanted: datetime | None) -> datetime | None:
    """When the key was last used, once that is what is wanted; uses are noted beside the requests."""
    until = time.monotonic() + 10
    while True:
        known = {key.id: key for key in list(keyring.keys())}
        found = known[id].last_used_at
        if found == wanted or time.monotonic() > until:
            return found
        time.sleep(0.01)


def refusal(keyring: Keyring, secret: str) -> str:
    with pytest.raises(Unauthorized) as refused:
        keyring.caller(secret)
    return str(refused.value)


def test_a_key_makes_a_caller(keyring: Keyring) -> None:
    key, secret = keyring.create("the bot", "writer", ["work", "home", "work"])
    assert secret.startswith(f"ff_{key.id}_")
    assert (key.name, key.role, key.namespaces, key.created_at) == ("the bot", "writer", ("work", "home"), NOON)
    assert (key.expires_at, key.revoked_at, key.last_used_at) == (None, None, None)
    assert keyring.any()
    assert keyring.caller(secret) == Caller("writer", ("work", "home"), key.id)
    assert used_at(keyring, key.id, NOON) == NOON


def test_secrets_are_long_random_and_kept_only_as_a_hash(keyring: Keyring, store: Store) -> None:
    made = [keyring.create("x", "reader", ["a"]) for _ in range(20)]
    tails = {secret.rpartition("_")[2] for _, secret in made}
    assert len(tails) == len({key.id for key, _ in made}) == 20
    assert all(len(bytes.fromhex(tail)) * 8 >= 128 for tail in tails)
    kept = shared_tables(store).rows("SELECT * FROM api_keys")
    noted = shared_tables(store).rows("SELECT * FROM audit")
    for key, secret in made:
        assert secret not in repr(key) + repr(key.to_dict()) + repr(kept) + repr(noted)
        assert secret.rpartition("_")[2] not in repr(kept)
        found = store.keys.get(key.id)
        assert found is not None
        assert found == (key, digest_of(secret))


def test_a_file_does_not_hold_the_secret(store_path: str) -> None:
    with closing(open_store(store_path)) as store:
        _, secret = Keyring(store).create("x", "admin", [ALL])
    held = Path(store_path).read_bytes()
    assert b"api_keys" in held
    assert secret.rpartition("_")[2].encode() not in held


def test_outsiders_learn_nothing_from_a_refusal(keyring: Keyring, clock: Clock) -> None:
    key, secret = keyring.create("x", "reader", ["a"])
    gone, gone_secret = keyring.create("x", "reader", ["a"])
    _, late_secret = keyring.create("x", "reader", ["a"], clock.now + timedelta(hours=1))
    keyring.revoke(gone.id)
    clock.now += timedelta(hours=1)
    other = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    wrong = [
        other,
        secret.upper(),
        f"{secret} ",
        f"{secret}\n",
        secret[:-2],
        f"{secret}00",
        key.id,
        f"ff_{key.id}_",
        f"ff_{'0' * 12}_{secret.rpartition('_')[2]}",
        gone_secret,
        late_secret,
        "",
        "ff__",
        "Bearer",
        "\x00",
        "ключ",
    ]
    assert len({refusal(keyring, secret) for secret in wrong}) == 1
    assert keyring.caller(secret).key_id == key.id


@given(secret=st.text())
def test_any_text_is_refused_in_the_same_words(secret: str) -> None:
    assert refusal(Keyring(Unasked()), secret) == refusal(Keyring(Unasked()), "x")


class Unasked:
    """A store that no malformed secret reaches."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_a_key_expires_at_its_time(keyring: Keyring, clock: Clock) -> None:
    ends = clock.now + timedelta(days=1)
    key, secret = keyring.create("x", "reader", ["a"], ends)
    clock.now = ends - timedelta(microseconds=1)
    assert keyring.caller(secret).key_id == key.id
    assert key.state(clock.now) == "active"
    clock.now = ends
    assert refusal(keyring, secret)
    assert key.state(clock.now) == "expired"


def test_revoking_holds_at_once_for_everyone(keyring: Keyring, store: Store, clock: Clock) -> None:
    key, secret = keyring.create("x", "writer", ["a"])
    others = [Keyring(store) for _ in range(3)]
    assert all(other.caller(secret).key_id == key.id for other in others)
    assert keyring.revoke(key.id).revoked_at == clock.now
    for other in (keyring, *others):
        refusal(other, secret)
    clock.now += timedelta(hours=1)
    again = keyring.revoke(key.id)
    assert again.revoked_at == clock.now - timedelta(hours=1)
    assert again.state(clock.now) == "revoked"
    assert keyring.any()
    with pytest.raises(fivefold.NotFound, match=r"with Keyring\.keys\(\)$"):
        keyring.revoke("nobody")
    for strange in ("", "\x00", "\ud800"):
        with pytest.raises(fivefold.InvalidInput, match="a key's id"):
            keyring.revoke(strange)


def test_a_key_revoked_by_another_process_is_refused(store_path: str) -> None:
    with closing(open_store(store_path)) as here, closing(open_store(store_path)) as there:
        key, secret = Keyring(here).create("x", "writer", ["a"])
        serving = Keyring(there)
        assert serving.caller(secret).role == "writer"
        Keyring(here).revoke(key.id)
        refusal(serving, secret)


def test_the_last_use_is_noted_once_a_minute(keyring: Keyring, clock: Clock) -> None:
    key, secret = keyring.create("x", "reader", ["a"])
    keyring.caller(secret)
    assert used_at(keyring, key.id, NOON) == NOON
    clock.now += timedelta(seconds=59)
    keyring.caller(secret)
    clock.now += timedelta(seconds=1)
    keyring.caller(secret)
    assert used_at(keyring, key.id, clock.now) == clock.now == NOON + timedelta(minutes=1)


def test_one_look_notes_one_use(keyring: Keyring, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(keyring, "_write_use", lambda id, now, refused: started.append(id))
    key, secret = keyring.create("x", "reader", ["a"])
    threads = [threading.Thread(target=keyring.caller, args=(secret,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(50):
        keyring.caller(secret)
    until = time.monotonic() + 10
    while not started and time.monotonic() < until:
        time.sleep(0.01)
    assert started == [key.id]


def test_a_key_that_does_not_hold_is_noted_once_a_minute(keyring: Keyring, store: Store, clock: Clock) -> None:
    key, secret = keyring.create("x", "reader", ["a"])
    keyring.revoke(key.id)
    clock.now += timedelta(days=1)
    for _ in range(5):
        refusal(keyring, secret)
        refusal(keyring, f"{secret[:-1]}g")
    clock.now += timedelta(minutes=1)
    refusal(keyring, secret)

    def noted() -> list[datetime]:
        found = store.audit.page(None, 100, None, None)
        return [entry.at for entry in found if (entry.action, entry.subject) == ("use key", key.id)]

    until = time.monotonic() + 10
    while len(noted()) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert sorted(noted()) == [clock.now - timedelta(minutes=1), clock.now]
    assert used_at(keyring, key.id, None) is None


def test_bad_input_makes_no_key(keyring: Keyring, clock: Clock) -> None:
    before = keyring.keys()
    wrong: list[tuple[tuple[Any, ...], str]] = [
        (("", "reader", ["a"]), "name is empty"),
        (("two\nlines", "reader", ["a"]), "line break"),
        (("x", "owner", ["a"]), "role 'owner' is unknown; it is one of reader, writer, admin"),
        (("x", "reader", []), "at least one namespace"),
        (("x", "reader", "work"), "namespaces must be a list of names"),
        (("x", "reader", [" "]), "namespace is empty"),
        (("x", "reader", ["a", ALL]), "stands for every namespace and goes alone"),
        (("x", "reader", ["a", " * "]), "stands for every namespace and goes alone"),
        (("x", "reader", ["a"], clock.now), "is in the past"),
    ]
    for given_, said in wrong:
        with pytest.raises(fivefold.InvalidInput, match=said):
            keyring.create(*given_)
    assert keyring.keys() == before


# what a caller may do


@pytest.mark.parametrize(
    ("own", "needed", "may"),
    [
        ("reader", "reader", True),
        ("reader", "writer", False),
        ("reader", "admin", False),
        ("writer", "reader", True),
        ("writer", "writer", True),
        ("writer", "admin", False),
        ("admin", "reader", True),
        ("admin", "writer", True),
        ("admin", "admin", True),
    ],
)
def test_a_role_may_what_those_before_it_may(own: Role, needed: Role, may: bool) -> None:
    caller = Caller(own, ("a",), "k")
    if may:
        caller.require(needed, "a")
    else:
        with pytest.raises(Refused, match=f"this key is an? {own}'s; that needs an? {needed}'s"):
            caller.require(needed, "a")


@given(own=st.lists(st.text(), max_size=3).map(tuple), asked=st.text())
def test_a_caller_reaches_the_names_it_has_and_no_others(own: tuple[str, ...], asked: str) -> None:
    caller = Caller("admin", own, "k")
    assert caller.sees(asked) == (own == (ALL,) or asked in own)


@pytest.mark.parametrize("asked", [ALL, "a*", "A", "a ", " a", "a/b", "a\u0301", "á", "", "ab", "%", "_"])
def test_no_spelling_reaches_another_namespace(asked: str) -> None:
    caller = Caller("admin", ("a",), "k")
    with pytest.raises(Refused) as refused:
        caller.require("reader", asked)
    assert str(refused.value) == f"this key does not reach namespace {asked!r}"


def test_a_namespace_called_like_all_is_not_all() -> None:
    """Only a key of every namespace reaches it, since no key can be made for it alone."""
    assert HERE.sees(ALL)
    assert not Caller("admin", ("a", "b"), "k").sees(ALL)
    assert not Caller("admin", ("a", ALL), "k").sees("b")


# stores of another kind


def test_a_store_that_can_only_be_read_honours_its_keys(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_store(store_path)) as store:
        key, secret = Keyring(store).create("x", "reader", ["a"])
    before = Path(store_path).read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with closing(open_store(store_path)) as store:
        keyring = Keyring(store)
        assert keyring.any()
        assert keyring.caller(secret) == Caller("reader", ("a",), key.id)
        with pytest.raises(fivefold.ReadOnly):
            keyring.create("y", "reader", ["a"])
        with pytest.raises(fivefold.ReadOnly):
            keyring.revoke(key.id)
    assert Path(store_path).read_bytes() == before


def test_an_older_file_gets_its_tables_or_has_no_keys(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = connect(store_path, create=True)
    migrate(connection, store_path, migrations()[:3])
    connection.close()
    older = shutil.copy(store_path, f"{store_path}.older")
    with closing(open_store(store_path)) as store:
        _, secret = Keyring(store).create("x", "reader", ["a"])
        assert Keyring(store).caller(secret).namespaces == ("a",)
    assert Path(f"{store_path}.v3.bak").exists()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with closing(open_store(older)) as store:
        assert not Keyring(store).any()
        assert Keyring(store).keys() == []
        refusal(Keyring(store), secret)


def test_a_store_in_memory_has_keys_of_its_own() -> None:
    with closing(open_store(":memory:")) as store, closing(open_store(":memory:")) as other:
        _, secret = Keyring(store).create("x", "reader", ["a"])
        assert Keyring(store).caller(secret).role == "reader"
        refusal(Keyring(other), secret)
