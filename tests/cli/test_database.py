"""`fivefold db` on a real server: what it shows, and what it says where it cannot help."""

from __future__ import annotations

from pathlib import Path

import pytest

import fivefold
from fivefold.stores.postgres.schema import migrations
from tests.cli.test_commands import documented_keys
from tests.conformance.vectors import WordVectors
from tests.support.postgres import Postgres, Server
from tests.support.shell import NEEDS_SERVER, Command, Small


@pytest.fixture
def location(postgres: Server) -> str:
    """A store with two namespaces, of which one has more vectors than are read in a row."""
    place = postgres.new_location() + "&exact_up_to=20"
    for name, count in (("large", 40), ("small", 3)):
        with fivefold.open(place, namespace=name, embedder=WordVectors()) as mem:
            mem.remember_many([f"Note {number} for the {name} one" for number in range(count)])
    return place


def test_status_has_the_documented_keys(location: str, command: Command) -> None:
    ran = command("db", "status", "--store", location, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert set(ran.json) == documented_keys("db status")
    newest = migrations()[-1][0]
    assert (ran.json["namespaces"], ran.json["schema_version"], ran.json["citus"]) == (2, newest, None)
    tables = {table["name"]: table for table in ran.json["tables"]}
    assert {"memories", "vectors_full", "documents", "namespaces"} <= set(tables)
    assert ran.json["bytes"] == sum(table["bytes"] for table in tables.values())
    assert [table["bytes"] for table in tables.values()] == sorted((t["bytes"] for t in tables.values()), reverse=True)


def test_status_tells_which_index_is_missing_until_it_is_made(location: str, command: Command) -> None:
    before = command("db", "status", "--store", location, "--json").json["indexes"]
    assert [(item["name"], item["m"]) for item in before] == [("vectors_full_hnsw_32", None)]
    assert before[0]["state"] == "missing; maintenance creates it"
    assert command("maintain", "--store", location).code == 0
    (index,) = command("db", "status", "--store", location, "--json").json["indexes"]
    assert (index["state"], index["m"]) == ("serves", 16)
    (index,) = command("db", "status", "--store", location + "&hnsw_m=20", "--json").json["indexes"]
    assert index["state"].startswith("serves, with other settings than requested")
    rows = {
        item["name"]: item["rows"] for item in command("db", "status", "--store", location, "--json").json["tables"]
    }
    assert (rows["memories"], rows["vectors_full"], rows["namespaces"]) == (43, 43, 2)


def test_status_is_readable(location: str, command: Command) -> None:
    ran = command("db", "status", "--store", location)
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["namespaces", "2"] in lines
    assert any(line[:1] == ["memories"] for line in lines)
    assert "missing; maintenance creates it" in ran.out
    assert "Citus" not in ran.out
    assert "replica" not in ran.out


def test_status_tells_how_far_replicas_are_behind(own_postgres: Postgres, command: Command) -> None:
    standby = own_postgres.standby()
    location = f"{own_postgres.dsn()},{standby.dsn()}"
    with fivefold.open(location, embedder=WordVectors()) as mem:
        mem.remember("tea")
    own_postgres.caught_up(standby)
    (replica,) = command("db", "status", "--store", location, "--json").json["replicas"]
    assert (replica["address"], replica["error"]) == (standby.dsn(), None)
    assert replica["behind_bytes"] < 100_000
    standby.stop()
    (replica,) = command("db", "status", "--store", location, "--json").json["replicas"]
    assert "does not answer" in replica["error"]
    assert "does not answer" in command("db", "status", "--store", location).out


def test_a_primary_given_as_a_replica_is_noticed(location: str, postgres: Server, command: Command) -> None:
    (replica,) = command("db", "status", "--store", f"{location},{postgres.dsn()}", "--json").json["replicas"]
    assert replica["error"] == "it is not a replica: it takes writes of its own"


@pytest.mark.parametrize("name", sorted(NEEDS_SERVER))
def test_a_file_is_refused(name: str, small: Small, command: Command) -> None:
    ran = command(*name.split(), "--store", small.path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"fivefold: {small.path!r} is a file, and `fivefold db` is for stores on PostgreSQL; "
        "name one with --store postgresql://user@host/database\n"
    )
    assert command(*name.split(), "--store", small.path, "--json").json["error"]["type"] == "InvalidInput"


@pytest.mark.parametrize("name", ["db distribute", "db rebalance"])
def test_a_server_without_citus_says_what_to_do(name: str, location: str, command: Command) -> None:
    ran = command(*name.split(), "--store", location)
    assert ran.code == 1
    assert "has no Citus. Install it on every server" in ran.err


@pytest.mark.parametrize("name", ["stats", "doctor", "list"])
def test_other_commands_take_an_address_too(name: str, location: str, command: Command) -> None:
    assert command(name, "--store", location, "-n", "small", "--json").code == 0


def test_a_missing_namespace_is_said_without_the_password(location: str, command: Command) -> None:
    secret = location.replace("postgres@", "postgres:hunter2@")
    ran = command("stats", "--store", secret, "-n", "smal")
    assert ran.code == 3
    assert "there is no namespace 'smal' in 'postgresql://postgres@" in ran.err
    assert "hunter2" not in ran.err
    assert "there are: large, small" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [("stats",), ("add", "text"), ("backup", "copy.db"), ("restore", "copy.db"), ("doctor",), ("maintain",)],
)
def test_an_address_with_another_scheme_does_not_show_its_password(
    command: Command, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("copy.db").touch()
    ran = command(*arguments, "--store", "postgresql+psycopg://ann:s3cr3t@db/home")
    assert ran.code != 0
    assert "'postgresql+psycopg' is not a store fivefold knows" in ran.err
    assert "s3cr3t" not in ran.out + ran.err
