"""How a PostgreSQL store is named: what is taken, what is refused, and that no password is ever shown."""

from __future__ import annotations

import logging
from urllib.parse import quote

import pytest

import fivefold
from fivefold.errors import InvalidInput
from fivefold.stores import open_store
from fivefold.stores.postgres.dsn import Options, addresses
from fivefold.stores.postgres.store import PostgresStore
from tests.support.own_database import opened
from tests.support.postgres import Postgres, Server

SECRET = "s3cr3t"
AWAY = "127.0.0.1:1"
"""Where nothing listens."""


# what is taken


def test_options_of_the_store_are_taken_out_and_the_rest_is_left_to_postgresql() -> None:
    found = addresses("postgresql://ann@db:6000/home?sslmode=require&schema=notes&pool_size=3&hnsw_m=24")
    assert found.primary == "postgresql://ann@db:6000/home?sslmode=require"
    assert found.options == Options(schema="notes", pool_size=3, hnsw_m=24)
    assert found.label == "postgresql://ann@db:6000/home?sslmode=require&schema=notes&pool_size=3&hnsw_m=24"


@pytest.mark.parametrize(
    "address",
    [
        "postgres://ann@db/home",
        "postgresql://db",
        "postgresql://ann@[::1]:5432/home",
        "postgresql://a:1,b:2/home",
        "postgresql:///home?host=%2Frun%2Fpostgresql",
        "postgresql://%2Frun%2Fpostgresql/home",
        "postgresql://ann%40work@db/my%20home",
        "postgresql://db/home?application_name=my%20app",
        "postgresql://db/home?options=-c%20geqo%3Doff",
        "postgresql://db:5432/home?user=ann@work",
    ],
)
def test_an_address_without_options_is_left_as_it_is(address: str) -> None:
    found = addresses(address)
    assert (found.primary, found.replicas, found.options, found.label) == (address, (), Options(), address)


@pytest.mark.parametrize("between", [",", ", ", " , "])
def test_the_first_of_several_addresses_takes_the_writes(between: str) -> None:
    found = addresses(between.join(["postgresql://a/x?schema=s", "postgres://b/x", "postgresql://c:1,d:2/x"]))
    assert found.primary == "postgresql://a/x"
    assert found.replicas == ("postgres://b/x", "postgresql://c:1,d:2/x")
    assert found.label == "postgresql://a/x?schema=s,postgres://b/x,postgresql://c:1,d:2/x"


# what is refused


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("schema=", "schema '' must be lower-case"),
        ("schema=Notes", "schema 'Notes' must be lower-case"),
        ("schema=a-b", "must be lower-case"),
        ("schema=1a", "must be lower-case"),
        ("schema=" + "a" * 64, "up to 63"),
        ("schema=a%22%3Bdrop", "must be lower-case"),
        ("role=a%20b", "role 'a b' must be"),
        ("schema=ä", "lower-case"),
        ("pool_size=0", "pool_size must be a whole number from 1 to 1000, not 0"),
        ("pool_size=-1", "not '-1'"),
        ("pool_size=two", "not 'two'"),
        ("pool_size=1.5", "not '1.5'"),
        ("pool_size=٣", "pool_size must be"),
        ("statement_timeout_ms=99999999999", "statement_timeout_ms must be"),
        ("hnsw_ef_search=1001", "to 1000"),
        ("schema", "schema"),
        ("schema=a&schema=b", "schema"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(query: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        addresses(f"postgresql://db/home?{query}")


def test_options_stand_on_the_first_address_only() -> None:
    with pytest.raises(InvalidInput, match="stand on the first address only"):
        addresses("postgresql://a/x,postgresql://b/x?schema=s")


@pytest.mark.parametrize("scheme", ["mysql", "postgresql+psycopg", "http", "sqlite", "POSTGRES"])
def test_an_unknown_scheme_is_refused_without_showing_the_address(scheme: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not a store fivefold knows.*postgresql://user@host/database") as told:
        open_store(f"{scheme}://ann:{SECRET}@db/home")
    assert SECRET not in str(told.value)


def test_a_parameter_that_postgresql_does_not_know_is_named(postgres: Server) -> None:
    with pytest.raises(fivefold.FivefoldError, match="shcema"):
        open_store(postgres.dsn(shcema="notes"))


# passwords


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{SECRET}@db/home",
        f"postgres://ann:{SECRET}@db:5432/home?schema=notes",
        f"postgresql://:{SECRET}@db/home",
        f"postgresql://ann:%20{SECRET}%40@db/home",
        f"postgresql://ann:a@{SECRET}@db/home",
        f"postgresql://ann:a:{SECRET}@db/home",
        f"postgresql://ann:{SECRET}@[::1]/home",
        f"postgresql://ann:{SECRET}@a:1,b:2/home",
        f"postgresql://ann@db/home?password={SECRET}",
        f"postgresql://ann@db/home?sslmode=require&sslpassword={SECRET}",
        f"postgresql://db/home,postgresql://ann:{SECRET}@db2/home",
        f"postgresql://db/home, postgres://a:{SECRET}@b/home",
        f"postgresql://db/home,postgres://b/home?password={SECRET}",
    ],
)
def test_a_password_is_in_no_name_and_no_repr(address: str) -> None:
    found = addresses(address)
    assert SECRET in "".join((found.primary, *found.replicas))
    assert SECRET not in found.label + repr(found)


@pytest.mark.parametrize(
    "password",
    [
        f"a/{SECRET}",
        f"a#{SECRET}",
        f"a?{SECRET}",
        f"{SECRET}/a",
        f"{SECRET}?a",
        f"{SECRET}#a",
        f"[{SECRET}",
        f"a {SECRET}",
        f"{SECRET} a",
    ],
)
def test_a_password_that_should_have_been_escaped_is_not_shown_either(password: str) -> None:
    try:
        shown = addresses(f"postgresql://ann:{password}@db/home").label
    except InvalidInput as error:
        shown = str(error)
    assert SECRET not in shown


@pytest.mark.parametrize("password", [f"a {SECRET}", f"{SECRET}%zz", f"{SECRET}\ta"])
def test_what_the_driver_says_of_an_address_does_not_show_it(password: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_store(f"postgresql://ann:{password}@db/home")
    assert SECRET not in str(caught.value)


def test_no_error_or_warning_shows_a_password(caplog: pytest.LogCaptureFixture) -> None:
    for address in (
        f"postgresql://ann:{SECRET}@{AWAY}/home",
        f"postgresql://ann@{AWAY}/home?password={SECRET}",
        f"postgresql://ann:{SECRET}@{AWAY}/home,postgresql://ann:{SECRET}@{AWAY}/away",
        f"postgresql://ann:{SECRET}@{AWAY}/home?nonsense=1",
        f"postgresql://ann:{SECRET}@[bad/home",
        f"postgresql://ann:{SECRET}@{AWAY}/home?pool_size=x",
        f"postgresql://ann:{SECRET}@localhost:port/home",
    ):
        with caplog.at_level(logging.DEBUG), pytest.raises(fivefold.FivefoldError) as told:
            fivefold.open(address)
        assert SECRET not in str(told.value) + repr(told.value)
        assert told.value.__suppress_context__ or told.value.__context__ is None
    assert SECRET not in caplog.text


def test_a_store_that_works_shows_none(postgres: Server, caplog: pytest.LogCaptureFixture) -> None:
    """The replica is away, so the store has something to warn of."""
    location = f"{postgres.new_location()}&connect_timeout_s=1,postgresql://ann:{SECRET}@{AWAY}/home?password={SECRET}"
    with caplog.at_level(logging.DEBUG), opened(location) as engine:
        engine.remember("Sarah drinks tea")
        assert engine.recall("tea").hits
        assert SECRET not in engine.store.location + repr(engine.store) + repr(engine)
        with pytest.raises(fivefold.StoreError) as told:
            engine.store.reader("default")._scope.rows("SELECT nothing FROM nowhere")
        assert SECRET not in str(told.value)
    assert "passed over" in caplog.text
    assert SECRET not in caplog.text


# on a server


def test_a_unix_socket_will_do(postgres: Server) -> None:
    if not isinstance(postgres, Postgres):
        pytest.skip("the server is not ours, so nobody knows its sockets")
    folder, schema = quote(str(postgres.folder), safe=""), postgres.new_schema()
    for address in (
        f"postgresql:///postgres?host={folder}&port={postgres.port}&user=postgres&schema={schema}",
        f"postgresql://postgres@{folder}:{postgres.port}/postgres?schema={schema}",
    ):
        with opened(address) as engine:
            assert engine.remember("tea").stored or engine.stats().memories == 1
            assert engine.store.location == address


def test_what_postgresql_takes_reaches_it(postgres: Server) -> None:
    where = postgres.dsn(schema=postgres.new_schema())
    store = PostgresStore(f"{where}&application_name=my%20app&options=-c%20geqo%3Doff")
    try:
        ask = "SELECT current_setting('application_name'), current_setting('geqo'), current_schema()::text"
        assert store.ask(0, ask, ()) == [("my app", "off", store.options.schema)]
    finally:
        store.close()
